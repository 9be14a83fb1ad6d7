"""The release that ``scripts/release --check FOLDER`` checks."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def released() -> Path:
    folder = os.environ.get("PROFDIFF_RELEASED")
    if folder is None:
        pytest.skip("scripts/release --check FOLDER checks a release")
    return Path(folder)
