"""Fixtures that several folders of tests share."""

import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
EXAMPLE = ROOT / "examples/mprotect-pte-batching/mprotect-toggle.c"


def need_program(name: str, package: str | None = None) -> str:
    """The path of a program, or skip with a reason that names it."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed (apt-get install {package or name})")
    return path


def need_kernel(name: str) -> Path:
    """The folder of a fixture kernel, or skip with a reason that names it."""
    folder = SHARED / "kernels" / name
    if not folder.is_dir():
        pytest.skip(f"the fixture kernel ../shared/kernels/{name} is absent")
    return folder


@pytest.fixture(scope="session")
def old_kernel() -> Path:
    """v6.12.107: before PTE batching."""
    return need_kernel("v6.12.107")


@pytest.fixture(scope="session")
def new_kernel() -> Path:
    """v6.18.15: with the batching that regressed small folios."""
    return need_kernel("v6.18.15")
