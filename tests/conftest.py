"""Fixtures that several folders of tests share."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import EXAMPLE, need_kernel, need_program, profdiff

from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.exact.entry import Exact
from profdiff.collectors.guest.qemu import Qemu


@pytest.fixture(scope="session")
def old_kernel() -> Path:
    """v6.12.107: before PTE batching."""
    return need_kernel("v6.12.107")


@pytest.fixture(scope="session")
def new_kernel() -> Path:
    """v6.18.15: with the batching that regressed small folios."""
    return need_kernel("v6.18.15")


@pytest.fixture(scope="session")
def qemu() -> Qemu:
    """The QEMU on PATH."""
    need_program("qemu-system-x86_64", "qemu-system-x86")
    need_program("busybox", "busybox-static")
    need_program("cpio")
    need_program("cc", "gcc")
    return Exact().emulator(ARCHITECTURES[0], None)


@pytest.fixture(scope="session")
def newest_kernel() -> Path:
    """v7.1.8: with later optimisations."""
    return need_kernel("v7.1.8")


@pytest.fixture(scope="session")
def recorded(
    old_kernel: Path, new_kernel: Path, qemu: Qemu, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A session of the main job, recorded by the command line and verified; do not change it."""
    session = tmp_path_factory.mktemp("main-job") / "mprotect.profdiff"
    kernels = ["--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]
    workload = ["--", EXAMPLE, "400", "200", "4000", "20"]
    profdiff("record", *kernels, "--ops", "40000", "--verify", "-o", session, *workload)
    return session


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of 2 MiB, or of the size that the test gives as the fixture's parameter."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small tmpfs needs root")
    folder = tmp_path / "small"
    folder.mkdir()
    size = f"size={getattr(request, 'param', '2m')}"
    command = ["mount", "-t", "tmpfs", "-o", size, "none", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
