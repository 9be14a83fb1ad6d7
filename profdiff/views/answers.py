"""The answer in one sentence: how much more a kernel costs than the base, and where."""

import numpy as np

from profdiff.base import units
from profdiff.profile.comparison import Comparison
from profdiff.views.record import Record, Side
from profdiff.views.seat import Seat, seats

_NAMED, _LONGEST = 3, 60


class Largest(Record, frozen=True):
    """The functions with the largest deltas in the direction of the whole, and their ``part`` of
    it: above 1 where others go the other way."""

    functions: list[str]
    part: float

    @property
    def names(self) -> str:
        """The functions on one printable line."""
        named = (units.shorten(units.printable(name), _LONGEST) for name in self.functions)
        return units.listed(named)


class Answer(Record, frozen=True):
    """One metric on one kernel and on the base, of ``side`` or of both. ``verb``: as its
    kind says it. ``at``: the point of the sweep, "" for the only one. ``largest``: None where
    nothing changed that way. ``seat``: None where none was found."""

    label: str
    base: str
    metric: str
    verb: str
    side: Side | None
    base_count: int
    count: int
    largest: Largest | None
    at: str = ""
    ops: int | None = None
    seat: Seat | None = None

    @property
    def delta(self) -> int:
        """How much more than the base."""
        return self.count - self.base_count

    @property
    def ratio(self) -> float | None:
        """How many times the base; None where that is nothing."""
        return self.count / self.base_count if self.base_count else None

    @property
    def sentence(self) -> str:
        """All of it in words."""
        where = {"kernel": " in the kernel", "user": " in user space", None: ""}[self.side]
        at = f" at {self.at}" if self.at else ""
        if self.delta == 0:
            told = f"exactly as many {self.metric}{where} as {self.base}{at}"
        elif self.ratio is None:
            told = f"{self.count:,} {self.metric}{where}{at}; {self.base} {self.verb} none"
        else:
            told = (
                f"{self.ratio:.3f} times the {self.metric} of {self.base}{where} in this "
                f"workload{at}: {self.delta:+,} ({units.change(self.base_count, self.count)})"
                f"{self._per_op()}"
            )
        return f"{self.label} {self.verb} {told}{self._largest()}."

    def _per_op(self) -> str:
        return f", {units.delta(self.delta / self.ops, per_op=True)} per op" if self.ops else ""

    def _largest(self) -> str:
        if self.seat and not self.seat.alone:
            return f"; {self.seat.told('that')}"
        if self.largest is None:
            return ""
        names, part = self.largest.names, self.largest.part
        if part > 1:
            more = f"{part:.1f} times as much; other functions offset this"
            return f"; {names} together change by {more}"
        verb = "account" if len(self.largest.functions) > 1 else "accounts"
        return f"; {names} {verb} for {units.percent(part, '.0f')} of that"


def answers(comparison: Comparison, side: Side | None = None) -> list[Answer]:
    """For each kernel but the base."""
    totals, metric = comparison.totals(side).tolist(), comparison.metric
    base, *others = comparison.labels
    return [
        Answer(
            label=label,
            base=base,
            metric=metric.title,
            verb=metric.kind.verb,
            side=side,
            base_count=totals[0],
            count=totals[index],
            largest=_largest(comparison, index, side),
            at=units.printable(comparison.setting.title),
            ops=comparison.ops,
            seat=found,
        )
        for (index, label), found in zip(enumerate(others, 1), seats(comparison, side), strict=True)
    ]


def _largest(comparison: Comparison, index: int, side: Side | None) -> Largest | None:
    totals = comparison.totals(side)
    delta = int(totals[index] - totals[0])
    rows = comparison.rows(side)
    deltas = comparison.deltas()[rows, index] * (1 if delta > 0 else -1)
    most = [i for i in np.argsort(-deltas, kind="stable")[:_NAMED] if deltas[i] > 0]
    if not delta or not most:
        return None
    return Largest(
        functions=[comparison.functions[rows[i]].name for i in most],
        part=sum(int(deltas[i]) for i in most) / abs(delta),
    )
