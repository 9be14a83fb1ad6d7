"""Which figures a comparison has, and what stands in them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from matplotlib.figure import Figure

from profdiff.base import units
from profdiff.profile.comparison import Comparison, Side
from profdiff.reports.bar_chart import KERNEL, LESS, MORE, REST, USER, Bar, Panel, Row, draw
from profdiff.session.manifest import Kernel
from profdiff.views import marks, recording
from profdiff.views.functions import functions, select
from profdiff.views.selection import Selection

_TOP, _TOP_OF_MANY = 15, 8
# A page holds that many panels.
_MOST_KERNELS = 6
_MOST_TOTALS = 40
_LABEL = 24
_COLOURS = {"kernel": KERNEL, "user": USER}
_SCALES = ((1e9, ", billions"), (1e6, ", millions"))
_SIDES = {"kernel": " in the kernel", "user": " in user space", None: ""}


@dataclass(frozen=True)
class Chart:
    """``name``: of its files, without a suffix. ``about``: what it shows."""

    name: str
    title: str
    figure: Figure
    about: Literal["experiment", "functions"] = "functions"


def charts(
    comparisons: Sequence[Comparison], side: Side | None, *, per_op: bool | None
) -> list[Chart]:
    """Deltas (of one kernel alone its functions) and totals of each metric.

    ``per_op``: counts per operation; None means where ops are known.
    """
    found: list[Chart] = []
    for comparison in comparisons:
        measure = _Measure(comparison, side, comparison.ops if per_op is not False else None)
        suffix = (
            f"-{file_part(comparison.metric.name)}-{comparison.runs[0].collector}"
            if len(comparisons) > 1
            else ""
        )
        single = len(comparison.labels) == 1
        for name, make in (
            ("functions", _functions) if single else ("deltas", _deltas),
            ("totals", _totals),
        ):
            title, figure = make(measure)
            # Two metrics can look alike as parts of a file name.
            taken = [chart.name for chart in found]
            unique = f"{name}{suffix}"
            if unique in taken:
                unique += f"-{len(taken)}"
            found.append(Chart(unique, title, figure))
    return found


def file_part(metric: str) -> str:
    """A metric's name as a part of a file's."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", metric).strip("-.")[:40] or "metric"


def kernels_line(labels: Sequence[str], kernels: Sequence[Kernel]) -> str:
    """The kernels' releases, for a note."""
    marked = [number == 0 and len(labels) > 1 for number in range(len(labels))]
    return ", ".join(
        f"{label}: {kernel.release or 'release unknown'}{' (the base)' if base else ''}"
        for label, kernel, base in zip(labels, kernels, marked, strict=True)
    )


class _Measure:
    """How the numbers of a comparison are shown: per op or not, scaled, in words."""

    def __init__(self, comparison: Comparison, side: Side | None, ops: int | None) -> None:
        self.comparison = comparison
        self.side = side
        self._ops = ops
        self.labels = [units.shorten(label, _LABEL) for label in comparison.labels]
        largest = max(comparison.totals(side).tolist(), default=0) / (ops or 1)
        fitting = (scale for scale in _SCALES if largest > scale[0])
        self._factor, self._word = next(fitting, (1.0, ""))

    def scaled(self, value: float) -> float:
        """Where on the axis."""
        return float(value) / (self._ops or 1) / self._factor

    def count(self, value: float) -> str:
        """A count in words, unrounded where it is whole."""
        if self._ops is None:
            return units.count(int(value))
        return units.count(float(value) / self._ops, per_op=True)

    def delta(self, value: float) -> str:
        """A difference in words."""
        if self._ops is None:
            return units.delta(int(value))
        return units.delta(float(value) / self._ops, per_op=True)

    @property
    def unit(self) -> str:
        """What the axis shows."""
        per_op = f" per op ({self._ops:,} ops)" if self._ops else ""
        sampled = "" if self.comparison.metric.exact else ", sampled"
        metric = self.comparison.metric.title
        return f"{metric}{per_op}{self._word}{_SIDES[self.side]}{sampled}"

    @property
    def what(self) -> str:
        """The metric in a title."""
        per_op = " per op" if self._ops else ""
        sampled = "" if self.comparison.metric.exact else ", sampled"
        return f"{self.comparison.metric.title}{per_op}{_SIDES[self.side]}{sampled}"

    def notes(self, *more: str) -> list[str]:
        """What stands below: kernels, workload, and where the numbers come from."""
        comparison = self.comparison
        lines = [kernels_line(self.labels, comparison.kernels)]
        lines.append(
            f"workload: {recording.workload(comparison.manifest, comparison.setting).description}"
        )
        if comparison.samples is None:
            lines.append("exact: every instruction in the window is counted")
        else:
            taken = comparison.samples.sum(axis=0).tolist()
            told = ", ".join(
                f"{n:,} samples of {x}" for x, n in zip(self.labels, taken, strict=True)
            )
            lines.append(f"sampled: {told}; whiskers are one standard error")
        return [*lines, *(line for line in more if line)]


def _deltas(measure: _Measure) -> tuple[str, Figure]:
    comparison, base = measure.comparison, measure.labels[0]
    others = range(1, min(len(measure.labels), _MOST_KERNELS + 1))
    top = _TOP if len(others) == 1 else _TOP_OF_MANY
    shown = select(comparison, Selection(top=top, min_delta=1, side=measure.side)).shown.tolist()
    panels = [_delta_panel(measure, shown, kernel) for kernel in others]
    left_out = len(measure.labels) - 1 - len(others)
    title = f"{measure.what}: what differs most from {base}"
    if len(others) == 1:
        title = f"{measure.what}: {panels[0].heading}"
        panels = [replace(panels[0], heading="")]
    axis = f"less  \u2190  {measure.unit}  \u2192  more"
    more = f"{left_out:,} more kernels are not shown" if left_out else ""
    legend = [(LESS, f"less than {base}"), (MORE, f"more than {base}")]
    return title, draw(title, panels, axis, measure.notes(more), legend)


def _delta_panel(measure: _Measure, shown: list[int], kernel: int) -> Panel:
    comparison = measure.comparison
    totals = comparison.totals(measure.side).tolist()
    heading = f"{measure.labels[kernel]} minus {measure.labels[0]}"
    deltas = comparison.deltas()[:, kernel].tolist()
    if not any(deltas[row] for row in shown) and totals[kernel] == totals[0]:
        message = f"no function differs: {measure.labels[kernel]} is equal to {measure.labels[0]}"
        return Panel(heading, [], message)
    rows = []
    sampled = comparison.samples is not None
    errors = marks.Difference.of(comparison, np.array(shown, int)).error if sampled else None
    named = functions(comparison, np.array(shown, int))
    for at, row in enumerate(shown):
        base, other = comparison.self_[row, [0, kernel]].tolist()
        whisker = None
        if errors is not None:
            error = float(errors[at, kernel - 1])
            whisker = (measure.scaled(deltas[row] - error), measure.scaled(deltas[row] + error))
        rows.append(_delta_row(measure, named[at].title, (base, other), whisker))
    rest = [
        total - int(comparison.self_[shown, at].sum())
        for at, total in ((0, totals[0]), (kernel, totals[kernel]))
    ]
    if any(rest):
        rows.append(_delta_row(measure, "(everything else)", (rest[0], rest[1]), None, REST))
    return Panel(f"{heading}, all: {_told(measure, totals[0], totals[kernel])}", rows)


def _delta_row(
    measure: _Measure,
    label: str,
    pair: tuple[int, int],
    whisker: tuple[float, float] | None,
    colour: str = "",
) -> Row:
    delta = pair[1] - pair[0]
    bar = Bar(0.0, measure.scaled(delta), colour or (MORE if delta > 0 else LESS))
    return Row(label, [bar], _told(measure, *pair), whisker)


def _told(measure: _Measure, base: int, other: int) -> str:
    change = units.change(base, other)
    return f"{measure.delta(other - base)} ({change})" if base != other else "0"


def _functions(measure: _Measure) -> tuple[str, Figure]:
    comparison = measure.comparison
    selection = Selection(sort="self", top=_TOP, side=measure.side)
    shown = select(comparison, selection).shown.tolist()
    named = functions(comparison, np.array(shown, int))
    whole = int(comparison.totals(measure.side)[0])
    rows = []
    for at, row in enumerate(shown):
        own = int(comparison.self_[row, 0])
        text = f"{measure.count(own)} ({units.share(own, whole)})"
        bar = Bar(0.0, measure.scaled(own), KERNEL if comparison.functions[row].in_kernel else USER)
        rows.append(Row(named[at].title, [bar], text, _scatter(measure, row)))
    title = f"{measure.what}: functions with the largest self counts, {measure.labels[0]}"
    panel = Panel("", rows, "nothing was counted")
    return title, draw(title, [panel], measure.unit, measure.notes(), _legend(measure))


def _scatter(measure: _Measure, row: int) -> tuple[float, float] | None:
    counted = measure.comparison.samples
    if counted is None:
        return None
    own = int(measure.comparison.self_[row, 0])
    error = own / max(int(counted[row, 0]), 1) ** 0.5
    return measure.scaled(own - error), measure.scaled(own + error)


def _totals(measure: _Measure) -> tuple[str, Figure]:
    comparison = measure.comparison
    sides: list[Side] = [measure.side] if measure.side else ["kernel", "user"]
    parts = [comparison.totals(side).tolist() for side in sides]
    base = sum(part[0] for part in parts)
    rows = []
    ranged = False
    for kernel, label in enumerate(comparison.labels[:_MOST_TOTALS]):
        bars, start = [], 0.0
        for side, part in zip(sides, parts, strict=True):
            bars.append(Bar(start, measure.scaled(part[kernel]), _COLOURS[side]))
            start += bars[-1].length
        whole = sum(part[kernel] for part in parts)
        text = measure.count(whole)
        if kernel:
            text += f" ({units.change(base, whole)})" if whole != base else " (equal)"
        runs = comparison.repetitions[kernel]
        whisker = None
        if measure.side is None and runs.lowest < runs.highest:
            whisker = (measure.scaled(runs.lowest), measure.scaled(runs.highest))
            ranged = True
        rows.append(Row(label, bars, text, whisker))
    title = f"{measure.what}: totals"
    notes = measure.notes()
    if comparison.samples is not None:
        notes[2] = notes[2].partition("; whiskers")[0]
    if left_out := len(comparison.labels) - len(rows):
        notes.append(f"{left_out:,} more kernels are not shown")
    if ranged:
        notes.append("whiskers reach from the lowest run to the highest")
    return title, draw(title, [Panel("", rows)], measure.unit, notes, _legend(measure))


def _legend(measure: _Measure) -> list[tuple[str, str]]:
    names = {"kernel": "kernel", "user": "user space"}
    return [(_COLOURS[side], names[side]) for side in names if measure.side in (None, side)]
