"""What a folder holds, as an object."""

from pathlib import Path

from profdiff.api.parts import Parts
from profdiff.api.session import Session
from profdiff.api.suite import Suite
from profdiff.base.terminal import warn
from profdiff.session import opened, parts, session, suite


def open_recording(folder: Path) -> Session | Parts | Suite:
    """As ``profdiff.open``."""
    found = opened.open(folder)
    if not isinstance(found, suite.Suite):
        for name, one in found.sessions().items():
            for line in one.damaged:
                warn(f"{folder / name}: {line}", above=2)
    if isinstance(found, session.Session):
        return Session(found)
    return Parts(found) if isinstance(found, parts.Parts) else Suite(found)
