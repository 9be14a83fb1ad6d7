"""The scale of an axis: logarithmic or linear, its ends, and ticks as plain numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import MaxNLocator, NullLocator

from profdiff.reports.chart_text import SMALL, mono_width

# Room beyond the outermost values, as a part of the scale.
_ROOM = 0.06
_MOST_DECADES = 6
_LEAST, _MOST_POWER = 1e-300, 305.0


@dataclass(frozen=True)
class Scale:
    """From ``low`` to ``high``; ``ticks`` and what stands at them."""

    log: bool
    low: float
    high: float
    ticks: Sequence[float]
    labels: Sequence[str]

    @staticmethod
    def of(values: Sequence[float], *, log: bool = True) -> "Scale":
        """That holds all ``values``, of which there is one at least. Where not all are above 0 (or
        above what can be divided by), a logarithm has no meaning, and the scale is linear."""
        low, high = min(values), max(values)
        log = log and low >= _LEAST
        if log:
            first, last = math.log10(low), math.log10(high)
            room = max(_ROOM * (last - first), 0.01)
            ends = 10 ** max(first - room, -_MOST_POWER), 10 ** min(last + room, _MOST_POWER)
            ticks = _log_ticks(*ends)
        else:
            room = _ROOM * (high - low) or abs(high) * _ROOM or 1.0
            ends = low - room, high + room
            ticks = _linear_ticks(*ends)
        inside = [tick for tick in ticks if ends[0] <= tick <= ends[1]]
        return Scale(log, *ends, inside, [number(tick) for tick in inside])

    def at(self, value: float) -> float:
        """Where a value lies: 0 at the low end, 1 at the high one."""
        if self.log:
            value, low, high = (math.log10(one) for one in (value, self.low, self.high))
        else:
            low, high = self.low, self.high
        return (value - low) / (high - low)

    def with_ticks(self, values: Sequence[float], names: Sequence[str], inches: float) -> "Scale":
        """With ticks at ``values``, which ascend, but for those that have no room."""
        ticks, labels, end = [], [], -math.inf
        for value, name in zip(values, names, strict=True):
            middle, half = self.at(value) * inches, mono_width(name, SMALL) / 2
            if middle - half >= end:
                ticks.append(value)
                labels.append(name)
                end = middle + half + 0.08
        return Scale(self.log, self.low, self.high, ticks, labels)

    @property
    def room(self) -> float:
        """Inches of the widest label, or a little more."""
        return max((mono_width(label, SMALL) for label in self.labels), default=0.0)

    def apply(self, axes: Axes, which: Literal["x", "y"]) -> None:
        """Give an axis of a figure this scale."""
        kind = "log" if self.log else "linear"
        if which == "x":
            axis: Axis = axes.xaxis
            axes.set_xscale(kind)
            axes.set_xlim(self.low, self.high)
        else:
            axis = axes.yaxis
            axes.set_yscale(kind)
            axes.set_ylim(self.low, self.high)
        axis.set_minor_locator(NullLocator())
        axis.set_ticks(list(self.ticks))
        axis.set_ticklabels(list(self.labels), fontsize=SMALL, parse_math=False)


def number(value: float) -> str:
    """A tick's number in full, as long as that can be read."""
    if value and not 1e-6 <= abs(value) < 1e12:
        return f"{value:.3g}"
    return f"{value:,.12g}"


def _linear_ticks(low: float, high: float) -> list[float]:
    return [float(tick) for tick in MaxNLocator(6).tick_values(low, high)]


def _log_ticks(low: float, high: float) -> list[float]:
    ratio = high / low
    first, last = math.floor(math.log10(low)), min(math.ceil(math.log10(high)), 308)
    if ratio < 2:
        return _linear_ticks(low, high)
    if ratio < 1e4:
        digits = (1, 1.5, 2, 3, 4, 6, 8) if ratio < 10 else (1, 2, 5)
        return [digit * 10.0**power for power in range(first, last) for digit in digits] + [
            10.0**last
        ]
    step = math.ceil((last - first) / _MOST_DECADES)
    return [10.0**power for power in range(first, last + 1, step)]
