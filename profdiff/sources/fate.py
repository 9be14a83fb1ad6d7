"""What became of a line between two revisions."""

import msgspec

from profdiff.sources.source_line import SourceLine


class Fate(msgspec.Struct, frozen=True):
    """The other revision has it as ``line``, or ``commit`` added, changed or removed it.
    Neither: git cannot tell."""

    commit: str | None = None
    line: SourceLine | None = None
