"""The steps of a ladder: what each kernel executes more or less than the one before it, function
by function."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from profdiff.evidence.results import Results
from profdiff.evidence.same_code import same_code
from profdiff.evidence.statistics import Verdict
from profdiff.profile.comparison import Comparison
from profdiff.topics.functions import measure
from profdiff.topics.functions.measure import Function
from profdiff.views.record import Counts, Record, Side

_DOUBTS = {Verdict.DEPENDS: "depends on state", Verdict.UNSURE: "unsure: it may be chance"}


class StepFunction(Record, frozen=True):
    """``before`` and ``after``: self counts on the previous kernel and on the kernel."""

    name: str
    title: str
    object: str
    file: str
    side: Side
    before: int
    after: int

    @property
    def delta(self) -> int:
        """How much more the kernel executes than the one before."""
        return self.after - self.before


class Step(Record, frozen=True):
    """From the ``previous`` kernel with a result to ``kernel``: totals ``before`` and ``after``;
    ``functions`` by how much they differ, the largest first; ``others``: how many more differ, and
    ``rest`` their deltas and that of unresolved addresses. All deltas add up to that of the
    totals. ``depends``: whether the step depends on state; its numbers are those of one state;
    ``unsure``: whether it may be chance; ``same_code``: whether the kernel executes the code of the
    one before, None where that is unsure. ``notes``: what of that a reader must know, in words."""

    kernel: str
    previous: str
    before: int
    after: int
    functions: list[StepFunction]
    others: int
    rest: int
    depends: bool
    unsure: bool
    same_code: bool | None
    notes: list[str]

    @property
    def delta(self) -> int:
        """The whole step."""
        return self.after - self.before


def steps(comparison: Comparison, top: int, side: Side | None = None) -> list[Step]:
    """The steps of exact counts of three kernels or more, with at most ``top`` functions each. Of
    two kernels, the table of functions has the only step; samples scatter too much to tell."""
    if len(comparison.labels) < 3 or not comparison.metric.exact:
        return []
    totals = comparison.totals(side).tolist()
    rows = comparison.rows(side)
    judged = _judged(comparison)
    same = [None] * len(totals) if side == "user" else same_code(comparison)
    return [
        _step(comparison, rows, (totals[at - 1], totals[at]), at, top, judged, same[at])
        for at in range(1, len(totals))
    ]


def _judged(comparison: Comparison) -> dict[str, Verdict]:
    """What may be said of the whole step of each kernel."""
    results = Results.gather(comparison.manifest)
    return {
        label: step.verdict
        for one in results.at(comparison.setting)
        if one.metric.name == comparison.metric.name
        for label, step in zip(results.labels, one.steps, strict=True)
        if step
    }


def _step(
    comparison: Comparison,
    rows: NDArray[np.int64],
    totals: tuple[int, int],
    at: int,
    top: int,
    judged: Mapping[str, Verdict],
    same: bool | None,
) -> Step:
    delta = comparison.self_[rows, at] - comparison.self_[rows, at - 1]
    names = [comparison.functions[row] for row in rows]
    differ: list[int] = np.flatnonzero(delta).tolist()
    differ.sort(key=lambda n: (-abs(int(delta[n])), names[n]))
    shown = differ[:top]
    found = measure.functions(comparison, rows[np.array(shown, np.int64)])
    labels = comparison.labels
    verdict = judged.get(labels[at])
    notes = [_DOUBTS[verdict]] if verdict in _DOUBTS else []
    return Step(
        kernel=labels[at],
        previous=labels[at - 1],
        before=totals[0],
        after=totals[1],
        functions=[_function(one, labels[at - 1], labels[at]) for one in found],
        others=len(differ) - len(shown),
        rest=totals[1] - totals[0] - int(delta[shown].sum()),
        depends=verdict is Verdict.DEPENDS,
        unsure=verdict is Verdict.UNSURE,
        same_code=same,
        notes=[*notes, *(["executes the same code"] if same else [])],
    )


def _function(one: Function, previous: str, kernel: str) -> StepFunction:
    counts: Counts = one.self
    return StepFunction(
        name=one.name,
        title=one.title,
        object=one.object,
        file=one.file,
        side=one.side,
        before=counts[previous],
        after=counts[kernel],
    )
