"""Lines through the exact counts of a sweep: ``fixed + slope * n`` of each function on each kernel,
and of what a kernel has more than the base."""

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, floor
from typing import NamedTuple

import numpy as np

from profdiff.base import units
from profdiff.base.errors import InputError, SessionError
from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence.cell_functions import FunctionKey
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.outside_workload import larger
from profdiff.evidence.results import Result
from profdiff.evidence.statistics.line import Abscissas, Ends, Line
from profdiff.evidence.statistics.rule import Verdict
from profdiff.profile.cell import exact_collector
from profdiff.profile.function_identity import title
from profdiff.profile.kept_functions import FunctionCounts
from profdiff.session.points import Setting

MIN_POINTS = 3
"""Through two points there is always a line."""
LIMIT = 0.01
"""The most that a point of a line may be off, as a share of its count; of a line of differences, as
a share of the largest."""
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,9})?")
# A line says little so many times beyond the largest point.
_BEYOND = 10
# So many names of what differs are told of a point.
_NAMED = 2


class Sweep(NamedTuple):
    """``name``: of the parameter that lines are over; ``values``: ascending, of ``settings``.
    ``others``: the other parameters, which are fixed, "" for none. ``left_out``: by the value of
    points that are not used, why."""

    name: str
    settings: Sequence[Setting]
    values: Sequence[Fraction]
    others: str
    left_out: Mapping[str, str]

    @staticmethod
    def of(findings: Findings) -> "Sweep":
        """The parameter with the most points; others have the value of the findings' setting.
        Raises InputError if none has three numbers."""
        chosen, found = findings.setting, list[tuple[str, dict[Fraction, Setting]]]()
        for name in findings.results.swept:
            others = _others(chosen, name)
            here = [one for one in findings.results.settings if _others(one, name) == others]
            numbers = (one for one in here if _NUMBER.fullmatch(one.value(name)))
            found.append((name, {Fraction(one.value(name)): one for one in numbers}))
        name, along = max(found, key=lambda one: len(one[1]), default=("", {}))
        if len(along) < MIN_POINTS:
            raise InputError(
                f"fits: no parameter alone has {MIN_POINTS} numbers as values: record with --sweep"
            )
        left_out = {one.value(name): why for one in along.values() if (why := _why(findings, one))}
        kept = [value for value in sorted(along) if along[value].value(name) not in left_out]
        if len(kept) < MIN_POINTS:
            told = "; ".join(f"{name} {value}: {why}" for value, why in left_out.items())
            raise InputError(f"fits: {units.counted(len(kept), 'point')} left ({told})")
        return Sweep(name, [along[one] for one in kept], kept, _others(chosen, name), left_out)

    @property
    def span(self) -> str:
        """Which points these are."""
        first, last = (units.digits(float(one)) for one in (self.values[0], self.values[-1]))
        return f"{len(self.values)} points from {first} to {last}"


def _others(setting: Setting, name: str) -> str:
    return ", ".join(f"{one} {setting.value(one)}" for one in setting.varied if one != name)


def _why(findings: Findings, setting: Setting) -> str:
    """Why a point is left out; "" where it is used."""
    state = findings.state
    differ = [
        name
        for one in state.points
        if one.setting.point == setting.point
        for name in one.differences
        if name not in state.intended
    ]
    differ += [
        shift.name
        for shift in state.shifts
        if any(one.point == setting.point for one in shift.settings)
    ]
    if differ:
        return f"the state differs: {units.few(list(dict.fromkeys(differ)), _NAMED)}"
    result = _result(findings, setting)
    if result is None:
        return "no exact counts"
    for kernel, cell in zip(findings.results.labels, result.cells, strict=True):
        if not cell.boots:
            return f"{kernel} has no result"
        if any(boot != cell.boots[0] for boot in cell.boots):
            return f"the boots of {kernel} differ"
    if any(one and one.verdict is Verdict.DEPENDS for one in result.changes):
        return "the change depends on state"
    return ""


def _result(findings: Findings, setting: Setting) -> Result | None:
    """The exact counts of a setting; None without any."""
    collector = exact_collector(findings.session) if findings.session else None
    some = findings.results.at(setting)
    wanted = (collector, INSTRUCTIONS)
    return next((one for one in some if (one.collector, one.metric) == wanted), None)


class Row(NamedTuple):
    """``lines`` by kernel. ``differences``: by kernel but the base, the line through what it has
    more; ``slopes`` and ``fixed``: how that differs, None without a line. ``part``: the largest
    difference of a point, as a share of all that the base executes there."""

    name: str
    part: float
    lines: Mapping[str, Line]
    differences: Mapping[str, Line]
    slopes: Mapping[str, Difference | None]
    fixed: Mapping[str, Difference | None]

    @property
    def off(self) -> float:
        """The worst residual, as a share of a point's count."""
        return max(line.off for line in self.lines.values())

    @property
    def bent(self) -> bool:
        """Whether it differs on some kernel, and no difference is a line."""
        differ = [label for label, line in self.differences.items() if any(line[:3])]
        return bool(differ) and all(self.slopes[label] is None for label in differ)


class Even(NamedTuple):
    """From where on a kernel costs ``then`` than the base: *more* or *less*. Up to ``last`` it does
    the opposite; ``first``: where it surely is so. ``measured``: both points; None where the line
    alone says it, beyond all points."""

    label: str
    then: str
    last: Fraction
    first: Fraction
    measured: tuple[Fraction, Fraction] | None


class Fits:
    """The lines of a session's sweep. ``ops``: those of each point, None where they differ: then
    counts are of the whole window. Raises InputError without a sweep or exact counts; its members
    do for a damaged file."""

    def __init__(self, findings: Findings) -> None:
        if findings.session is None or exact_collector(findings.session) is None:
            raise InputError("fits: only exact counts have lines: record with --collector exact")
        self._session, self.sweep = findings.session, Sweep.of(findings)
        self.labels = findings.results.labels
        ops = {setting.ops for setting in self.sweep.settings}
        self.ops = next(iter(ops)) if len(ops) == 1 else None
        self._x = Abscissas(self.sweep.values)
        self._results = [_result(findings, one) for one in self.sweep.settings]

    @cached_property
    def rows(self) -> list[Row]:
        """Every function, the largest change of a slope first, then of what is fixed."""
        none = [Fraction(0)] * len(self._x.x)
        rows = [
            self._row(title(key.name, key.object, "", namesakes=False), counts, none)
            for key, counts in self._counts.items()
        ]

        def size(row: Row, of: str) -> float:
            every = getattr(row, of).values()
            return max((abs(one.delta) for one in every if one is not None), default=0.0)

        return sorted(rows, key=lambda row: (-size(row, "slopes"), -size(row, "fixed"), row.name))

    @cached_property
    def sums(self) -> list[Row]:
        """All functions, and those of the kernel."""
        ticks = self._ticks
        return [
            self._row(name, self._sum(kernel_only=name == "kernel"), ticks)
            for name in ("all", "kernel")
        ]

    def evens(self) -> Iterator[Even]:
        """Where kernels cost as much as the base: where the sign of a sure difference changes from
        one point to another, or beyond the points, where the line alone says so."""
        values = self.sweep.values
        for at, label in enumerate(self.labels[1:], 1):
            signs = [(n, sign) for n in range(len(values)) if (sign := self._sign(n, at))]
            turns = [pair for pair in pairwise(signs) if pair[0][1] != pair[1][1]]
            for (before, _), (after, sign) in turns:
                ends = values[before], values[after]
                then = "more" if sign > 0 else "less"
                exact = self._between(label, at, ends, sign) if len(turns) == 1 else ends
                yield Even(label, then, *exact, ends)
            line, slope = self.sums[0].differences[label], self.sums[0].slopes[label]
            if not turns and slope is not None and slope.delta and slope.verdict.is_sure:
                even = -line.fixed / line.slope
                if 1 <= even < values[0] or values[-1] < even <= _BEYOND * values[-1]:
                    then = "more" if line.slope > 0 else "less"
                    yield Even(label, then, Fraction(floor(even)), Fraction(ceil(even)), None)

    def _between(self, label: str, kernel: int, ends: Ends, sign: int) -> Ends:
        """The last whole number where all lines have the old sign, and the first with the new one,
        between two points; the points where there is no such line."""
        if self.sums[0].slopes[label] is None or any(n.denominator > 1 for n in self.sweep.values):
            return ends
        counts = self._deltas(self._sum(), kernel)
        near = [self.sums[0].differences[label].residual + more for more in self._ticks]

        def is_sure(at: int, wanted: int) -> bool:
            low, high = self._x.values(counts, near, Fraction(at))
            return low > 0 if wanted > 0 else high < 0

        def last(start: int, end: int, wanted: int) -> int:
            """The farthest from ``start`` towards ``end`` that is sure: lines are."""
            while abs(end - start) > 1:
                middle = (start + end) // 2
                start, end = (middle, end) if is_sure(middle, wanted) else (start, middle)
            return start

        before, after = int(ends[0]), int(ends[1])
        return Fraction(last(before, after, -sign)), Fraction(last(after, before, sign))

    def _sign(self, point: int, kernel: int) -> int:
        """The sign of a kernel's difference to the base at a point, 0 where it is not sure."""
        result = self._results[point]
        change = result.changes[kernel] if result else None
        if change is None or not change.verdict.is_sure:
            return 0
        base, other = change.medians
        return (other > base) - (other < base)

    @cached_property
    def _ticks(self) -> list[Fraction]:
        """How much timer ticks can add to a difference at each point."""
        found = []
        for result, setting in zip(self._results, self.sweep.settings, strict=True):
            each = larger(cell.tick_floor for cell in result.cells) if result else None
            found.append(Fraction(each or 0) * ((setting.ops or 1) if each else 1))
        return found

    @cached_property
    def _counts(self) -> dict[FunctionKey, list[list[int]]]:
        """The whole counts of each function, by kernel and then point."""
        known, found = FunctionCounts.of(self._session), dict[FunctionKey, list[list[int]]]()
        for point, setting in enumerate(self.sweep.settings):
            try:
                here = known.at(setting)
            except SessionError as error:
                raise InputError(f"fits: {error}") from error
            if here is None or not set(self.labels) <= set(here.labels):
                raise InputError(f"fits: no functions are known at {setting.title}")
            columns = [list(here.labels).index(label) for label in self.labels]
            own = np.ascontiguousarray(here.counts[:, columns]).tolist()
            for function, counts in zip(here.functions, own, strict=True):
                rows = found.setdefault(
                    FunctionKey.of(function), [[0] * len(self._x.x) for _ in self.labels]
                )
                for row, count in zip(rows, counts, strict=True):
                    row[point] += count
        return found

    @cached_property
    def _wholes(self) -> list[int]:
        """What the base executes at each point."""
        return self._sum()[0]

    def _sum(self, *, kernel_only: bool = False) -> list[list[int]]:
        wanted = [
            counts for key, counts in self._counts.items() if key.in_kernel or not kernel_only
        ]
        total = np.zeros((len(self.labels), len(self._x.x)), np.int64)
        for counts in wanted:
            total += np.array(counts, np.int64)
        return [list(map(int, row)) for row in total]

    def _deltas(self, counts: Sequence[Sequence[int]], kernel: int) -> list[int]:
        return [more - less for more, less in zip(counts[kernel], counts[0], strict=True)]

    def _row(
        self,
        name: str,
        counts: Sequence[Sequence[int]],
        ticks: Sequence[Fraction],
    ) -> Row:
        lines = [self._x.line(one) for one in counts]
        differences, part = dict[str, Line](), 0.0
        slopes, fixed = dict[str, Difference | None](), dict[str, Difference | None]()
        for kernel, label in enumerate(self.labels[1:], 1):
            deltas = self._deltas(counts, kernel)
            line = differences[label] = self._x.line(deltas)
            slopes[label] = fixed[label] = None
            for delta, whole in zip(deltas, self._wholes, strict=True):
                part = max(part, abs(delta) / whole if whole else 0.0)
            if not any(deltas):
                slopes[label] = fixed[label] = Difference(0.0, 0.0, 0.0, Verdict.EXACT)
            elif line.residual <= LIMIT * max(map(abs, deltas)):
                near = [line.residual + more for more in ticks]
                ends, crossing = (line.slope, line.slope), (line.fixed, line.fixed)
                if any(near):
                    ends = self._x.slopes(deltas, near)
                    crossing = self._x.values(deltas, near, Fraction(0))
                slopes[label] = _difference(line.slope, ends)
                fixed[label] = _difference(line.fixed, crossing)
        by_label = dict(zip(self.labels, lines, strict=True))
        return Row(name, part, by_label, differences, slopes, fixed)


def _difference(value: Fraction, ends: Ends) -> Difference:
    """Sure where all lines that come as near have its sign."""
    low, high = map(float, ends)
    sure = low > 0 or high < 0 or low == high
    return Difference(float(value), low, high, Verdict.EXACT if sure else Verdict.UNSURE)
