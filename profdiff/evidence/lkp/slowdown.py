"""What a table of the 0-day robot's says of the time of an operation: how many instructions it
executes, what each costs, and what neither explains.

Rates are taken for the inverse of time, as the tests keep the number of their tasks. perf-stat's
rows are of the whole machine, idle and all.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from profdiff.evidence.lkp.report import UNPRINTED, Case, Row
from profdiff.evidence.time_split import Split

_HALF = 0.5
# Names of rates and of times. Where neither fits, the mail's word tells which way is better, and
# what is better when it is more counts as a rate.
_RATE = re.compile(
    r"ops|through|bandwidth|_[rt]ps|[MGK]?B/?p?s\b|score|per[_-](?:sec|min)|/s(?:ec)?\b", re.I
)
_TIME = re.compile(r"time|latency|[._](?:n|u|m)s(?:ec)?s?(?:_|\.|$)|delay|overhead|_cost", re.I)
# Below this, a value of a row has so few digits that the change beside it says more.
_FEW_DIGITS = 100
_ROUNDED = 90
# A change of the time within so many unprinted deviations of a run is told.
_WITHIN = 2


@dataclass(frozen=True)
class Ratio:
    """The reported kernel's value as a multiple of the base's; above 0. ``spread``: what the
    printed deviations make of it, as a fraction, to first order (the root of the sum of their
    squares, as if they were independent), 0 where none is printed; ``rows``: that it is made of."""

    value: float
    spread: float
    rows: Sequence[Row]

    @staticmethod
    def of(row: Row | None, column: int) -> "Ratio | None":
        """None without a row, or where a mean is not above 0."""
        if row is None:
            return None
        base, other = row.means[0], row.means[column]
        if not (base.value > 0 and other.value > 0):
            return None
        change = row.changes[column - 1]
        rounded = not row.in_points and abs(change) < _ROUNDED
        few = min(base.value, other.value) < _FEW_DIGITS
        value = 1 + change / 100 if rounded and few else other.value / base.value
        return Ratio(value, math.hypot(base.spread or 0, other.spread or 0), [row])

    def __truediv__(self, other: "Ratio") -> "Ratio":
        spread = math.hypot(self.spread, other.spread)
        return Ratio(self.value / other.value, spread, [*self.rows, *other.rows])

    @property
    def inverse(self) -> "Ratio":
        return replace(self, value=1 / self.value)


@dataclass(frozen=True)
class Parts:
    """Parts of the logarithm of a change of time; they sum to 1. ``cost`` of each instruction in
    cycles, and ``rest``, what cycles do not explain (waiting, frequency): None where the table has
    no cycles per instruction; ``low`` and ``high``: of ``instructions``, by the printed
    deviations of single runs, one of them to either side; equal where none is printed."""

    instructions: float
    cost: float | None
    rest: float | None
    low: float
    high: float


@dataclass(frozen=True)
class Slowdown:
    """``row``: the one that the case reports. ``time`` of an operation and its ``instructions``,
    and ``cpi``, cycles per instruction: None where the table does not tell; ``missing``: why the
    first two do not, "" where they do."""

    row: Row | None
    time: Ratio | None
    instructions: Ratio | None
    cpi: Ratio | None
    missing: str

    @staticmethod
    def of(case: Case) -> "Slowdown":
        """What the table of one test says."""
        row = case.row(case.metric) if case.metric else None
        rising = _more_is_better(case, row)
        time = _time(case, row, rising)
        instructions = _instructions(case, row, rising)
        return Slowdown(row, time, instructions, _cpi(case), _missing(row, time, instructions))

    @property
    def split(self) -> Split | None:
        """Time as instructions and the time of each; None where one is not known."""
        if self.time is None or self.instructions is None:
            return None
        return Split(self.time.value, self.instructions.value)

    @property
    def parts(self) -> Parts | None:
        """None where a split is, or where time did not change."""
        if self.time is None or self.instructions is None or self.split is None:
            return None
        share, whole = self.split.share, math.log(self.time.value)
        if share is None:
            return None
        # share = i / t with independent errors of i and of t.
        wide = math.hypot(self.instructions.spread, share * self.time.spread) / abs(whole)
        cost = math.log(self.cpi.value) / whole if self.cpi else None
        rest = None if cost is None else 1 - share - cost
        return Parts(share, cost, rest, share - wide, share + wide)

    @property
    def doubt(self) -> str:
        """Why it is not certain which part instructions are; "" where it is."""
        parts = self.parts
        if parts is None:
            return self.missing or "time did not change"
        if parts.high - parts.low > max(abs(parts.instructions), abs(1 - parts.instructions)):
            return "the interval is wider than the answer"
        if parts.low < _HALF < parts.high:
            return "it may be more or less than half"
        return ""

    @property
    def within_unprinted(self) -> bool:
        """Whether the change of time is so small that deviations that are not printed could be as
        large."""
        if self.time is None:
            return False
        return abs(math.log(self.time.value)) < _WITHIN * UNPRINTED


def _more_is_better(case: Case, row: Row | None) -> bool | None:
    if row is None:
        return None
    if _RATE.search(row.metric):
        return True
    if _TIME.search(row.metric):
        return False
    rose = row.changes[case.column - 1] > 0
    return rose == (case.word == "improvement") if case.word else None


def _time(case: Case, row: Row | None, rising: bool | None) -> Ratio | None:
    ratio = Ratio.of(row, case.column)
    if ratio is None or row is None or rising is None:
        return None
    if rising:
        return ratio.inverse
    return ratio if _TIME.search(row.metric) else None


def _instructions(case: Case, row: Row | None, rising: bool | None) -> Ratio | None:
    """What an operation executes: as the robot has it; by the work that was done; or by the
    rate."""
    if (ratio := Ratio.of(case.row("perf-stat.overall.path-length"), case.column)) is not None:
        return ratio
    whole = Ratio.of(case.row("perf-stat.total.instructions"), case.column)
    for name in _works(case):
        done = Ratio.of(case.row(name), case.column)
        if whole is not None and done is not None:
            return whole / done
    rate = Ratio.of(row, case.column) if rising else None
    for name in ("perf-stat.ps.instructions", "perf-stat.i.instructions"):
        each = Ratio.of(case.row(name), case.column)
        if rate is not None and each is not None:
            return each / rate
    return None


def _works(case: Case) -> Iterator[str]:
    """Rows that may say how many operations a run did."""
    test = case.table.parameters.get("testcase") or (case.metric or "").split(".")[0]
    yield f"{test}.workload"
    if case.metric and case.metric.endswith(".ops_per_sec"):
        yield case.metric.removesuffix("_per_sec")


def _cpi(case: Case) -> Ratio | None:
    for kind in ("overall", "i"):
        if (cpi := Ratio.of(case.row(f"perf-stat.{kind}.cpi"), case.column)) is not None:
            return cpi
        if (ipc := Ratio.of(case.row(f"perf-stat.{kind}.ipc"), case.column)) is not None:
            return ipc.inverse
    return None


def _missing(row: Row | None, time: Ratio | None, instructions: Ratio | None) -> str:
    if row is None:
        return "the table has no row of the workload's own"
    if time is None:
        if any(mean.value <= 0 for mean in row.means):
            return f"{row.metric} is 0 on a kernel"
        return f"{row.metric} is neither a rate nor a time"
    if instructions is None:
        return "the table has no row of instructions per op, nor of what would give them"
    return ""
