"""A chart of values against a parameter: a line for each kernel, its band, and every boot.

Sizes are inches.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from profdiff.reports.chart_legend import Legend
from profdiff.reports.chart_scale import Scale, number
from profdiff.reports.chart_text import (
    LINE,
    SIZE,
    SMALL,
    WIDTH,
    mono_width,
    shown,
    text_at,
    title_and_notes,
)

Dashes = Literal["-", "--", "-.", ":"]

# Okabe and Ito's colours, which colour-blind people tell apart; shapes tell in black and white.
STYLES: list[tuple[str, str, Dashes]] = [
    ("#000000", "o", "-"),
    ("#D55E00", "s", "--"),
    ("#0072B2", "^", "-."),
    ("#009E73", "D", ":"),
    ("#CC79A7", "v", "--"),
    ("#E69F00", "P", "-."),
    ("#56B4E9", "X", ":"),
]
_ALONE, _OF_MANY = 3.1, 2.2  # a panel's height
_HEAD, _GAP = 0.24, 0.42


@dataclass(frozen=True)
class Mark:
    """One cell: ``median`` and what lies around it, ``low`` to ``high``; ``boots``: values."""

    x: float
    median: float
    low: float
    high: float
    boots: Sequence[float]


@dataclass(frozen=True)
class Line:
    """One kernel's cells, in the order of x."""

    label: str
    marks: Sequence[Mark]


@dataclass(frozen=True)
class Panel:
    """Lines under a heading."""

    heading: str
    lines: Sequence[Line]


@dataclass(frozen=True)
class Sweep:
    """``x`` and ``y``: the axes' words. ``categories``: what stands at 0, 1, 2 … where x is no
    number; nothing joins marks then, and no scale is logarithmic."""

    x: str
    y: str
    panels: Sequence[Panel]
    categories: Sequence[str] = ()


def draw(title: str, sweep: Sweep, notes: Sequence[str]) -> Figure:
    """The figure: all panels on the same scales, every line in the style of its place."""
    panels, columns = sweep.panels, 1 if len(sweep.panels) == 1 else 2
    rows = math.ceil(len(panels) / columns)
    height = _ALONE if columns == 1 else _OF_MANY
    marks = [mark for panel in panels for line in panel.lines for mark in line.marks]
    y = Scale.of(
        [value for mark in marks for value in (mark.low, mark.median, mark.high, *mark.boots)],
        log=not sweep.categories,
    )
    left, right = 0.38 + y.room, 0.15
    width = (WIDTH - columns * (left + right)) / columns
    x = _x_scale(sweep, marks, width)
    legend = _legend([line.label for line in panels[0].lines])
    top = 0.34 + legend.height + 0.06
    head = _HEAD if any(panel.heading for panel in panels) else 0.04
    bottom = 0.08 + len(notes) * LINE + 0.12
    whole = top + rows * (head + height + _GAP) + bottom
    figure = Figure(figsize=(WIDTH, whole))
    for at, panel in enumerate(panels):
        row, column = divmod(at, columns)
        start = column * WIDTH / columns + left
        base = whole - top - row * (head + height + _GAP) - head - height
        if panel.heading:
            columns_of_text = int(width / mono_width("x", SIZE))
            text_at(
                figure,
                start,
                base + height + 0.19,
                panel.heading,
                size=SIZE,
                weight="bold",
                columns=columns_of_text,
            )
        axes = figure.add_axes((start / WIDTH, base / whole, width / WIDTH, height / whole))
        _panel(axes, panel, sweep, x, y)
    legend.draw(figure)
    title_and_notes(figure, title, notes)
    return figure


def _x_scale(sweep: Sweep, marks: Sequence[Mark], width: float) -> Scale:
    if sweep.categories:
        places = [float(place) for place in range(len(sweep.categories))]
        scale = Scale(False, -0.5, len(places) - 0.5, [], [])
        columns = max(int(width / len(places) / mono_width("x", SMALL)) - 1, 8)
        names = [shown(name, columns) for name in sweep.categories]
        return scale.with_ticks(places, names, width)
    places = sorted({mark.x for mark in marks})
    return Scale.of(places).with_ticks(places, [number(place) for place in places], width)


def _panel(axes: Axes, panel: Panel, sweep: Sweep, x: Scale, y: Scale) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    x.apply(axes, "x")
    y.apply(axes, "y")
    axes.set_xlabel(shown(sweep.x, 50), fontsize=SIZE, parse_math=False, labelpad=2)
    axes.set_ylabel(shown(sweep.y, 40), fontsize=SIZE, parse_math=False)
    # Categories have room for the kernels beside each other.
    step = 0.7 / len(panel.lines) if sweep.categories else 0.0
    for place, line in enumerate(panel.lines):
        shift = step * (place - (len(panel.lines) - 1) / 2)
        _line(axes, line, STYLES[place], shift, joined=not sweep.categories)


def _line(
    axes: Axes, line: Line, style: tuple[str, str, Dashes], shift: float, *, joined: bool
) -> None:
    colour, shape, dashes = style
    marks = line.marks
    xs = [mark.x + shift for mark in marks]
    scattered = [(x, value) for x, mark in zip(xs, marks, strict=True) for value in mark.boots]
    if scattered:
        axes.plot(
            [at for at, _ in scattered],
            [value for _, value in scattered],
            linestyle="none",
            marker=shape,
            markersize=2.6,
            markeredgewidth=0,
            color=colour,
            alpha=0.35,
        )
    if joined and any(mark.low < mark.high for mark in marks):
        axes.fill_between(
            xs,
            [mark.low for mark in marks],
            [mark.high for mark in marks],
            color=colour,
            alpha=0.18,
            linewidth=0,
        )
    for at, mark in zip(xs, marks, strict=True):
        # A band needs two cells; its ends are seen at one as well.
        if mark.low < mark.high:
            axes.plot((at, at), (mark.low, mark.high), color=colour, linewidth=0.8, alpha=0.7)
    axes.plot(
        xs,
        [mark.median for mark in marks],
        color=colour,
        linestyle=dashes if joined else "none",
        linewidth=1.2,
        marker=shape,
        markersize=4.5,
        markerfacecolor="white",
        markeredgewidth=1.1,
    )


def _legend(labels: Sequence[str]) -> Legend:
    return Legend(
        [
            (
                Line2D(
                    [],
                    [],
                    color=colour,
                    marker=shape,
                    linestyle=dashes,
                    linewidth=1.2,
                    markersize=4.5,
                    markerfacecolor="white",
                ),
                label,
            )
            for label, (colour, shape, dashes) in zip(labels, STYLES, strict=False)
        ]
    )
