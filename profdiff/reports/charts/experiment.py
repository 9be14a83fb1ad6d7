"""Which charts an experiment has: a sweep and a ladder of each metric."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator

from profdiff.base import units
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Estimate, Level, level
from profdiff.reports.charts import layout
from profdiff.reports.charts.bars import LESS, MORE
from profdiff.reports.charts.layout import (
    SIZE,
    SMALL,
    WIDTH,
    Caption,
    Chart,
    file_part,
    finish,
    logarithmic,
    plain,
    rows,
    ticks,
    wrapped,
)
from profdiff.session import points
from profdiff.views.results import recording
from profdiff.views.results.experiment import is_shown
from profdiff.views.results.recording import command_line
from profdiff.views.results.result import delta, judged, number

BASE, NEITHER = "#000000", "#7A7A7A"
_MARKERS = {BASE: "o", LESS: "<", MORE: ">", NEITHER: "D"}
_NOISE: dict[str, Any] = {"color": "#F0E442", "alpha": 0.45, "lw": 0}
_MOST_KERNELS = 40
# Inches of a kernel, of many less.
_ROW, _LEAST_ROW, _HEIGHT = 0.5, 0.25, 3.5
# To each side, as parts of a row.
_BAR, _BOOTS = 0.38, 0.28


@dataclass(frozen=True)
class Rung:
    """A kernel: the values of its ``boots`` in their order, their ``median`` (None without one),
    the ``words`` beside it, and its ``colour``."""

    label: str
    boots: Sequence[float]
    median: float | None
    words: Sequence[str]
    colour: str


def ladder(evidence: Results, result: Result, more: Sequence[str]) -> tuple[Caption, Figure] | None:
    """Caption and figure; None where no kernel that is shown has a value. ``more``: other notes."""
    cells = result.cells[:_MOST_KERNELS]
    if not any(cell.boots for cell in cells):
        return None
    each = sum(len(cell.boots) for cell in cells) <= layout.MOST_BOOTS
    rungs: list[Rung] = []
    labels = layout.labels(evidence.labels)
    for label, cell, change in zip(labels, cells, result.changes, strict=False):
        boots = cell.medians
        value = median(boots) if boots else None
        told = ["no result" if value is None else number(value)]
        if not rungs:
            told.append("the base")
        elif change is not None:
            told += [str(delta(change)), str(judged(change))]
        colour = _colour(change) if rungs else BASE
        told = [plain(layout.short(word)) for word in told]
        rungs.append(Rung(label, boots if each else [], value, told, colour))
    at = layout.short(result.setting.title, 48)
    command = recording.workload(evidence.manifest, result.setting).description
    notes = [
        *layout.notes(evidence, [result], command),
        _ladder_scatter(result, each),
        *layout.left_out((len(result.cells) - len(cells), "kernels")),
        *more,
    ]
    caption = Caption(layout.title(result, f"at {at}" if at else "kernel by kernel"), notes)
    return caption, draw_ladder(caption, rungs, layout.axis(result), _noise(result))


def draw_ladder(
    caption: Caption, rungs: Sequence[Rung], axis: str, noise: tuple[float, float] | None
) -> Figure:
    """One rung at least has a median. ``noise``: from where to where the base, which is the first,
    differs from itself. The same boots stand at the same places."""
    figure = Figure()
    axes = figure.subplots()
    base = rungs[0].label
    meanings = {
        BASE: base,
        LESS: f"less than {base}",
        MORE: f"more than {base}",
        NEITHER: "unsure or unchanged",
    }
    seen = {rung.colour for rung in rungs if rung.median is not None}
    legend: list[tuple[Artist, str]] = [
        (Line2D([], [], color=colour, marker=_MARKERS[colour], ms=4.4), meaning)
        for colour, meaning in meanings.items()
        if colour in seen
    ]
    if noise:
        axes.axvspan(*noise, **_NOISE)
        legend.append((Patch(**_NOISE), f"A/A: {base} against itself"))
    if rungs[0].median is not None:
        axes.axvline(rungs[0].median, color="black", lw=0.7, ls="--")
    for place, rung in enumerate(rungs):
        _rung(axes, place, rung)
    rows(axes, [plain(rung.label) for rung in rungs], [rung.words for rung in rungs], SMALL)
    ticks(axes.xaxis)
    axes.set_xlabel(wrapped(axis, WIDTH - 2))
    height = min(_ROW, max(_LEAST_ROW, _HEIGHT / len(rungs))) * len(rungs)
    return finish(figure, caption, [axes], height, legend)


def _rung(axes: Axes, place: int, rung: Rung) -> None:
    if rung.median is None:
        return
    axes.vlines(rung.median, place - _BAR, place + _BAR, color=rung.colour, lw=1.8)
    count = len(rung.boots)
    ys = place + np.linspace(-_BOOTS, _BOOTS, count) * (count > 1)
    look: dict[str, Any] = {"color": rung.colour, "mec": "white", "alpha": 0.75}
    axes.plot(rung.boots, ys, _MARKERS[rung.colour], ms=4.4, mew=0.5, zorder=3, **look)


def _colour(change: Estimate | None) -> str:
    if change is None or not change.verdict.is_sure:
        return NEITHER
    base, other = change.medians
    return NEITHER if base == other else MORE if other > base else LESS


def _noise(result: Result) -> tuple[float, float] | None:
    """The A/A floor around the base's median; None where it is not known, or nothing."""
    boots = result.cells[0].medians
    if result.noise is None or not boots:
        return None
    middle = median(boots)
    reach = abs(middle) * result.noise
    return (middle - reach, middle + reach) if 0 < reach < math.inf else None


def _ladder_scatter(result: Result, each: bool) -> str:
    """What points and bars are."""
    if not any(len(cell.boots) > 1 for cell in result.cells):
        return layout.one_boot(result)
    if all(len(set(cell.medians)) < 2 for cell in result.cells):
        return "every boot of a kernel gave the same value: there is no spread"
    every = "points: every boot, from top to bottom as recorded" if each else layout.MANY_BOOTS
    return f"{every}; bars: medians over boots; the axis does not start at 0"


# Okabe and Ito's colours, which colour-blind people tell apart; shapes tell in black and white.
_STYLES = [
    ("#000000", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#0072B2", "^", "-."),
    ("#009E73", "D", ":"),
    ("#CC79A7", "v", "--"),
    ("#E69F00", "P", "-."),
    ("#56B4E9", "X", ":"),
]
_MOST_PANELS = 6
_MOST_SETTINGS = 200  # of a panel
_MOST_CATEGORIES = 20
_MOST_TICKS = 30
_ALONE, _OF_MANY = 3.1, 2.2  # a panel's height in inches


@dataclass(frozen=True)
class Mark:
    """One cell, at its place on the axis: its level, and the values of its boots."""

    x: float
    level: Level
    boots: Sequence[float]


# By label, in the order of x.
Lines = Mapping[str, Sequence[Mark]]


def sweep(
    evidence: Results, results: Sequence[Result], more: Sequence[str]
) -> tuple[Caption, Figure]:
    """Caption and figure of the results of one metric, some of which have values. ``more``: other
    notes."""
    name, others = points.axis([result.setting for result in results])
    values = [result.setting.value(name) for result in results]
    numeric = all(map(points.is_number, values))
    categories = [] if numeric else list(dict.fromkeys(values))[:_MOST_CATEGORIES]
    groups: dict[tuple[str, ...], list[tuple[float, Result]]] = {}
    for result, value in zip(results, values, strict=True):
        key = tuple(result.setting.value(other) for other in others)
        if numeric or value in categories:
            place = float(value) if numeric else categories.index(value)
            groups.setdefault(key, []).append((place, result))
    chosen = list(groups.items())[:_MOST_PANELS]
    panels = [
        (key, sorted(members, key=lambda member: member[0])[:_MOST_SETTINGS])
        for key, members in chosen
    ]
    drawn = [result for _, members in panels for _, result in members]
    beyond = len(results) - sum(map(len, groups.values())) - len(drawn)
    beyond += sum(len(members) for _, members in chosen)
    with_values = [
        kernel
        for kernel in range(len(evidence.kernels))
        if any(result.cells[kernel].boots for result in drawn)
    ]
    kernels = with_values[: len(_STYLES)]
    each = sum(len(one.cells[k].boots) for one in drawn for k in kernels) <= layout.MOST_BOOTS
    notes = [
        *layout.notes(evidence, drawn, command_line(evidence.manifest.workload.argv)),
        _sweep_scatter(evidence, drawn, every=each, bands=numeric),
        *layout.left_out(
            (len(groups) - len(panels), "combinations of the other parameters"),
            (beyond, "settings"),
            (len(with_values) - len(kernels), "kernels"),
        ),
        *more,
    ]
    lines = []
    for key, members in panels:
        heading = ", ".join(f"{other} {value}" for other, value in zip(others, key, strict=True))
        shown = {evidence.labels[k]: _marks(evidence, members, k, each) for k in kernels}
        lines.append((layout.short(heading, 60), shown))
    caption = Caption(layout.title(drawn[0], f"by {layout.short(name)}"), notes)
    axes = (layout.short(name), layout.axis(drawn[0]))
    return caption, draw_sweep(
        caption, lines, axes, [layout.short(category) for category in categories]
    )


def draw_sweep(
    caption: Caption,
    panels: Sequence[tuple[str, Lines]],
    axis: tuple[str, str],
    categories: Sequence[str],
) -> Figure:
    """Panels on the same scales: a heading, and lines, each in the style of its place. ``axis``:
    the words of x and y. ``categories``: what stands at 0, 1, 2 … where x is not a number; nothing
    joins marks then, and no scale is logarithmic."""
    columns, height = (1, _ALONE) if len(panels) == 1 else (2, _OF_MANY)
    lines, room = -(-len(panels) // columns), WIDTH / columns - 0.8
    figure = Figure()
    grid = figure.subplots(lines, columns, sharex=True, sharey=True, squeeze=False)
    for axes in list(grid.flat)[len(panels) :]:
        axes.remove()
    for axes, (heading, kernels) in zip(grid.flat, panels, strict=False):
        axes.set_title(wrapped(heading, room, SIZE, "bold"))
        axes.set_xlabel(wrapped(axis[0], room), labelpad=2)
        axes.set_ylabel(wrapped(axis[1], height - 0.2))
        axes.tick_params(labelbottom=True, labelleft=True)
        axes.grid()
        legend = []
        labels = layout.labels(kernels)
        for place, (label, marks) in enumerate(zip(labels, kernels.values(), strict=True)):
            # Categories have room for the kernels beside each other.
            shift = 0.7 * ((place + 0.5) / len(kernels) - 0.5) if categories else None
            legend.append((_line(axes, marks, _STYLES[place], shift), label))
    first = grid[0, 0]
    marks = [mark for _, kernels in panels for line in kernels.values() for mark in line]
    if categories:
        names = [wrapped(name, 1.2) for name in categories]
        first.set_xticks(range(len(names)), names)
        first.set_xlim(-0.5, len(names) - 0.5)
        crowded = any(wrapped(name, room / len(names)) != name for name in names)
        for axes in grid.flat:
            axes.tick_params(axis="x", rotation=90 if crowded else 0)
    else:
        places = sorted({mark.x for mark in marks})
        first.set(xscale="log" if logarithmic(places) else "linear")
        ticks(first.xaxis, FixedLocator(places, _MOST_TICKS))
        values = [v for mark in marks for v in (mark.level.low, mark.level.high, *mark.boots)]
        first.set(yscale="log" if logarithmic(values) else "linear")
    ticks(first.yaxis)
    return finish(figure, caption, list(grid[:, 0]), lines * height, legend)


def _line(
    axes: Axes, marks: Sequence[Mark], style: tuple[str, str, str], shift: float | None
) -> Artist:
    """Draw a kernel's marks: shifted and apart from each other, or joined."""
    colour, shape, dashes = style
    xs = [mark.x + (shift or 0.0) for mark in marks]
    low, high = [mark.level.low for mark in marks], [mark.level.high for mark in marks]
    every = [(x, value) for x, mark in zip(xs, marks, strict=True) for value in mark.boots]
    boots: dict[str, Any] = {"color": colour, "alpha": 0.35, "mew": 0, "ms": 2.6}
    axes.plot([x for x, _ in every], [value for _, value in every], shape, **boots)
    if low != high:
        # A band needs two cells; its ends are seen at one as well.
        axes.vlines(xs, low, high, color=colour, lw=0.8, alpha=0.7)
        if shift is None:
            axes.fill_between(xs, low, high, color=colour, alpha=0.18, lw=0)
    look: dict[str, Any] = {
        "ls": dashes if shift is None else "none",
        "lw": 1.2,
        "mew": 1.1,
        "mfc": "white",
    }
    medians = [mark.level.median for mark in marks]
    (line,) = axes.plot(xs, medians, color=colour, marker=shape, ms=4.5, **look)
    return line


def _marks(
    evidence: Results, members: Sequence[tuple[float, Result]], kernel: int, each: bool
) -> list[Mark]:
    cells = [(x, result.cells[kernel]) for x, result in members]
    found = [(x, cell, level(cell.boots, evidence.rule)) for x, cell in cells]
    return [Mark(x, at, cell.medians if each else []) for x, cell, at in found if at]


def _sweep_scatter(
    evidence: Results, results: Sequence[Result], *, every: bool, bands: bool
) -> str:
    """What points and bands are."""
    cells = [cell for result in results for cell in result.cells if cell.boots]
    counts = sorted({len(cell.boots) for cell in cells})
    if counts == [1]:
        return layout.one_boot(results[0])
    if all(len(set(cell.medians)) == 1 for cell in cells):
        return "every boot of a cell gave the same value: there is no spread"
    told = []
    for count in dict.fromkeys((counts[0], counts[-1])):
        found = level([[float(number)] for number in range(count)], evidence.rule)
        if found is not None and count > 1:
            told.append(f"{units.percent(found.confidence)} with {count:,} boots")
    shown = "small points: every boot" if every else layout.MANY_BOOTS
    what = "bands" if bands else "lines"
    return f"{shown}; {what}: the median's confidence interval, {', '.join(told)}"


_MOST_METRICS = 12


def charts(evidence: Results, setting: points.Setting) -> Iterator[Chart]:
    """``sweep-METRIC`` where something was swept, and ``ladder-METRIC`` at ``setting``; none where
    the experiment is one exact run of each of two kernels. At most 12 metrics; the figures tell of
    the others."""
    if not is_shown(evidence):
        return
    metrics = evidence.metrics()
    left_out = len(metrics) - _MOST_METRICS
    more = [f"{left_out:,} more metrics have no chart"] if left_out > 0 else []
    for collector, metric in metrics[:_MOST_METRICS]:
        part = file_part(metric.name)
        results = [one for one in evidence.of(collector, metric) if any(c.boots for c in one.cells)]
        if results and evidence.swept:
            yield Chart(f"sweep-{part}", "experiment", *sweep(evidence, results, more))
        for result in results:
            # Is there more to see than the end of a sweep's lines?
            repeated = any(len(cell.boots) > 1 for cell in result.cells)
            seen = evidence.swept and not repeated and len(evidence.kernels) < 3
            if result.setting == setting and not seen:
                drawn = ladder(evidence, result, more)
                if drawn is not None:
                    yield Chart(f"ladder-{part}", "experiment", *drawn)
