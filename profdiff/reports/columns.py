"""Lines of a table: numbers in columns as wide as they need, then a name in what is left."""

from collections.abc import Sequence

from profdiff.base import units

Line = tuple[Sequence[str], str]
MIN_NAME = 16
# Below this a table has no room for names at all.
MIN_WIDTH = 60


class Columns:
    """``header``, ``body`` and ``tail``: cells and the name behind them; at most ``width`` columns.

    ``fits``: whether there is room for names of ``MIN_NAME`` columns.
    """

    def __init__(
        self, header: Line, body: Sequence[Line], tail: Sequence[Line], width: int
    ) -> None:
        self._header, self._body, self._tail, self._width = header, body, tail, width
        cells = [cells for cells, _ in (header, *body, *tail)]
        self._widths = [max(map(units.width, column)) for column in zip(*cells, strict=True)]
        self._room = width - sum(self._widths) - 2 * len(self._widths)
        self.fits = self._room >= MIN_NAME

    def lines(self) -> list[str]:
        """The table, with a rule above the tail."""
        rule = "-" * min(self._width, self._width - self._room + 12)
        body = [self._line(*line) for line in self._body]
        tail = [self._line(*line) for line in self._tail]
        return [self._line(*self._header), *body, rule, *tail]

    def _line(self, cells: Sequence[str], name: str) -> str:
        padded = [
            " " * (width - units.width(cell)) + cell
            for cell, width in zip(cells, self._widths, strict=True)
        ]
        return "  ".join([*padded, units.shorten(name, max(self._room, 0))])
