"""One way to open what was recorded."""

from pathlib import Path

from profdiff.session.held import held
from profdiff.session.parts import Parts
from profdiff.session.session import Session
from profdiff.session.suite import Suite

Opened = Session | Parts | Suite


def open(folder: Path) -> Opened:  # noqa: A001
    """The recording in ``folder``. Raises SessionError where there is none, or it is damaged,
    hostile or of a newer schema."""
    has = held(folder)
    if has == "suite":
        return Suite.open(folder)
    return Parts.open(folder) if has == "parts" else Session.open(folder)
