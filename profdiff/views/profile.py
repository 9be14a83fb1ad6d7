"""How the functions of a profile changed: their code, the seat, and the steps of a series."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.evidence.function_verdicts import sure_seat
from profdiff.evidence.results import Results
from profdiff.evidence.same_code import same_code
from profdiff.evidence.statistics import Verdict
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.inline_sites import code_sizes, inlining
from profdiff.profile.seat import Seats
from profdiff.session.session import Session
from profdiff.topics.functions import measure
from profdiff.topics.functions.measure import Function
from profdiff.views.record import Counts, Record, Side, by_label, side


class Code(Record, frozen=True):
    """Columns over the functions of an exact metric, by label. ``size``: bytes of a kernel
    function's code with what is inlined into it, None where that is not known; ``copies``: in how
    many places it ran inlined, ``called``: whether it ran by itself."""

    size: dict[str, list[int | None]]
    copies: dict[str, list[int]]
    called: dict[str, list[bool]]


def code(comparison: Comparison, session: Session | None) -> Code | None:
    """As the session keeps it; None where the counts are not exact."""
    if not class_names(comparison):
        return None
    labels = comparison.labels
    sizes, ran = code_sizes(comparison, session, kept=True).size, inlining(comparison)
    return Code(
        size=by_label(labels, ([one or None for one in column] for column in sizes.T.tolist())),
        copies=by_label(labels, ran.copies.T.tolist()),
        called=by_label(labels, ran.called.T.tolist()),
    )


# So many functions below a seat are named, of at least that part of the change.
_NAMED, _LEAST = 3, 0.05
_LONGEST = 60


class SeatFunction(Record, frozen=True):
    """A function that a seat calls or inlines. ``delta``: of its total there; ``part``: of the
    whole delta."""

    name: str
    object: str
    side: Side
    delta: int
    part: float


class Seat(Record, frozen=True):
    """The deepest function whose total delta is at least half of the change, or one inside it that
    holds more. ``delta``: of its total, of a function of user space without what the kernel did for
    it; ``part``: of the whole delta, from 0.5 to 1.5; ``self_part``: of what it executed itself.
    ``below``: what it calls or inlines, the largest first, each at least a twentieth of the
    change."""

    name: str
    object: str
    side: Side
    delta: int
    part: float
    self_part: float
    below: list[SeatFunction]

    @property
    def alone(self) -> bool:
        """Whether its own code holds half of the change, so that self counts say it all."""
        return self.self_part >= 0.5

    def told(self, whole: str, delta: str) -> str:
        """In words, as a part of ``whole`` ("the increase"). ``delta``: as tables show it, "" for
        none."""
        amount = f" ({delta})" if delta else ""
        said = f"{units.percent(self.part, '.0f')} of {whole}{amount} is in {_name(self.name)}"
        # Helpers that took the place of others are not part of the change.
        shown = self.below if all(one.part <= 1 for one in self.below) else []
        below = [f"{_name(one.name)}: {units.percent(one.part, '.0f')}" for one in shown]
        said += f" and its callees ({', '.join(below)})" if below else " and its callees"
        return f"{said}; other functions offset the rest" if self.part > 1.005 else said


def seats(comparison: Comparison, only: Side | None = None) -> list[Seat | None]:
    """The seat of each kernel but the base; for samples only where chance does not make it."""
    found = Seats(comparison, only)
    return [_seat(comparison, found, kernel) for kernel in range(1, len(comparison.labels))]


def seats_by_label(comparison: Comparison) -> dict[str, Seat]:
    """The seats of the kernels that have one."""
    pairs = zip(comparison.labels[1:], seats(comparison), strict=True)
    return {label: one for label, one in pairs if one}


def _seat(comparison: Comparison, seats: Seats, kernel: int) -> Seat | None:
    found = sure_seat(comparison, seats, kernel)
    if found is None:
        return None
    one = comparison.functions[found.function]
    below = [
        SeatFunction(
            name=function.name,
            object=function.object,
            side=side(function.in_kernel),
            delta=delta,
            part=delta / found.whole,
        )
        for row, delta in seats.below(found, kernel)[:_NAMED]
        for function in [comparison.functions[row]]
        if delta / found.whole >= _LEAST
    ]
    return Seat(
        name=one.name,
        object=one.object,
        side=side(one.in_kernel),
        delta=found.delta,
        part=found.part,
        self_part=int(comparison.deltas()[found.function, kernel]) / found.whole,
        below=below,
    )


def _name(name: str) -> str:
    return units.shorten(units.printable(name), _LONGEST)


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
