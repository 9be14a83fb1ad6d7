"""The sweep of an experiment: one metric against the parameter that was swept, a line for each
kernel, its band, and every boot."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator

from profdiff.base import units
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Level, level
from profdiff.reports.charts import words
from profdiff.reports.charts.layout import SIZE, WIDTH, Caption, finish, logarithmic, ticks, wrapped
from profdiff.views.shown_command import command_line

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
_NUMBER = re.compile(r"[+-]?\d{1,30}(\.\d{0,30})?(e[+-]?\d{1,2})?", re.ASCII | re.IGNORECASE)


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
    name, others = _parameters(evidence, results)
    values = [result.setting.value(name) for result in results]
    numeric = all(map(_is_number, values))
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
    each = sum(len(one.cells[k].boots) for one in drawn for k in kernels) <= words.MOST_BOOTS
    notes = [
        *words.notes(evidence, drawn, command_line(evidence.manifest.workload.argv)),
        _scatter(evidence, drawn, every=each, bands=numeric),
        *words.left_out(
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
        lines.append((words.short(heading, 60), shown))
    caption = Caption(words.title(drawn[0], f"by {words.short(name)}"), notes)
    axes = (words.short(name), words.axis(drawn[0]))
    return caption, draw(caption, lines, axes, [words.short(one) for one in categories])


def draw(
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
        labels = words.labels(kernels)
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


def _parameters(evidence: Results, results: Sequence[Result]) -> tuple[str, list[str]]:
    """What goes along the axis, and what has a panel for each of its values: the numeric parameter
    with the most values, and those that do not follow from it (as zipped ones do)."""
    swept = evidence.swept
    columns = {name: [one.setting.value(name) for one in results] for name in swept}
    axis = max(swept, key=lambda name: (all(map(_is_number, columns[name])), len({*columns[name]})))
    count = len(set(columns[axis]))
    pairs = {name: set(zip(columns[axis], columns[name], strict=True)) for name in swept}
    return axis, [name for name in swept if len(pairs[name]) > count]


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _marks(
    evidence: Results, members: Sequence[tuple[float, Result]], kernel: int, each: bool
) -> list[Mark]:
    cells = [(x, result.cells[kernel]) for x, result in members]
    found = [(x, cell, level(cell.boots, evidence.rule)) for x, cell in cells]
    return [Mark(x, at, cell.medians if each else []) for x, cell, at in found if at]


def _scatter(evidence: Results, results: Sequence[Result], *, every: bool, bands: bool) -> str:
    """What points and bands are."""
    cells = [cell for result in results for cell in result.cells if cell.boots]
    counts = sorted({len(cell.boots) for cell in cells})
    if counts == [1]:
        return words.one_boot(results[0])
    if all(len(set(cell.medians)) == 1 for cell in cells):
        return "every boot of a cell gave the same value: there is no spread"
    told = []
    for count in dict.fromkeys((counts[0], counts[-1])):
        found = level([[float(number)] for number in range(count)], evidence.rule)
        if found is not None and count > 1:
            told.append(f"{units.percent(found.confidence)} with {count:,} boots")
    shown = "small points: every boot" if every else words.MANY_BOOTS
    what = "bands" if bands else "lines"
    return f"{shown}; {what}: the median's confidence interval, {', '.join(told)}"
