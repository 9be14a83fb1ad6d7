"""QEMU may do no more than a guest needs."""

import time
from pathlib import Path

import pytest
import whole_run

from profdiff.collectors.architecture import ARM64, X86_64
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest.boot import Boot
from profdiff.collectors.guest.qemu import Qemu, find_emulator
from profdiff.collectors.guest.run import GuestRun
from profdiff.collectors.kernels.files import KernelFiles


def seccomp_mode(pid: int) -> int:
    """Of every thread of a process, as /proc/PID/status has it: 2 with a filter."""
    tasks = list(Path(f"/proc/{pid}/task").iterdir())
    modes = set()
    for task in tasks:
        lines = (task / "status").read_text().splitlines()
        modes.add(next(int(line.split()[1]) for line in lines if line.startswith("Seccomp:")))
    return min(modes)


@pytest.mark.guest
def test_qemu_runs_with_a_filter(qemu: Qemu, new_kernel: Path, tmp_path: Path) -> None:
    runs_with_a_filter(qemu, new_kernel / "bzImage", tmp_path)


@pytest.mark.guest
@pytest.mark.network
def test_qemu_for_arm64_does_too(
    arm64_qemu: Qemu, arm64_kernel: KernelFiles, tmp_path: Path
) -> None:
    assert arm64_kernel.image
    runs_with_a_filter(arm64_qemu, arm64_kernel.image, tmp_path)


def runs_with_a_filter(qemu: Qemu, image: Path, tmp_path: Path) -> None:
    """A guest that is stopped while it boots leaves counts, and its QEMU had a filter."""
    if not qemu.sandbox:
        pytest.skip(f"{qemu.version} was built without seccomp, or may not use it here")
    (tmp_path / "initramfs").touch()
    boot = Boot(image, tmp_path / "initramfs", "", memory=256, cpus=1)
    more = Exact().qemu_arguments(qemu, {"call_tree": False}, tmp_path)
    arguments = qemu.arguments(boot, tmp_path, more)
    with whole_run.processors(1):
        guest = GuestRun(arguments, tmp_path, timeout=60)
        console = tmp_path / "console.log"
        while not (console.exists() and b"Linux version" in console.read_bytes()):
            assert not guest.poll()
            time.sleep(0.02)
        assert seccomp_mode(guest._process.pid) == 2
        guest.stop()
    assert (tmp_path / "counts.bin").stat().st_size > 0


def test_a_qemu_without_seccomp(tmp_path: Path) -> None:
    """Stands for one that was configured with --disable-seccomp, which Debian does not have."""
    program = tmp_path / "qemu-system-aarch64"
    program.write_text(
        "#!/bin/sh\n[ $1 = --version ] && echo 'QEMU emulator version 8.0' && exit\n"
        "case $* in *-sandbox*) echo '-sandbox support is not enabled' >&2; exit 1;; esac\n"
    )
    program.chmod(0o755)
    assert find_emulator(ARM64, program).sandbox == ()
    assert Exact().emulator(X86_64, program).sandbox == ()
