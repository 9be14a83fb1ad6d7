"""What charts have in common: how they are laid out, and what they say of metrics, kernels and
runs. Strangers' words are bounded here, each by itself: no title and no note is cut."""

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.textpath import text_to_path
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullLocator

from profdiff.base import guest_clock, units
from profdiff.base.names import shortened
from profdiff.evidence.results import Result, Results
from profdiff.session.manifest import Kernel
from profdiff.views.results.result import source

WIDTH = 7.2  # A4 and Letter with margins
SIZE, SMALL, _TITLE = 8.0, 7.0, 10.0  # points
_SANS, _MONO = "DejaVu Sans", "DejaVu Sans Mono"  # come with matplotlib
_MARGIN = 0.08
_ROOM = WIDTH - 2 * _MARGIN
# For what stands around the axes, until it is measured.
_AROUND = 5.0

SETTINGS: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": SIZE,
    "axes.titleweight": "bold",
    "font.monospace": [_MONO],
    "font.sans-serif": [_SANS],
    "font.size": SIZE,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.5,
    "hatch.linewidth": 0.4,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "path.simplify": False,
    "svg.fonttype": "none",  # text as text: small, searchable
    "svg.hashsalt": "profdiff",  # the same figure is the same file
    "text.parse_math": False,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
}


class Caption(NamedTuple):
    """What stands above a figure, and below it line by line. It is wrapped, never cut."""

    title: str
    notes: Sequence[str]


class Chart(NamedTuple):
    """``name``: of its files, without a suffix. ``about``: what it shows."""

    name: str
    about: Literal["experiment", "functions", "parts"]
    caption: Caption
    figure: Figure


def plain(text: str) -> str:
    """``text`` as the fonts can show it: what they lack becomes its escape."""
    known = _characters()
    return "".join(c if ord(c) in known else f"\\u{{{ord(c):x}}}" for c in units.printable(text))


@cache
def _characters() -> frozenset[int]:
    names = (_SANS, f"{_SANS}:bold", _MONO)
    first, *others = (frozenset(get_font(findfont(name)).get_charmap()) for name in names)
    return first.intersection(*others)


def wrapped(text: str, room: float, size: float = SIZE, weight: str = "normal") -> str:
    """``plain`` text in lines no wider than the room; a word that is wider is cut in its middle."""
    font = FontProperties(family=_SANS, size=size, weight=weight)
    lines = [plain(text)]
    if _width(lines[0], font) <= room:
        return lines[0]
    for word in lines.pop().split(" "):
        shown = word
        while (wide := _width(shown, font)) > room:
            columns = units.width(shown)
            shown = units.shorten(word, min(int(columns * room / wide), columns - 1))
        if lines and _width(f"{lines[-1]} {shown}", font) <= room:
            lines[-1] += f" {shown}"
        else:
            lines.append(shown)
    return "\n".join(lines)


def _width(text: str, font: FontProperties) -> float:
    return text_to_path.get_text_width_height_descent(text, font, ismath=False)[0] / 72


def number(value: float) -> str:
    """A tick's number in full, as long as that can be read."""
    if value and not 1e-6 <= abs(value) < 1e12:
        return f"{value:.3g}"
    return f"{value:,.12g}"


def logarithmic(values: Sequence[float]) -> bool:
    """Whether a logarithmic axis can show them, with margins: they are above 0."""
    return min(values) > 1e-250 and max(values) < 1e250


def ticks(axis: Axis, places: Locator | None = None) -> None:
    """Give an axis, along which all values are drawn, ticks with plain numbers."""
    low, high = axis.get_view_interval()
    if places is None and axis.get_scale() == "log" and high > 4 * low:
        places = LogLocator(subs=(1, 2, 5) if high < 1e4 * low else (1,))
    axis.set_major_locator(places or MaxNLocator(6))
    axis.set_major_formatter(lambda value, _: number(value))
    axis.set_minor_locator(NullLocator())


def rows(axes: Axes, names: Sequence[str], values: Sequence[Sequence[str]], size: float) -> None:
    """Rows at 0, 1, 2 … from the top: names left of the axes, ``values`` right, in columns."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), names, family="monospace", size=size)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x")
    beside = axes.get_yaxis_transform()
    font = FontProperties(family="monospace", size=SMALL)
    x = 5.0  # each column has its own: SVG shows many blanks as one
    for column in zip_longest(*values, fillvalue=""):
        for y, value in enumerate(column):
            axes.annotate(value, (1, y), (x, 0), beside, "offset points", font=font, va="center")
        x += 72 * max(_width(value, font) for value in column) + 8


def finish(
    figure: Figure,
    caption: Caption,
    column: Sequence[Axes],
    height: float,
    legend: Sequence[tuple[Artist, str]],
) -> Figure:
    """Write the title and the ``legend`` above, the notes below, and lay all out. ``height``: of
    the ``column``, the axes that stand below each other, together."""
    figure.set_size_inches(WIDTH, height + _AROUND)
    FigureCanvasAgg(figure)  # measures texts
    _head(figure, wrapped(caption.title, _ROOM, _TITLE, "bold"), legend)
    notes = "\n".join(wrapped(note, _ROOM, SMALL) for note in caption.notes)
    below = figure.supxlabel(notes, x=_MARGIN / WIDTH, ha="left", fontsize=SMALL)
    ConstrainedLayoutEngine().execute(figure)  # not when it is printed: SVG and PNG are alike
    # Only axes change in height: what is around them stays as high as it was measured.
    edges = sorted(y for axes in column for y in axes.get_position().intervaly)
    parts = np.diff([0, *edges, 1]) * figure.get_figheight()
    parts[1::2] *= height / parts[1::2].sum()
    below.set_y(below.get_position()[1] * figure.get_figheight() / parts.sum())
    figure.set_figheight(parts.sum())
    for axes in figure.axes:
        box = axes.get_position()
        box.intervaly = np.interp(box.intervaly, edges, parts.cumsum()[:-1] / parts.sum())
        axes.set_position(box)
        _thin(axes)
    return figure


def _head(figure: Figure, title: str, legend: Sequence[tuple[Artist, str]]) -> None:
    """The title, and below it the legend's entries beside each other, in as many lines as it
    takes."""
    for columns in range(max(len(legend), 1), 0, -1):
        drawn = figure.legend(
            [artist for artist, _ in legend],
            [plain(words) for _, words in legend],
            loc="outside upper left",
            ncols=columns,
            title=title,
            title_fontproperties={"size": _TITLE, "weight": "bold"},
            alignment="left",
        )
        if drawn.get_window_extent().width <= figure.bbox.width or columns == 1:
            return
        drawn.remove()


def _thin(axes: Axes) -> None:
    """Hide words along the x axis that have no room beside those before; turned ones have it."""
    end = -math.inf
    for label in axes.get_xticklabels():
        box = label.get_window_extent()
        if label.get_rotation() or not axes.bbox.x0 - 1 < (box.x0 + box.x1) / 2 < axes.bbox.x1 + 1:
            continue
        label.set_visible(box.x0 > end)
        end = box.x1 + 5 if label.get_visible() else end


_MOST_LISTED = 10
_LABEL = 24  # columns
_UNIT = 48
# More points than these are a heap, and a large file.
MOST_BOOTS = 5_000
MANY_BOOTS = "too many boots to draw each"


def labels(kernels: Iterable[str]) -> list[str]:
    """Kernels' labels, short enough for a chart; different ones stay different."""
    given = list(kernels)
    cut = shortened(map(units.printable, given), _LABEL)
    return [cut[units.printable(label)] for label in given]


def short(text: str, columns: int = 24) -> str:
    """A stranger's words, short enough for a chart."""
    return units.shorten(text, columns)


def file_part(metric: str) -> str:
    """A metric's name as a part of a file's."""
    return re.sub(r"[^A-Za-z0-9.]+", "-", metric).strip("-.")[:100] or "metric"


def listed(told: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    return units.few(told, _MOST_LISTED, last=", and ")


def origin(kernels: Sequence[Kernel], command: str) -> list[str]:
    """Notes: the kernels' releases, and the workload."""
    named = zip(labels(kernel.label for kernel in kernels), kernels, strict=True)
    told = [f"{label}: {short(one.release or 'release unknown', 32)}" for label, one in named]
    if len(told) > 1:
        told[0] += " (the base)"
    return [listed(told), f"workload: {short(command, 300)}"]


def left_out(*counted: tuple[int, str]) -> list[str]:
    """A note for each of (how many, of what) that is not shown, where there are any."""
    return [f"{count:,} more {what} are not shown" for count, what in counted if count > 0]


def title(result: Result, what: str) -> str:
    """The metric, and ``what`` is shown of it."""
    name, unit = result.metric.name, result.metric.unit
    told = short(name, 30)
    if unit not in ("", name):
        told += f", {_unit(result)}"
    elif result.per_op:
        told += " per op"
    return f"{told}, {what}"


def axis(result: Result) -> str:
    """What stands along the values."""
    return _unit(result)


def _unit(result: Result) -> str:
    unit = short(result.metric.unit or result.metric.name, _UNIT)
    return guest_clock.per_op(unit) if result.per_op else unit


def notes(evidence: Results, results: Sequence[Result], command: str) -> list[str]:
    """Kernels, workload, where the values of one metric come from, and failed runs."""
    failed = [
        f"{label} {count:,}"
        for place, label in enumerate(labels(evidence.labels))
        if (count := sum(result.cells[place].failed for result in results))
    ]
    return [
        *origin(evidence.kernels, command),
        f"{source(results[0])}; {results[0].metric.better} is better",
        *([f"failed runs: {listed(failed)}"] if failed else []),
    ]


def one_boot(result: Result) -> str:
    """What can be said of how boots scatter where each cell has one."""
    if result.deterministic:
        return "one boot of each cell, with exact counts"
    return "one boot of each cell: the spread between boots is not known"
