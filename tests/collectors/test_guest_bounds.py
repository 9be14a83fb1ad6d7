"""What a guest writes on this side is bounded, and why QEMU ended is told."""

import errno
import time
from pathlib import Path

import pytest
from support import LIGHT, run_guests

from profdiff.collectors.guest import run as guest_run
from profdiff.collectors.guest.delivery import MEMBERS
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.result import too_few_cpus
from profdiff.collectors.guest.run import GuestRun
from profdiff.collectors.records import Failure


@pytest.mark.guest
def test_a_guest_that_sends_without_end(
    qemu: Qemu, new_kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(guest_run._MAX_BYTES, "channel", 2**20)
    script = tmp_path / "work.sh"
    script.write_text("#!/bin/sh\nexec yes > /dev/ttyS1\n")
    script.chmod(0o755)
    image, command = new_kernel / "bzImage", [str(script)]
    (result,) = run_guests(qemu, image, command, tmp_path, count=1, calls=False)
    assert result.failure
    assert result.failure.kind == "protocol"
    assert "more than 1 MiB" in result.failure.message


def ended(script: str, folder: Path) -> set[str] | Failure:
    """The result of a shell script in QEMU's place, in ``folder``."""
    run = GuestRun(["sh", "-c", f'cd "$1"; {script}', "sh", str(folder)], folder, timeout=60)
    while not run.poll():
        time.sleep(0.01)
    return run.result(MEMBERS)


def test_qemus_complaints_without_end(tmp_path: Path) -> None:
    failure = ended("exec yes >&2", tmp_path)
    assert isinstance(failure, Failure)
    assert failure.kind == "protocol"
    assert failure.message == "the guest wrote more than 64 MiB to its qemu.stderr"


def test_a_signal_that_ended_qemu_is_named(tmp_path: Path) -> None:
    failure = ended("echo what happened >&2; kill -ABRT $$", tmp_path)
    assert isinstance(failure, Failure)
    assert failure.kind == "qemu"
    assert failure.message == "QEMU was killed by signal 6 (Aborted): what happened"


@pytest.mark.parametrize(
    ("said", "cpus", "used"),
    [
        ("1\n", 2, "1 of 2"),
        ("8\n", 9, "8 of 9"),
        ("0\n", 1, "0 of 1"),
        ("2\n", 2, None),
        ("9\n", 8, None),
        ("", 2, None),
        ("-1", 2, None),
        ("1" * 5000, 2, None),
        ("\u0661", 2, None),
    ],
)
def test_fewer_processors_than_asked_for(
    tmp_path: Path, said: str, cpus: int, used: str | None
) -> None:
    told = tmp_path / "cpus"
    told.write_text(said)
    failure = too_few_cpus(told, cpus)
    assert not told.exists()
    assert (failure and failure.message.startswith(f"the kernel used {used} vCPUs: ")) == (
        True if used else None
    )


@pytest.mark.guest
@pytest.mark.parametrize(
    "small_disk", [pytest.param("16k", marks=pytest.mark.nightly), "128k"], indirect=True
)
def test_a_disk_that_is_full_is_told(qemu: Qemu, new_kernel: Path, small_disk: Path) -> None:
    """Before the guest sent its files, or while it did; the plugin can write neither its counts nor
    that it cannot."""
    with pytest.raises(OSError, match="No space left on device") as raised:
        image, command = new_kernel / "bzImage", ["/bin/true"]
        run_guests(qemu, image, command, small_disk, count=1, append=LIGHT, restored=False)
    assert raised.value.errno == errno.ENOSPC


@pytest.mark.parametrize("small_disk", ["64k"], indirect=True)
@pytest.mark.parametrize("end", ["kill -ABRT $$", "exit 1", "exit 0"])
def test_a_disk_that_is_full_is_told_however_qemu_ends(small_disk: Path, end: str) -> None:
    with pytest.raises(OSError, match=f"No space left on device: '{small_disk}'"):
        ended(f"yes > console.log 2>/dev/null; {end}", small_disk)
    assert {path.name for path in small_disk.iterdir()} == {"console.log", "qemu.stderr"}
