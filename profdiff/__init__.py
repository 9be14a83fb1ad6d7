"""Differential profiler for Linux kernels: which functions, inlined ones too, cost more.

``open`` opens what was recorded. ``docs/python.md`` explains it with examples.
"""

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profdiff.api.session import Session as Session
    from profdiff.api.suite import Parts as Parts
    from profdiff.api.suite import Suite as Suite
    from profdiff.api.table import Table as Table
    from profdiff.base.errors import ProfdiffError as ProfdiffError

__version__ = "0.1.0"

# What else it offers, and where that is: loaded when it is asked for.
_PLACES = {
    "Parts": "profdiff.api.suite",
    "ProfdiffError": "profdiff.base.errors",
    "Session": "profdiff.api.session",
    "Suite": "profdiff.api.suite",
    "Table": "profdiff.api.table",
}
__all__ = ["Parts", "ProfdiffError", "Session", "Suite", "Table", "__version__", "open"]


def open(folder: str | PathLike[str]) -> "Session | Parts | Suite":  # noqa: A001
    """The recording in ``folder``: a session, a session for each of several architectures or
    compilers, or a suite. Raises ProfdiffError where there is none, or it is damaged, hostile or of
    a newer schema."""
    from pathlib import Path

    from profdiff.api.suite import open_recording

    return open_recording(Path(folder))


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in _PLACES:
            raise AttributeError(f"module 'profdiff' has no attribute {name!r}")
        return getattr(import_module(_PLACES[name]), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *_PLACES})
