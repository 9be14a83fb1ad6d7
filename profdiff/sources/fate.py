"""What became of a line between two revisions."""

from dataclasses import dataclass

from profdiff.sources.source_line import SourceLine


@dataclass(frozen=True)
class Fate:
    """The other revision has it as ``line``, or ``commit`` added, changed or removed it.
    Neither: git cannot tell."""

    commit: str | None = None
    line: SourceLine | None = None
