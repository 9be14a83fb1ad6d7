"""A horizontal bar chart for print: rows with a label, a bar, its whisker and its value in words.

Sizes are inches; the figure is as high as its rows need.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from profdiff.reports.chart_text import (
    LINE,
    MONO,
    SIZE,
    SMALL,
    WIDTH,
    mono_width,
    shown,
    text_at,
    title_and_notes,
)

# Okabe and Ito's palette, which colour-blind people tell apart; the hatch tells in black and white.
LESS, MORE, KERNEL, USER, REST = "#0072B2", "#D55E00", "#56B4E9", "#E69F00", "#BBBBBB"
# Few lines: an SVG file holds each of a hatch's strokes.
_HATCHES = {MORE: "////", USER: "\\\\\\\\"}

_ROW = 0.22
_NAME = 40  # columns of a row's label


@dataclass(frozen=True)
class Bar:
    """A part of a row: from ``start`` to ``start + length``."""

    start: float
    length: float
    colour: str


@dataclass(frozen=True)
class Row:
    """``whisker``: from and to, the range in which the end of the last bar scatters."""

    label: str
    bars: Sequence[Bar]
    value: str
    whisker: tuple[float, float] | None = None

    @property
    def end(self) -> float:
        """Where the last bar ends."""
        return self.bars[-1].start + self.bars[-1].length


@dataclass(frozen=True)
class Panel:
    """Rows under a heading, first on top; ``message`` stands where there are none."""

    heading: str
    rows: Sequence[Row]
    message: str = ""


def draw(
    title: str,
    panels: Sequence[Panel],
    axis: str,
    notes: Sequence[str],
    legend: Sequence[tuple[str, str]] = (),
) -> Figure:
    """The figure: ``title``, panels one below the other on one scale, the ``axis``' words, and
    ``notes`` below. ``legend``: colours and what they mean."""
    labels = [_name(row.label) for panel in panels for row in panel.rows]
    left = 0.15 + max((mono_width(label) for label in labels), default=0.0)
    heads = [0.26 if panel.heading else 0.02 for panel in panels]
    heights = [max(len(panel.rows), 1) * _ROW + 0.1 for panel in panels]
    drawn = [number for number, panel in enumerate(panels) if panel.rows]
    legend = legend if drawn else ()
    top = 0.34 + (0.2 if legend else 0.0)
    # Below a panel stands its scale, below the last one the axis' words too.
    gaps = [
        0.42 if n in drawn[-1:] else 0.2 if panel.rows else 0.0 for n, panel in enumerate(panels)
    ]
    bottom = 0.08 + len(notes) * LINE + 0.1
    height = top + sum(heads) + sum(heights) + sum(gaps) + bottom
    figure = Figure(figsize=(WIDTH, height))
    limits, scale = _limits([row for panel in panels for row in panel.rows], WIDTH - left - 0.15)
    y = height - top
    for number, panel in enumerate(panels):
        y -= heads[number]
        if panel.heading:
            text_at(figure, left, y + 0.2, panel.heading, size=SIZE, weight="bold", columns=70)
        y -= heights[number]
        axes = figure.add_axes(
            (left / WIDTH, y / height, (WIDTH - left - 0.15) / WIDTH, heights[number] / height)
        )
        _panel(axes, panel, limits, scale)
        if number in drawn[-1:]:
            axes.set_xlabel(shown(axis, 80), fontsize=SIZE, parse_math=False)
        y -= gaps[number]
    if legend:
        _legend(figure, legend)
    title_and_notes(figure, title, notes)
    return figure


def _panel(axes: Axes, panel: Panel, limits: tuple[float, float], scale: float) -> None:
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=SMALL)
    axes.set_ylim(max(len(panel.rows), 1) - 0.4, -0.6)
    axes.set_yticks([])
    if not panel.rows:
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        axes.text(0, 0, shown(panel.message, 90), fontsize=SIZE, parse_math=False)
        return
    axes.set_xlim(*limits)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.12g}"))
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.axvline(0, color="black", linewidth=0.8)
    for y, row in enumerate(panel.rows):
        for bar in row.bars:
            axes.barh(
                y,
                bar.length,
                left=bar.start,
                height=0.66,
                color=bar.colour,
                hatch=_HATCHES.get(bar.colour, ""),
                edgecolor="black",
                linewidth=0.4,
            )
        ends = [row.end, *(row.whisker or ())]
        if row.whisker:
            axes.plot(row.whisker, (y, y), color="black", linewidth=0.9, marker="|", markersize=5)
        negative = row.end < 0
        place = (min(ends) - 0.05 / scale) if negative else (max(ends) + 0.05 / scale)
        axes.text(
            place,
            y,
            row.value,
            ha="right" if negative else "left",
            va="center",
            fontsize=SMALL,
            family="monospace",
            parse_math=False,
        )
    axes.set_yticks(range(len(panel.rows)))
    names = [_name(row.label) for row in panel.rows]
    axes.set_yticklabels(names, fontsize=SIZE, family="monospace", parse_math=False)


def _limits(rows: Sequence[Row], width: float) -> tuple[tuple[float, float], float]:
    """The axis' ends, and inches of one unit, so that the values fit beside their bars."""
    ends = [0.0, *(end for row in rows for end in (row.end, *(row.whisker or ())))]
    low, high = min(ends), max(ends)
    before = max((mono_width(r.value, SMALL) + 0.1 for r in rows if r.end < 0), default=0.05)
    behind = max((mono_width(r.value, SMALL) + 0.1 for r in rows if r.end >= 0), default=0.05)
    scale = max(width - before - behind, 0.5) / ((high - low) or 1.0)
    return (low - before / scale, high + behind / scale), scale


def _legend(figure: Figure, entries: Sequence[tuple[str, str]]) -> None:
    height = figure.get_size_inches()[1]
    patches = [
        Patch(facecolor=colour, hatch=_HATCHES.get(colour, ""), edgecolor="black", label=text)
        for colour, text in entries
    ]
    figure.legend(
        handles=patches,
        loc="upper left",
        bbox_to_anchor=(0.08 / WIDTH, (height - 0.28) / height),
        borderaxespad=0,
        borderpad=0,
        frameon=False,
        fontsize=SIZE,
        ncols=len(patches),
    )


def _name(text: str) -> str:
    return shown(text, _NAME, family=MONO)
