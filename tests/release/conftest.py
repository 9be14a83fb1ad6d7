"""The release that is tested: the part that ``scripts/test --image`` makes, or what
``scripts/release --check FOLDER`` names."""

import fcntl
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def released() -> Path:
    if not (named := os.environ.get("PROFDIFF_RELEASED")):
        pytest.skip("no release: scripts/test --image makes its image, scripts/release all of it")
    folder = Path(named)
    lock = folder.with_name(f"{folder.name}.lock")
    if lock.exists():
        # Whoever makes it holds this until it is whole, or there is none.
        with lock.open() as file:
            fcntl.flock(file, fcntl.LOCK_SH)
    assert folder.is_dir(), "scripts/release made none"
    return folder
