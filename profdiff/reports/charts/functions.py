"""Which charts a comparison has, and what stands in them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.profile.comparison import Comparison, Side
from profdiff.reports.charts import words
from profdiff.reports.charts.bars import KERNEL, LESS, MORE, REST, USER, Panel, Row, draw
from profdiff.reports.charts.layout import Caption, Chart
from profdiff.topics.functions import marks
from profdiff.topics.functions.measure import functions, select
from profdiff.topics.functions.selection import Selection
from profdiff.views.results import recording

_TOP, _TOP_OF_MANY = 15, 8
# A page holds that many panels.
_MOST_KERNELS = 6
_MOST_TOTALS = 40
_ERROR, _RANGE = "one standard error", "from the lowest run to the highest"
_SIDES = {"kernel": " in the kernel", "user": " in user space", None: ""}
_COLOURS: dict[Side, str] = {"kernel": KERNEL, "user": USER}


def charts(
    comparisons: Sequence[Comparison], side: Side | None, *, per_op: bool | None
) -> Iterator[Chart]:
    """Deltas (of one kernel alone its functions) and totals of each metric.

    ``per_op``: counts per operation; None means where ops are known.
    """
    for comparison in comparisons:
        measure = _Measure(comparison, side, comparison.ops if per_op is not False else None)
        part = f"-{words.file_part(comparison.metric.name)}-{comparison.runs[0].collector}"
        suffix = part if len(comparisons) > 1 else ""
        if len(comparison.labels) == 1:
            yield Chart(f"functions{suffix}", "functions", *_functions(measure))
        else:
            yield Chart(f"deltas{suffix}", "functions", *_deltas(measure))
        yield Chart(f"totals{suffix}", "functions", *_totals(measure))


@dataclass(frozen=True)
class _Measure:
    """How the numbers of a comparison are shown: of one side, per op, in words."""

    comparison: Comparison
    side: Side | None
    ops: int | None

    @property
    def labels(self) -> list[str]:
        """The kernels' labels."""
        return words.labels(self.comparison.labels)

    @property
    def sides(self) -> list[tuple[str, str]]:
        """Colours and words of the sides that are shown."""
        sides = [(KERNEL, "kernel"), (USER, "user space")]
        return [entry for entry in sides if self.side is None or entry[0] == _COLOURS[self.side]]

    def count(self, value: int) -> str:
        """A count in words, unrounded where it is whole."""
        return units.count(value / self.ops, per_op=True) if self.ops else units.count(value)

    def change(self, base: int, other: int) -> str:
        """A difference in words."""
        if base == other:
            return "0"
        delta, ops = other - base, self.ops
        told = units.delta(delta / ops, per_op=True) if ops else units.delta(delta)
        return f"{told} ({units.change(base, other)})"

    def chart(
        self,
        title: str,
        panels: Sequence[Panel],
        legend: Sequence[tuple[str, str]],
        whiskers: str,
        left_out: int = 0,
    ) -> tuple[Caption, Figure]:
        """Caption and figure: the metric with the ``title``, and below it kernels, workload, where
        the numbers come from, what ``whiskers`` are, and how many kernels are left out."""
        comparison, metric = self.comparison, self.comparison.metric
        origin = "exact: every instruction in the window is counted"
        if comparison.samples is not None:
            taken = zip(comparison.samples.sum(axis=0).tolist(), self.labels, strict=True)
            told = words.listed([f"{count:,} samples of {label}" for count, label in taken])
            origin = f"sampled: {told}"
        command = recording.workload(comparison.manifest, comparison.setting).description
        notes = [*words.origin(comparison.kernels, command), origin]
        if any(row.whisker for _, rows in panels for row in rows):
            notes.append(f"whiskers: {whiskers}")
        notes += words.left_out((left_out, "kernels"))
        name = words.short(metric.title, 48)
        what = f"{_SIDES[self.side]}{'' if metric.exact else ', sampled'}"
        per_op, ops = (" per op", f" ({self.ops:,} ops)") if self.ops else ("", "")
        caption = Caption(f"{name}{per_op}{what}: {title}", notes)
        return caption, draw(caption, panels, f"{name}{per_op}{ops}{what}", legend, self.ops or 1)


def _deltas(measure: _Measure) -> tuple[Caption, Figure]:
    labels = measure.labels
    others = range(1, min(len(labels), _MOST_KERNELS + 1))
    top = _TOP if len(others) == 1 else _TOP_OF_MANY
    selection = Selection(top=top, min_delta=1, side=measure.side)
    shown = select(measure.comparison, selection).shown
    panels = [_delta_panel(measure, shown, kernel) for kernel in others]
    title = f"what differs most from {labels[0]}"
    if len(panels) == 1:
        title, panels = panels[0][0], [("", panels[0][1])]
    legend = [(LESS, f"\u2190 less than {labels[0]}"), (MORE, f"more than {labels[0]} \u2192")]
    return measure.chart(title, panels, legend, _ERROR, len(labels) - 1 - len(others))


def _delta_panel(measure: _Measure, shown: NDArray[np.int64], kernel: int) -> Panel:
    comparison, labels = measure.comparison, measure.labels
    whole = comparison.totals(measure.side)[[0, kernel]]
    pairs = comparison.self_[shown][:, [0, kernel]]
    rest = whole - pairs.sum(axis=0)
    if whole[0] == whole[1] and not (pairs[:, 0] != pairs[:, 1]).any():
        return f"no function differs: {labels[kernel]} is equal to {labels[0]}", []
    errors = [0.0] * len(shown)
    if comparison.samples is not None:
        errors = marks.Deltas.of(comparison, shown).error[:, kernel - 1].tolist()
    rows = []
    columns = zip(functions(comparison, shown), pairs.tolist(), errors, strict=True)
    for function, (base, other), error in columns:
        delta = other - base
        whisker = (delta - error, delta + error) if comparison.samples is not None else None
        bar = (delta, MORE if delta > 0 else LESS)
        rows.append(Row(function.title, [bar], measure.change(base, other), whisker))
    if rest.any():
        base, other = rest.tolist()
        told = measure.change(base, other)
        rows.append(Row("(everything else)", [(other - base, REST)], told))
    return f"{labels[kernel]} minus {labels[0]}, all: {measure.change(*whole.tolist())}", rows


def _functions(measure: _Measure) -> tuple[Caption, Figure]:
    comparison = measure.comparison
    selection = Selection(sort="self", top=_TOP, side=measure.side)
    whole = int(comparison.totals(measure.side)[0])
    label = comparison.labels[0]
    rows = []
    shown = select(comparison, selection).shown
    errors = None
    if comparison.samples is not None:
        errors = marks.errors(comparison, shown)[:, 0].tolist()
    for number, function in enumerate(functions(comparison, shown)):
        own, whisker = function.self[label], None
        if errors is not None:
            whisker = (own - errors[number], own + errors[number])
        told = f"{measure.count(own)} ({units.share(own, whole)})"
        rows.append(Row(function.title, [(own, _COLOURS[function.side])], told, whisker))
    title = f"functions with the largest self counts, {measure.labels[0]}"
    panel = ("" if rows else "nothing was counted", rows)
    return measure.chart(title, [panel], measure.sides, _ERROR)


def _totals(measure: _Measure) -> tuple[Caption, Figure]:
    comparison = measure.comparison
    base, *_ = wholes = comparison.totals(measure.side).tolist()
    sides: list[Side] = [measure.side] if measure.side else ["kernel", "user"]
    parts = [(_COLOURS[side], comparison.totals(side).tolist()) for side in sides]
    rows = []
    for kernel, label in enumerate(comparison.labels[:_MOST_TOTALS]):
        told, whole = measure.count(wholes[kernel]), wholes[kernel]
        if kernel:
            told += f" ({units.change(base, whole)})" if whole != base else " (equal)"
        runs = comparison.repetitions[kernel]
        ranged = measure.side is None and runs.lowest < runs.highest
        bars = [(part[kernel], colour) for colour, part in parts]
        rows.append(Row(label, bars, told, (runs.lowest, runs.highest) if ranged else None))
    left_out = len(comparison.labels) - len(rows)
    return measure.chart("totals", [("", rows)], measure.sides, _RANGE, left_out)
