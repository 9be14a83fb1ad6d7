"""Text in figures: fonts, sizes in points, and strangers' words shown as they are.

Nothing in a text is taken for mathematics, and what the font lacks is shown as its escape.
"""

from collections.abc import Sequence
from functools import cache

from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findfont, get_font

from profdiff.base import units

WIDTH = 7.2  # inches: A4 and Letter with margins
SIZE, SMALL, TITLE_SIZE = 8.0, 7.0, 10.0
LINE = SIZE * 1.3 / 72  # inches
SANS, MONO = "DejaVu Sans", "DejaVu Sans Mono"  # come with matplotlib
FONTS = {"font.family": "sans-serif", "font.sans-serif": [SANS], "font.monospace": [MONO]}
_ADVANCE = 0.602  # em, of all glyphs of the monospaced font
_FOOT = 118  # columns of a line below


def text_at(
    figure: Figure, x: float, y: float, text: str, *, size: float, columns: int, weight: str = ""
) -> None:
    """``x`` and ``y``: inches of the left upper corner."""
    width, height = figure.get_size_inches()
    figure.text(
        x / width,
        y / height,
        shown(text, columns, weight=weight or "normal"),
        fontsize=size,
        weight=weight or "normal",
        va="top",
        parse_math=False,
    )


def title_and_notes(figure: Figure, title: str, notes: Sequence[str]) -> None:
    """What stands above and below every figure."""
    height = figure.get_size_inches()[1]
    text_at(figure, 0.08, height - 0.1, title, size=TITLE_SIZE, weight="bold", columns=82)
    for number, note in enumerate(notes):
        y = (len(notes) - number) * LINE + 0.06
        text_at(figure, 0.08, y, note, size=SMALL, columns=_FOOT)


def shown(text: str, columns: int, *, family: str = SANS, weight: str = "normal") -> str:
    """``text`` as the font can show it, at most so many columns."""
    known = _characters(family, weight)
    escaped = (c if ord(c) in known else f"\\u{{{ord(c):x}}}" for c in units.printable(text))
    return units.shorten("".join(escaped), columns)


@cache
def _characters(family: str, weight: str) -> frozenset[int]:
    font = get_font(findfont(FontProperties(family=family, weight=weight)))
    return frozenset(font.get_charmap())


def mono_width(text: str, size: float = SIZE) -> float:
    """Inches of a text in the monospaced font."""
    return len(text) * _ADVANCE * size / 72
