"""A chart of kernels beside each other: every boot a point, the median a bar, what was found below.

Sizes are inches.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from profdiff.reports.bar_chart import LESS, MORE
from profdiff.reports.chart_legend import Legend
from profdiff.reports.chart_scale import Scale
from profdiff.reports.chart_text import (
    LINE,
    SIZE,
    SMALL,
    WIDTH,
    mono_width,
    shown,
    title_and_notes,
)

BASE, NEITHER = "#000000", "#7A7A7A"
COLOURS = {BASE: "o", LESS: "v", MORE: "^", NEITHER: "D"}
_NOISE = "#F0E442"
_HEIGHT = 3.0
# Up to so many kernels have room for words beside each other.
_UPRIGHT = 7
_LABEL = 24
# To each side, as a part of a kernel's room, and in inches at most.
_BAR, _BOOTS = (0.38, 0.6), (0.3, 0.45)


@dataclass(frozen=True)
class Rung:
    """A kernel: the values of its ``boots`` in their order, their ``median`` (None without one),
    the ``words`` under it, and its ``colour``, one of ``COLOURS``."""

    label: str
    boots: Sequence[float]
    median: float | None
    words: Sequence[str]
    colour: str


@dataclass(frozen=True)
class Ladder:
    """``y``: the axis' words. ``noise``: from where to where the base differs from itself.
    ``legend``: what the colours mean, of those that occur."""

    y: str
    rungs: Sequence[Rung]
    noise: tuple[float, float] | None
    noise_words: str
    legend: Sequence[tuple[str, str]]


def draw(title: str, ladder: Ladder, notes: Sequence[str]) -> Figure:
    """The figure; one rung at least has a boot. The same boots stand at the same places."""
    rungs = ladder.rungs
    values = [value for rung in rungs for value in (*rung.boots, rung.median) if value is not None]
    y = Scale.of([*values, *(ladder.noise or ())], log=False)
    left, right = 0.38 + y.room, 0.15
    width = WIDTH - left - right
    upright = len(rungs) <= _UPRIGHT
    texts = _upright(rungs, width / len(rungs)) if upright else _turned(rungs)
    below = (
        0.12 + max(len(text) for text in texts) * SMALL * 1.3 / 72
        if upright
        else 0.12 + max(mono_width(text[0], SMALL) for text in texts)
    )
    legend = _legend(ladder)
    top = 0.34 + legend.height + 0.12
    whole = top + _HEIGHT + below + 0.1 + len(notes) * LINE + 0.1
    figure = Figure(figsize=(WIDTH, whole))
    base = whole - top - _HEIGHT
    axes = figure.add_axes((left / WIDTH, base / whole, width / WIDTH, _HEIGHT / whole))
    _frame(axes, ladder, y)
    axes.set_xticks(range(len(rungs)))
    axes.set_xticklabels(
        ["\n".join(text) for text in texts],
        fontsize=SMALL,
        parse_math=False,
        rotation=0 if upright else 270,
        family="sans-serif" if upright else "monospace",
        linespacing=1.3,
    )
    for place, rung in enumerate(rungs):
        _rung(axes, place, rung, width / len(rungs))
    legend.draw(figure)
    title_and_notes(figure, title, notes)
    return figure


def _upright(rungs: Sequence[Rung], room: float) -> list[list[str]]:
    """Lines under each kernel."""
    columns = max(int(room / mono_width("x", SMALL)), 8)
    return [[shown(text, columns) for text in (rung.label, *rung.words)] for rung in rungs]


def _turned(rungs: Sequence[Rung]) -> list[list[str]]:
    """One line for each kernel, all of them in the same columns."""
    rows = [[shown(rung.label, _LABEL), *rung.words] for rung in rungs]
    widths = [
        max(len(row[at]) for row in rows if at < len(row)) for at in range(max(map(len, rows)))
    ]
    return [
        ["  ".join(text.ljust(size) for text, size in zip(row, widths, strict=False)).rstrip()]
        for row in rows
    ]


def _frame(axes: Axes, ladder: Ladder, y: Scale) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#DDDDDD", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(-0.5, len(ladder.rungs) - 0.5)
    y.apply(axes, "y")
    axes.set_ylabel(shown(ladder.y, 50), fontsize=SIZE, parse_math=False)
    if ladder.noise:
        axes.axhspan(*ladder.noise, color=_NOISE, alpha=0.45, linewidth=0)
    base = ladder.rungs[0].median
    if base is not None:
        axes.axhline(base, color="black", linewidth=0.7, linestyle=(0, (4, 3)))


def _rung(axes: Axes, place: int, rung: Rung, room: float) -> None:
    if rung.median is None:
        return
    bar, spread = (min(part, most / room) for part, most in (_BAR, _BOOTS))
    count = len(rung.boots)
    shifts = [spread * (2 * at / (count - 1) - 1) if count > 1 else 0.0 for at in range(count)]
    axes.plot(
        (place - bar, place + bar),
        (rung.median, rung.median),
        color=rung.colour,
        linewidth=1.8,
        solid_capstyle="butt",
    )
    axes.plot(
        [place + shift for shift in shifts],
        rung.boots,
        linestyle="none",
        marker=COLOURS[rung.colour],
        markersize=4.4,
        markeredgewidth=0.5,
        markeredgecolor="white",
        color=rung.colour,
        alpha=0.75,
        zorder=3,
    )


def _legend(ladder: Ladder) -> Legend:
    entries: list[tuple[Artist, str]] = [
        (Line2D([], [], color=colour, marker=COLOURS[colour], markersize=4.4, linewidth=1.8), words)
        for colour, words in ladder.legend
    ]
    if ladder.noise:
        entries.append((Patch(facecolor=_NOISE, alpha=0.45), ladder.noise_words))
    return Legend(entries)
