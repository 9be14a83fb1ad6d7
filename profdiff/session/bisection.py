"""What a bisection found, as the manifest of its last session keeps it."""

from typing import Annotated, Literal

import msgspec

from profdiff.base import units
from profdiff.collectors.records import Commit, Count, Number, Part, Text

# Labels of the last session's kernels.
PARENT, CULPRIT, BAD, REVERT = "parent", "culprit", "bad", "bad-revert"

Fraction = Annotated[float, msgspec.Meta(ge=-1e9, le=1e9)]

Reverted = Literal["confirmed", "partly", "not", "does not apply", "does not build", "not measured"]


class Revision(Part, frozen=True):
    """A commit, and what was measured of it: ``value`` in the unit of the bisection's ``what``;
    None where no number was."""

    commit: Commit
    subject: Text
    value: Number | None = None


class Step(Part, frozen=True):
    """A further culprit: ``explained``: which fraction of good to bad the step is; ``candidates``:
    as those of the bisection."""

    culprit: Revision
    parent: Revision
    explained: Fraction | None = None
    candidates: Annotated[list[Revision], msgspec.Meta(max_length=1000)] = msgspec.field(
        default_factory=list
    )


class Bisection(Part, frozen=True):
    """``condition``: what a bad revision fails, as ``profdiff check`` has it, against ``good``;
    ``what``: which number it is about (``instructions:total``).

    ``culprit``: the first bad commit; ``candidates``: where commits before it cannot be measured,
    all that can be the first bad one, it among them. ``tested``: how many revisions ran,
    ``skipped``: how many say neither good nor bad. ``revert``: whether bad with the culprit
    reverted on top is good again, and ``undone``: which fraction of the culprit's own step that
    undoes. ``explained``: which fraction of good to bad the step from ``parent`` to ``culprit`` is.
    ``others``: further culprits, in the order of the history, if all were asked for (``all_above``:
    of which size, as a fraction of good). ``reverted``: of several candidates, the one that was
    reverted. ``ops``: of how many operations the values are, None where that is not known or they
    are of one; ``longer``: the operations of the longer run, where a shorter one is subtracted.
    """

    good: Revision
    bad: Revision
    parent: Revision
    culprit: Revision
    condition: Text
    what: Text
    revert: Reverted
    undone: Fraction | None = None
    explained: Fraction | None = None
    tested: Count = 0
    skipped: Count = 0
    candidates: Annotated[list[Revision], msgspec.Meta(max_length=1000)] = msgspec.field(
        default_factory=list
    )
    others: Annotated[list[Step], msgspec.Meta(max_length=1000)] = msgspec.field(
        default_factory=list
    )
    all_above: Fraction | None = None
    reverted: Revision | None = None
    ops: Count | None = None
    longer: Count | None = None

    @property
    def whole(self) -> str:
        """What the values are of: ``for 1,000 ops (2,000 minus 1,000)``; "" where that is not
        known."""
        return of_ops(self.ops, self.longer)


def of_ops(ops: int | None, longer: int | None) -> str:
    """As ``Bisection.whole``."""
    if ops is None:
        return ""
    lengths = f" ({longer:,} minus {longer - ops:,})" if longer is not None else ""
    return f"for {units.counted(ops, 'op')}{lengths}"
