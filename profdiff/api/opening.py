"""What a folder holds, as an object."""

from pathlib import Path

from profdiff.api.parts import Parts
from profdiff.api.session import Session
from profdiff.api.suite import Suite
from profdiff.session import opened, parts, session


def open_recording(folder: Path) -> Session | Parts | Suite:
    """As ``profdiff.open``."""
    found = opened.open(folder)
    if isinstance(found, session.Session):
        return Session(found)
    return Parts(found) if isinstance(found, parts.Parts) else Suite(found)
