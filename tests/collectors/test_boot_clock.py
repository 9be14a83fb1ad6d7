"""A machine boots with fewer instructions to a second than it goes on with, at the same time."""

import gzip
import re
from pathlib import Path

import pytest
from restored import GUEST, Restorer

from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.saving import replace_instructions

BEFORE = (
    b"\x04\0\0\0\x02\x05timer\0\0\0\0\0\0\0\x02" + bytes(24) + b"\x05\x0ctimer/icount\0\0\0\x01"
)
BIAS = bytes(7) + b"\x09"


def saved(folder: Path, *parts: bytes) -> Path:
    file = folder / "machine"
    file.write_bytes(b"QEVM" + b"".join(parts))
    return file


def test_only_the_number_of_instructions_changes(tmp_path: Path) -> None:
    file = saved(tmp_path, b"timer/icount", BEFORE, BIAS, (1000).to_bytes(8, "big"), b"rest")
    replace_instructions(file)
    after = b"timer/icount" + BEFORE + BIAS + (8000).to_bytes(8, "big") + b"rest"
    assert file.read_bytes() == b"QEVM" + after


@pytest.mark.parametrize("times", [0, 2])
def test_a_clock_that_is_not_found_once_is_an_error(tmp_path: Path, times: int) -> None:
    file = saved(tmp_path, (BEFORE + bytes(16)) * times)
    before = file.read_bytes()
    with pytest.raises(ValueError, match="the clock is not where QEMU saves it"):
        replace_instructions(file)
    assert file.read_bytes() == before


@pytest.mark.guest
def test_time_goes_on(qemu: Qemu, new_kernel: Path, tmp_path: Path) -> None:
    """Between the last message of the kernel's boot and the workload, the guest settles, and sleeps
    for a second; to hand over facts takes less."""
    runs = Restorer(qemu, new_kernel / "bzImage", tmp_path / "runs", calls=False)
    result, folder = runs.run(["sh", "-c", "cat /proc/uptime; sleep 1; cat /proc/uptime"])
    assert result.failure is None
    lines = (folder / "stdout").read_text().splitlines()
    first, second = (float(line.split()[0]) for line in lines)
    told = gzip.decompress((folder / result.files["dmesg"]).read_bytes()).decode()
    booted = re.findall(r"(?m)^(?:<\d+>)?\[ *(\d+\.\d+)\]", told)[-1]
    assert 1 < first - float(booted) - GUEST.settle < 3
    assert second - first == pytest.approx(1, abs=0.02)
