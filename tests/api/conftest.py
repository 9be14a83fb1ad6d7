"""A real session for who asks it from Python."""

from pathlib import Path

import pytest
from tars import unpack_old_session

import profdiff


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Exact counts, samples and times of two kernels at two points."""
    folder = tmp_path_factory.mktemp("api") / "mprotect.profdiff"
    unpack_old_session(folder)
    return folder


@pytest.fixture(scope="session")
def session(folder: Path) -> profdiff.Session:
    """The same, opened."""
    found = profdiff.open(folder)
    assert isinstance(found, profdiff.Session)
    return found
