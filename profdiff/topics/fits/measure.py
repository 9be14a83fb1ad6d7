"""Lines through the exact counts of a sweep: ``fixed + slope * n`` of each function on each kernel,
and of what a kernel has more than the base."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import ceil, floor, lcm
from typing import NamedTuple, TypeVar

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
from profdiff.session.points import Setting, axis, is_number, is_ops

MIN_POINTS = 3
"""Through two points there is always a line."""
LIMIT = 0.01
"""The most that a point of a line may be off, as a share of its count."""
LEAST = 0.001
"""The part of all that the base executes at a point that differences may be off in any case."""
# Of one session's lines, and of a common multiple of its numbers of ops.
_MAX_POINTS, _MAX_COUNTS, _MAX_BITS = 1000, 4_000_000, 512
# A line says little so many times beyond the largest point.
_BEYOND = 10
# So many names of what differs are told of a point, and so many points that are left out.
_NAMED, _MAX_LEFT_OUT = 2, 5


N = TypeVar("N", int, Fraction)


class Sweep(NamedTuple):
    """``name``: of the parameter that lines are over; ``values``: ascending, of ``settings``.
    ``others``: the other parameters, which are fixed, "" for none. ``is_ops``: the parameter is the
    number of ops. ``left_out``: by the value of points that are not used, why."""

    name: str
    settings: Sequence[Setting]
    values: Sequence[Fraction]
    others: str
    is_ops: bool
    left_out: Mapping[str, str]

    @staticmethod
    def of(findings: Findings) -> "Sweep":
        """The parameter that charts have as their axis; others have the value of the findings'
        setting. Raises InputError if it does not have three numbers."""
        chosen, every = findings.setting, findings.results.settings
        name, others = axis(every) if findings.results.swept else ("", [])
        at = [chosen.value(other) for other in others]
        along = {
            Fraction(one.value(name)): one
            for one in every
            if is_number(one.value(name)) and [one.value(other) for other in others] == at
        }
        if len(along) < MIN_POINTS:
            raise InputError(
                f"fits: no parameter alone has {MIN_POINTS} numbers as values: record with --sweep"
            )
        if len(along) > _MAX_POINTS:
            raise InputError(f"fits: {len(along):,} points are too many: at most {_MAX_POINTS:,}")
        state = _state_differences(findings)
        reasons = {value: _why(findings, one, state) for value, one in along.items()}
        left_out = {along[value].value(name): reasons[value] for value in along if reasons[value]}
        kept = [value for value in sorted(along) if not reasons[value]]
        if len(kept) < MIN_POINTS:
            told = told_points(name, left_out)
            raise InputError(f"fits: {units.counted(len(kept), 'point')} left ({told})")
        where = ", ".join(f"{other} {chosen.value(other)}" for other in others)
        used = [along[value] for value in kept]
        return Sweep(name, used, kept, where, is_ops(list(along.values()), name), left_out)

    @property
    def span(self) -> str:
        """Which points these are."""
        first, last = (units.digits(float(one)) for one in (self.values[0], self.values[-1]))
        return f"{len(self.values)} points from {first} to {last}"


def told_points(name: str, reasons: Mapping[str, str]) -> str:
    """The first points that are left out, each with its reason."""
    told = [f"{name} {value}: {why}" for value, why in reasons.items()]
    return units.few(told, _MAX_LEFT_OUT, "; ", "; ")


def _state_differences(findings: Findings) -> Mapping[int, list[str]]:
    """By point, the names of what differs there in the state."""
    state, found = findings.state, dict[int, list[str]]()
    for one in state.points:
        names = [name for name in one.differences if name not in state.intended]
        found.setdefault(one.setting.point, []).extend(names)
    for shift in state.shifts:
        for setting in shift.settings:
            found.setdefault(setting.point, []).append(shift.name)
    return found


def _why(findings: Findings, setting: Setting, state: Mapping[int, list[str]]) -> str:
    """Why a point is left out; "" where it is used."""
    if differ := state.get(setting.point):
        return f"the state differs: {units.few(list(dict.fromkeys(differ)), _NAMED)}"
    result = _result(findings, setting)
    if result is None:
        return "no exact counts"
    for kernel, cell in zip(findings.results.labels, result.cells, strict=True):
        if not cell.boots:
            return f"{kernel} has no result"
        if cell.scattered:
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
    """The lines of a session's sweep. ``ops``: those of each point, None where they differ or are
    unknown. Where they differ lines are ``per_op``; else of the whole window, as they are over the
    number of ops. Raises InputError without a sweep or exact counts; its members do for a damaged
    file, and for more counts than lines are made of."""

    def __init__(self, findings: Findings) -> None:
        if findings.session is None or exact_collector(findings.session) is None:
            raise InputError("fits: only exact counts have lines: record with --collector exact")
        self._session, self.sweep = findings.session, Sweep.of(findings)
        self.labels = findings.results.labels
        ops = {setting.ops for setting in self.sweep.settings}
        self.ops = next(iter(ops)) if len(ops) == 1 else None
        self.per_op = len(ops) > 1 and all(ops) and not self.sweep.is_ops
        # Counts are multiplied so that all are of so many ops, and stay whole numbers.
        self._scale = lcm(*(one or 1 for one in ops)) if self.per_op else 1
        if self._scale.bit_length() > _MAX_BITS:
            raise InputError("fits: the numbers of ops have no common multiple: sweep fewer points")
        of = self._scale if self.per_op else 0
        self._times = [of // (one.ops or 1) or 1 for one in self.sweep.settings]
        self._results = [_result(findings, one) for one in self.sweep.settings]

    @cached_property
    def _x(self) -> Abscissas:
        """Weighted, so that small points of a log-spaced sweep count as much as the largest."""
        return Abscissas(self.sweep.values, [*map(float, self._wholes)])

    def _scaled(self, values: Sequence[N]) -> list[N]:
        return [value * times for value, times in zip(values, self._times, strict=True)]

    @cached_property
    def rows(self) -> list[Row]:
        """Every function, the largest change of a slope first, then of what is fixed."""
        none = [Fraction(0)] * len(self.sweep.values)
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
        return [self._row(name, counts, self._ticks) for name, counts in self._sums.items()]

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
        counts = self._deltas(self._sums["all"], kernel)
        off = self.sums[0].differences[label].residual * self._scale
        near = [off + more for more in self._ticks]

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

    def is_sure(self, kernel: int) -> bool:
        """Whether a kernel's difference to the base is sure at some point."""
        return any(self._sign(point, kernel) for point in range(len(self.sweep.values)))

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
        for result in self._results:
            each = larger(cell.tick_floor for cell in result.cells) if result else None
            ops = (result.ops if result else None) or 1
            found.append(Fraction(each or 0) * ops)
        return self._scaled(found)

    @cached_property
    def _counts(self) -> dict[FunctionKey, list[list[int]]]:
        """The whole counts of each function, by kernel and then point."""
        known, found = FunctionCounts.of(self._session), dict[FunctionKey, list[list[int]]]()
        number = len(self.sweep.values)
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
                    FunctionKey.of(function), [[0] * number for _ in self.labels]
                )
                for row, count in zip(rows, counts, strict=True):
                    row[point] += count
            if len(found) * len(self.labels) * number > _MAX_COUNTS:
                raise InputError(f"fits: {number} points have too many functions: sweep fewer")
        return found

    @cached_property
    def _wholes(self) -> list[int]:
        """What the base executes at each point, scaled."""
        return self._scaled(self._sums["all"][0])

    @cached_property
    def _sums(self) -> dict[str, list[list[int]]]:
        """The whole counts of all functions, and of the kernel's, by kernel and then point."""
        totals = np.zeros((2, len(self.labels), len(self.sweep.values)), np.int64)
        for key, counts in self._counts.items():
            totals[: 1 + key.in_kernel] += np.array(counts, np.int64)
        return dict(zip(("all", "kernel"), totals.tolist(), strict=True))

    def _deltas(self, counts: Sequence[Sequence[int]], kernel: int) -> list[int]:
        pairs = zip(counts[kernel], counts[0], strict=True)
        return self._scaled([more - less for more, less in pairs])

    def _row(
        self,
        name: str,
        counts: Sequence[Sequence[int]],
        ticks: Sequence[Fraction],
    ) -> Row:
        lines = [self._line(self._scaled(one)) for one in counts]
        differences, part = dict[str, Line](), 0.0
        slopes, fixed = dict[str, Difference | None](), dict[str, Difference | None]()
        for kernel, label in enumerate(self.labels[1:], 1):
            deltas = self._deltas(counts, kernel)
            line = differences[label] = self._line(deltas)
            slopes[label] = fixed[label] = None
            for delta, whole in zip(deltas, self._wholes, strict=True):
                part = max(part, abs(delta) / whole if whole else 0.0)
            if not any(deltas):
                slopes[label] = fixed[label] = Difference(0.0, 0.0, 0.0, Verdict.EXACT)
            elif self._is_line(line, deltas, ticks):
                near = [line.residual * self._scale + more for more in ticks]
                ends, crossing = (line.slope, line.slope), (line.fixed, line.fixed)
                if any(near):
                    ends = self._unscaled(self._x.slopes(deltas, near))
                    crossing = self._unscaled(self._x.values(deltas, near, Fraction(0)))
                slopes[label] = _difference(line.slope, ends)
                fixed[label] = _difference(line.fixed, crossing)
        by_label = dict(zip(self.labels, lines, strict=True))
        return Row(name, part, by_label, differences, slopes, fixed)

    def _line(self, scaled: Sequence[int]) -> Line:
        line, by = self._x.line(scaled), self._scale
        return line._replace(
            fixed=line.fixed / by, slope=line.slope / by, residual=line.residual / by
        )

    def _unscaled(self, ends: Ends) -> Ends:
        return ends[0] / self._scale, ends[1] / self._scale

    def _is_line(self, line: Line, deltas: Sequence[int], ticks: Sequence[Fraction]) -> bool:
        """Whether every point is near it: as a share of the largest difference, and of its own, or
        of what the base executes there; or ticks can explain it. Near an even point a difference is
        small."""
        fixed, slope = line.fixed * self._scale, line.slope * self._scale
        most = LIMIT * max(map(abs, deltas))
        points = zip(self._x.x, deltas, self._wholes, ticks, strict=True)
        for x, delta, whole, tick in points:
            near: float = min(most, max(LIMIT * abs(delta), LEAST * whole))
            if abs(delta - fixed - slope * x) > max(near, float(tick)):
                return False
        return True


def _difference(value: Fraction, ends: Ends) -> Difference:
    """Sure where all lines that come as near have its sign."""
    low, high = map(float, ends)
    sure = low > 0 or high < 0 or low == high
    return Difference(float(value), low, high, Verdict.EXACT if sure else Verdict.UNSURE)
