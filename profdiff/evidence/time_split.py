"""What of each change of time the instructions of the same work explain.

time = instructions × time per instruction, so the ratios multiply and their logarithms add up:
ln(time) = ln(instructions) + ln(time per instruction). The share of instructions is their part of
that sum. (The identity is that of Hennessy and Patterson, Computer Architecture, "the processor
performance equation", with cycles per instruction and cycle time taken together.)"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from profdiff.base.metric import INSTRUCTIONS, TIMED
from profdiff.collectors.workload.printed_unit import usual_better
from profdiff.evidence.cell import Cell
from profdiff.evidence.results import Result, Results, is_time
from profdiff.evidence.statistics import Interval, Side, Verdict, share
from profdiff.session.points import Setting


class Split(NamedTuple):
    """``time`` and ``instructions`` of one operation on the other kernel, as multiples of the
    base's; both are finite and above 0."""

    time: float
    instructions: float

    @property
    def share(self) -> float | None:
        """Which part of the change of time instructions are: above 1 where they explain more than
        all of it, below 0 where they changed the other way; None where time did not change."""
        whole = math.log(self.time)
        return math.log(self.instructions) / whole if whole else None


def split(time: tuple[float, float], instructions: tuple[float, float]) -> Split | None:
    """From the values of the base and of the other kernel; None unless each is above 0."""
    values = (*time, *instructions)
    if not all(value > 0 and math.isfinite(value) for value in values):
        return None
    return Split(time[1] / time[0], instructions[1] / instructions[0])


_HALF = 0.5


class Explained(msgspec.Struct, frozen=True):
    """A change of ``time`` on the kernel with a number, against the base. ``share``: of the
    instructions in it, with the interval of the boots, nan where there is none. ``cycles``: as a
    multiple of the base's, None where the run that took the time did not count them. ``reason``:
    why it is not certain how much the instructions explain; "" where it is."""

    time: Result
    instructions: Result
    kernel: int
    split: Split
    share: Interval
    cycles: float | None
    reason: str

    @property
    def combined(self) -> bool:
        """Whether time and instructions are of different runs."""
        return self.time.collector != self.instructions.collector


def explained(results: Results, setting: Setting) -> list[Explained]:
    """At a setting, for each time that hardware took, and each kernel but the base."""
    here = results.at(setting)
    return [
        found
        for time in here
        if _is_time(time) and (instructions := _instructions(time, here)) is not None
        for found in _each_kernel(results, time, instructions, here)
    ]


def _is_time(one: Result) -> bool:
    """Whether it is a time of the same work as the instructions, or a rate. A time with start-up in
    it, where counts have none, is of other work."""
    if not one.metric.kind.times_work or one.virtual or one.deterministic or one.of_whole:
        return False
    rate = one.metric.better == usual_better(one.metric.unit) == "higher"
    return is_time(one.metric) or rate


def _instructions(time: Result, here: Sequence[Result]) -> Result | None:
    """Those of the same runs, or else the exact ones."""
    # Samples are few, and a model has other work in it (spinning).
    found = [
        one for one in here if one.metric.name == INSTRUCTIONS.name and one.metric.kind.repeatable
    ]
    found.sort(key=lambda one: (one.collector != time.collector, not one.metric.exact))
    return found[0] if found else None


def _each_kernel(
    results: Results, time: Result, instructions: Result, here: Sequence[Result]
) -> Iterator[Explained]:
    cycles = next(
        (one for one in here if one.metric.name == "cycles" and one.collector == time.collector),
        None,
    )
    for kernel in range(1, len(results.labels)):
        change, counted = time.changes[kernel], instructions.changes[kernel]
        if change is None or counted is None:
            continue
        found = split(_medians(time, kernel), _medians(instructions, kernel))
        if found is None:
            continue
        together = time.collector == instructions.collector
        base, other = (
            Side(_times(time, time.cells[at]), instructions.cells[at].medians, together)
            for at in (0, kernel)
        )
        part = share(base, other, results.rule, seed=results.manifest.order.seed)
        yield Explained(
            time=time,
            instructions=instructions,
            kernel=kernel,
            split=found,
            share=part,
            cycles=_ratio(cycles, kernel),
            reason=_doubt(change.verdict, change.reason, part),
        )


def _medians(one: Result, kernel: int) -> tuple[float, float]:
    """The base's value and the kernel's; for a rate, the time that one takes."""
    base, other = (cell.value or math.nan for cell in (one.cells[0], one.cells[kernel]))
    return (base, other) if one.metric.better == "lower" else (1 / base, 1 / other)


def _times(time: Result, cell: Cell) -> list[float]:
    lower = time.metric.better == "lower"
    return [value if lower or not value else 1 / value for value in cell.medians]


def _ratio(one: Result | None, kernel: int) -> float | None:
    if one is None or one.virtual:
        return None
    base, other = (cell.value for cell in (one.cells[0], one.cells[kernel]))
    return other / base if base and other else None


def _doubt(verdict: Verdict, reason: str, part: Interval) -> str:
    """Why a share is not certain."""
    if verdict is not Verdict.CHANGED:
        told = "time is unchanged" if verdict is Verdict.UNCHANGED else "its change is not certain"
        return f"{told}{f' ({reason})' if reason else ''}"
    if math.isnan(part.low):
        return "so few boots give no interval"
    # The answer is the larger of the two parts.
    if part.high - part.low > max(abs(part.estimate), abs(1 - part.estimate)):
        return "the interval is wider than the answer"
    if part.low < _HALF < part.high:
        return "it may be more or less than half"
    return ""


def most_telling(every: Sequence[Explained]) -> list[Explained]:
    """For each kernel the one to say first: what the workload says of itself, then the whole
    command's, before the time that processors took."""
    kernels = dict.fromkeys(one.kernel for one in every)
    return [min((one for one in every if one.kernel == at), key=_order) for at in kernels]


def _order(one: Explained) -> tuple[bool, bool, bool]:
    own = one.time.metric.kind == TIMED and not one.time.is_wall_time
    return not own, one.time.metric.name.endswith("-clock"), one.combined
