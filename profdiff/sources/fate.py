"""What became of a line between two revisions."""

from dataclasses import dataclass

from profdiff.sources.same_lines import Place


@dataclass(frozen=True)
class Fate:
    """The other revision has the line at ``place``, or ``commit`` added, changed or removed it.
    Neither: git cannot tell."""

    commit: str | None = None
    place: Place | None = None
