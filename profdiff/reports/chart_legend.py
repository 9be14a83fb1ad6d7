"""The legend of a chart: entries beside each other under the title, in as many lines as it takes.

Sizes are inches.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.artist import Artist
from matplotlib.figure import Figure

from profdiff.reports.chart_text import LINE, SIZE, WIDTH, mono_width, shown

_HANDLE = 0.55  # with the gaps beside it
_LABEL = 48


@dataclass(frozen=True)
class Legend:
    """``entries``: what is drawn, and its words."""

    entries: Sequence[tuple[Artist, str]]

    @property
    def columns(self) -> int:
        """Entries in a line."""
        widest = max(mono_width(words[:_LABEL]) for _, words in self.entries) + _HANDLE
        return max(min(int((WIDTH - 0.16) / widest), len(self.entries)), 1)

    @property
    def height(self) -> float:
        """Of all lines."""
        return math.ceil(len(self.entries) / self.columns) * (LINE + 0.03)

    def draw(self, figure: Figure) -> None:
        """Under the title."""
        height = figure.get_size_inches()[1]
        drawn = figure.legend(
            handles=[artist for artist, _ in self.entries],
            labels=[shown(words, _LABEL) for _, words in self.entries],
            loc="upper left",
            bbox_to_anchor=(0.08 / WIDTH, (height - 0.3) / height),
            borderaxespad=0,
            borderpad=0,
            frameon=False,
            fontsize=SIZE,
            ncols=self.columns,
            handlelength=3.2,
        )
        for text in drawn.get_texts():
            text.set_parse_math(False)
