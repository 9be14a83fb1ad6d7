"""A horizontal bar chart for print: rows with a name, bars, a whisker, and the value in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from profdiff.base.names import shortened
from profdiff.reports.charts.layout import SIZE, Caption, finish, plain, rows, ticks, wrapped

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


def draw(
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
