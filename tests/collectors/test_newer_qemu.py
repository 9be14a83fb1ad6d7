"""The plugin's other build, on Debian's QEMU 10, unpacked beside the installed one."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from branches import check as check_branches
from qemus import NIGHTLY, QEMU_10, another_qemu
from repeated_instructions import check
from support import EXAMPLE, run_guests

from profdiff.collectors.architecture import X86_64
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.qemu import Qemu

pytestmark = [pytest.mark.guest, pytest.mark.network]

COMMAND = [str(EXAMPLE), "400", "50"]


@pytest.fixture(scope="session")
def newer_qemu(qemu: Qemu) -> Qemu:
    """QEMU 10 from bookworm-backports."""
    return another_qemu(QEMU_10, X86_64)


@pytest.fixture(scope="module")
def recordings(
    newer_qemu: Qemu, new_kernel: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[int], list[Path]]:
    """The counts files of two guests with as many vCPUs as asked for."""

    @cache
    def made(cpus: int) -> list[Path]:
        folder = tmp_path_factory.mktemp("newer-qemu")
        for result in run_guests(newer_qemu, new_kernel / "bzImage", COMMAND, folder, cpus=cpus):
            assert result.failure is None
        return [folder / number / "counts.bin" for number in ("0", "1")]

    return made


def test_each_qemu_gets_its_build(qemu: Qemu, newer_qemu: Qemu) -> None:
    assert qemu.version.split()[3] != newer_qemu.version.split()[3]
    assert newer_qemu.plugin_api == 2
    if " 7.2" in qemu.version:
        assert qemu.plugin_api == 1


@pytest.mark.parametrize("cpus", [1, 2])
def test_two_recordings_are_identical(recordings: Callable[[int], list[Path]], cpus: int) -> None:
    first, second = recordings(cpus)
    assert first.read_bytes() == second.read_bytes()
    counts = Counts.load(first)
    assert counts.calls
    assert counts.calls.unequal(counts.count) == 0


# Bytes before an operation: other segments, sizes, lock and repeat, and REX.
_PREFIXES = {0x26, 0x2E, 0x36, 0x3E, *range(0x40, 0x50), *range(0x64, 0x68), 0xF0, 0xF2, 0xF3}


def is_conditional(code: bytes) -> bool:
    """Whether an instruction is jcc, loop, loope, loopne or jrcxz (SDM, volume 2, appendix A)."""
    while code and code[0] in _PREFIXES:
        code = code[1:]
    if code[:1] == b"\x0f":
        return 0x80 <= code[1] <= 0x8F
    return bool(code) and (0x70 <= code[0] <= 0x7F or 0xE0 <= code[0] <= 0xE3)


@pytest.mark.parametrize("cpus", [1, 2])
def test_branches_are_told(recordings: Callable[[int], list[Path]], cpus: int) -> None:
    """Also of several vCPUs, though this QEMU does not say which one executes."""
    counts = Counts.load(recordings(cpus)[0])
    assert counts.taken is not None
    assert counts.untold is not None
    found = [is_conditional(bytes(code[1 : 1 + code[0]])) for code in counts.executed]
    branches = np.array(found) & ~counts.patched
    executed = counts.count[branches]
    assert (executed > 0).sum() > 200
    assert counts.taken.any()
    assert counts.untold.sum() < executed.sum() / 100


def test_repeated_string_instructions_count_once(
    newer_qemu: Qemu, new_kernel: Path, tmp_path: Path, compile_c: Callable[..., Path]
) -> None:
    check(newer_qemu, new_kernel, tmp_path, compile_c)


@NIGHTLY
def test_branches_taken(
    newer_qemu: Qemu, new_kernel: Path, tmp_path: Path, compile_c: Callable[..., Path]
) -> None:
    check_branches(newer_qemu, new_kernel, tmp_path, compile_c, cpus=2)


def test_both_qemus_count_the_same_work(
    one_guest: Counts, recordings: Callable[[int], list[Path]]
) -> None:
    """The workload's own instructions are equal to the last one; the kernel's but for timer ticks,
    which fall elsewhere, and features of the emulated CPU."""
    totals: list[int] = []
    user: list[dict[tuple[int, bytes], int]] = []
    for counts in (one_guest, Counts.load(recordings(1)[0])):
        kernel = counts.in_kernel
        totals.append(counts.count[kernel].sum())
        user.append(
            {
                (int(address), bytes(code)): int(count)
                for address, code, count in zip(
                    counts.address[~kernel],
                    counts.code[~kernel],
                    counts.count[~kernel],
                    strict=True,
                )
                if count
            }
        )
    # The agent and init's shell begin to wait for the workload inside the window or before it:
    # once, and an instruction that faults counts once more.
    both = user[0].keys() & user[1].keys()
    assert {n for u in user for place, n in u.items() if place not in both} <= {1, 2}
    assert max(user[0][place] for place in both) >= 50
    assert {place: user[0][place] for place in both} == {place: user[1][place] for place in both}
    assert totals[0] == pytest.approx(totals[1], rel=0.03)
