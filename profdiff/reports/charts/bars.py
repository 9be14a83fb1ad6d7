"""Charts of bars: the functions of a session, and the change on each architecture, or under each
compiler, in percent of the base there. Percentages are drawn together, counts of two parts
never."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.base.names import shortened
from profdiff.evidence.parts import PartsFindings, PartsMetric, PartsResults, PartsSetting
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Verdict
from profdiff.profile.comparison import Comparison, Side
from profdiff.reports.charts import layout
from profdiff.reports.charts.layout import SIZE, Caption, Chart, finish, plain, rows, ticks, wrapped
from profdiff.topics.functions import marks
from profdiff.topics.functions.measure import functions, select
from profdiff.topics.functions.selection import Selection
from profdiff.views.results import recording
from profdiff.views.results.recording import command_line
from profdiff.views.results.result import ABSENT, Median, Pair, delta

# Okabe and Ito's palette, which colour-blind people tell apart; the hatch tells in black and white.
LESS, MORE, KERNEL, USER, REST = "#0072B2", "#D55E00", "#56B4E9", "#E69F00", "#BBBBBB"
# Few lines: an SVG file holds each of a hatch's strokes.
_HATCHES = {MORE: "////", USER: "\\\\\\\\"}
_SCALES = ((1e9, ", billions"), (1e6, ", millions"))
_ROW = 0.22  # inches
_NAME = 40  # columns


@dataclass(frozen=True)
class Row:
    """``bars``: lengths and colours, one behind the other from 0. ``whisker``: from and to, the
    range in which the end of the last bar scatters."""

    name: str
    bars: Sequence[tuple[float, str]]
    value: str
    whisker: tuple[float, float] | None = None


# A heading, and rows, the first on top.
Panel = tuple[str, Sequence[Row]]


def draw_bars(
    caption: Caption,
    panels: Sequence[Panel],
    axis: str,
    legend: Sequence[tuple[str, str]],
    ops: int,
) -> Figure:
    """Panels one below the other on one scale. ``axis``: what it shows; ``legend``: colours and
    what they mean. Lengths and whiskers are divided by ``ops``."""
    heights = [max(len(panel), 1) + 0.4 for _, panel in panels]
    figure = Figure()
    column = figure.subplots(len(panels), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    lengths = [abs(length) for _, panel in panels for row in panel for length, _ in row.bars]
    most = max(lengths, default=0) / ops
    scale, word = next((scale for scale in _SCALES if most > scale[0]), (1, ""))
    for axes, (heading, panel) in zip(column, panels, strict=True):
        axes.set_title(wrapped(heading, 4.0, SIZE, "bold"))
        axes.set_axis_off()
        if panel:
            _panel(axes, panel, ops * scale)
    drawn = [axes for axes in column if axes.axison]
    if drawn:
        drawn[-1].set_xlabel(wrapped(f"{axis}{word}", 5.0))
        ticks(drawn[-1].xaxis)
    patches = [(Patch(**_style(colour)), words) for colour, words in legend if drawn]
    return finish(figure, caption, list(column), sum(heights) * _ROW, patches)


def _style(colour: str) -> dict[str, Any]:
    """What bars of that colour look like."""
    hatch = _HATCHES.get(colour, "")
    return {"facecolor": colour, "hatch": hatch, "edgecolor": "black", "linewidth": 0.4}


def _panel(axes: Axes, panel: Sequence[Row], divisor: float) -> None:
    axes.set_axis_on()
    axes.tick_params(axis="x", labelbottom=True)
    cut = shortened((plain(row.name) for row in panel), _NAME)
    names = [cut[plain(row.name)] for row in panel]
    rows(axes, names, [[row.value] for row in panel], SIZE)
    axes.axvline(0, color="black", lw=0.8)
    for y, row in enumerate(panel):
        start = 0.0
        # The edge of a bar of no length would end the axis.
        for length, colour in ((length / divisor, colour) for length, colour in row.bars if length):
            axes.barh(y, length, 0.66, start, **_style(colour))
            start += length
        if row.whisker:
            low, high = row.whisker
            axes.plot((low / divisor, high / divisor), (y, y), "k|-", lw=0.9, ms=5)


_TOP, _TOP_OF_MANY = 15, 8
# A page holds that many panels.
_MOST_KERNELS = 6
_MOST_TOTALS = 40
_ERROR, _RANGE = "one standard error", "from the lowest run to the highest"
_SIDES = {"kernel": " in the kernel", "user": " in user space", None: ""}
_COLOURS: dict[Side, str] = {"kernel": KERNEL, "user": USER}


def function_charts(
    comparisons: Sequence[Comparison], side: Side | None, *, per_op: bool | None
) -> Iterator[Chart]:
    """Deltas (of one kernel alone its functions) and totals of each metric.

    ``per_op``: counts per operation; None means where ops are known.
    """
    for comparison in comparisons:
        measure = _Measure(comparison, side, comparison.ops if per_op is not False else None)
        part = f"-{layout.file_part(comparison.metric.name)}-{comparison.runs[0].collector}"
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
        return layout.labels(self.comparison.labels)

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
            told = layout.listed(
                [f"{units.counted(count, 'sample')} of {label}" for count, label in taken]
            )
            origin = f"sampled: {told}"
        command = recording.workload(comparison.manifest, comparison.setting).description
        notes = [*layout.origin(comparison.kernels, command), origin]
        if any(row.whisker for _, rows in panels for row in rows):
            notes.append(f"whiskers: {whiskers}")
        notes += layout.left_out((left_out, "kernels"))
        name = layout.short(metric.title, 48)
        what = f"{_SIDES[self.side]}{'' if metric.exact else ', sampled'}"
        per_op, ops = (" per op", f" ({units.counted(self.ops, 'op')})") if self.ops else ("", "")
        caption = Caption(f"{name}{per_op}{what}: {title}", notes)
        return caption, draw_bars(
            caption, panels, f"{name}{per_op}{ops}{what}", legend, self.ops or 1
        )


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


_MOST_PART_METRICS = 12
_MOST_PANELS = 16
# A bar of a change of more would leave the others no room.
_LONGEST = 10.0


def part_charts(findings: PartsFindings) -> Iterator[Chart]:
    """``architectures-METRIC``, ``compilers-METRIC`` of every metric, at most 12."""
    joint, names = findings.results, findings.names
    metrics = [one for one in joint.metrics() if _is_measured(joint, one)]
    for metric in metrics[:_MOST_PART_METRICS]:
        rows = joint.of_metric(metric)
        panels = [panel for row in rows for panel in _panels(joint, row, names)]
        example = next(result for _, by_part in rows for result in by_part.values())
        against = f"change relative to {joint.labels[0]}"
        notes = [
            *_notes(findings, rows),
            *layout.left_out((len(panels) - _MOST_PANELS, "settings or kernels")),
            *layout.left_out((len(metrics) - _MOST_PART_METRICS, "metrics")),
        ]
        caption = Caption(layout.title(example, f"{against}, by {findings.kind.name}"), notes)
        legend = [(MORE, "more"), (LESS, "less"), (REST, "unsure or unchanged")]
        used = {colour for _, panel in panels for row in panel for _, colour in row.bars}
        shown = [(colour, text) for colour, text in legend if colour in used]
        figure = draw_bars(
            caption, panels[:_MOST_PANELS], "change in percent of the base", shown, 1
        )
        name = f"{findings.kind.plural}-{layout.file_part(metric.metric.name)}"
        yield Chart(name, "parts", caption, figure)


def _is_measured(joint: PartsResults, metric: PartsMetric) -> bool:
    return len(joint.labels) > 1 and any(
        any(result.changes) for _, by_part in joint.of_metric(metric) for result in by_part.values()
    )


def _panels(
    joint: PartsResults, row: tuple[PartsSetting, dict[str, Result]], names: Sequence[str]
) -> Iterator[Panel]:
    """A row for each part, of each kernel beside the base."""
    setting, by_part = row
    several = len(joint.labels) > 2
    for label in joint.labels[1:]:
        heading = ", ".join(filter(None, [setting.title, label if several else ""]))
        yield (
            layout.short(heading, 60),
            [
                _part_row(name, joint.parts[name], by_part[name], label)
                if name in by_part and label in joint.parts[name].labels
                else Row(name, [], ABSENT)
                for name in names
            ],
        )


def _part_row(name: str, results: Results, result: Result, label: str) -> Row:
    kernel = results.labels.index(label)
    change = results.change(result, label)
    pair = Pair(
        base=Median(value=Median.of(result.cells[0]).value),
        other=Median(value=Median.of(result.cells[kernel]).value),
    )
    if change is None:
        return Row(name, [], str(pair))
    value = f"{delta(change)}  {pair}"
    if change.verdict is Verdict.UNSURE:
        value += f"  {change.verdict}"
    estimate, low, high = change.median.estimate, change.median.low, change.median.high
    if math.isnan(estimate) or abs(estimate) > _LONGEST:
        return Row(name, [], value)
    sure = change.verdict.is_sure
    colour = (MORE if estimate > 0 else LESS) if sure else REST
    known = not math.isnan(low) and low != high and max(abs(low), abs(high)) <= _LONGEST
    return Row(name, [(100 * estimate, colour)], value, (100 * low, 100 * high) if known else None)


def _notes(
    findings: PartsFindings, rows: Sequence[tuple[PartsSetting, dict[str, Result]]]
) -> list[str]:
    """Kernels, workload and where values come from: once where all parts have it alike."""
    told: dict[str, list[str]] = {}
    every = 0
    for name, results in findings.results.parts.items():
        mine = [by_part[name] for _, by_part in rows if name in by_part]
        command = command_line(results.manifest.workload.argv)
        every += bool(mine)
        for text in layout.notes(results, mine, command) if mine else ():
            told.setdefault(text, []).append(name)
    own = [f"{', '.join(names)}: {text}" for text, names in told.items() if len(names) < every]
    alike = [text for text, names in told.items() if len(names) == every]
    return [*map(units.printable, own), *alike]
