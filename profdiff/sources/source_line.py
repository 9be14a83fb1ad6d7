"""A line of a source, and what became of it between two revisions."""

import msgspec

SourceLine = tuple[str, int]
"""A file, relative to the source tree or repository, and a line from 1."""


class Fate(msgspec.Struct, frozen=True):
    """The other revision has it as ``line``, or ``commit`` added, changed or removed it.
    Neither: git cannot tell."""

    commit: str | None = None
    line: SourceLine | None = None
