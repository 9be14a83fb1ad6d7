"""Fixtures that several folders of tests share."""

from pathlib import Path

import pytest
from support import need_kernel, need_program

from profdiff.collectors.qemu import Qemu, find_qemu


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
    return find_qemu()
