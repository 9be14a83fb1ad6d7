"""The one engine of text tables: numbers in columns, names in what is left, and what happens to a
table that is wider than the page."""

from collections.abc import Sequence
from typing import NamedTuple

from profdiff.base import units

# Below this a table has no room for names at all.
MIN_WIDTH = 60
_MIN_NAME = 16


class Column(NamedTuple):
    """Numbers stand right. A ``name`` stands left and is shortened: to a third of the width where
    it begins the line, to what is left where it ends it.

    ``part``: columns of one part stay together; parts that do not fit follow in a table below. A
    column without a part is in each of these tables. ``spare``: how well a reader can do without
    it: where a part does not fit, the columns with the highest number are left out of all tables'
    first, those with 0 never.
    """

    title: str
    name: bool = False
    part: int | None = None
    spare: int = 0


class Block(NamedTuple):
    """The lines of a table: ``head`` (its title and the columns' names), ``body``, and ``tail``, a
    rule and sums, empty where there are none. ``shown``: the titles of its columns."""

    head: list[str]
    body: list[str]
    tail: list[str]
    shown: list[str]

    @property
    def lines(self) -> list[str]:
        """All of them."""
        return [*self.head, *self.body, *self.tail]


def draw(
    title: str,
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    width: int,
    tail: Sequence[Sequence[str]] = (),
) -> list[Block]:
    """The table in blocks of at most ``width`` columns, the title above the first. ``tail``: rows
    below a rule. Cells may be strangers' texts."""
    table = _Table(columns, [[column.title for column in columns], *rows, *tail], width)
    blocks: list[Block] = []
    start = 0
    while not blocks or start < len(table.parts):
        chosen, start = table.fitting(start)
        head, *lines = table.lines(chosen)
        above = units.wrap(units.printable(title), width) if title and not blocks else []
        body, sums = lines[: len(rows)], lines[len(rows) :]
        rule = ["-" * min(width, table.used(chosen) + 12 - _MIN_NAME)] if sums else []
        shown = [columns[index].title for index in chosen]
        blocks.append(Block([*above, head], body, [*rule, *sums], shown))
    return blocks


def joined(blocks: Sequence[Block]) -> list[str]:
    """The lines of blocks, an empty one between them."""
    return [line for n, block in enumerate(blocks) for line in ([""] if n else []) + block.lines]


class _Table:
    def __init__(
        self, columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int
    ) -> None:
        self._columns, self._width = columns, width
        self._cells = [list(map(units.printable, row)) for row in cells]
        by_column = zip(*self._cells, strict=True)
        self._widths = [max(map(units.width, column)) for column in by_column]
        for index, column in enumerate(columns):
            if column.name and index < len(columns) - 1:
                self._widths[index] = min(self._widths[index], max(width // 3, 8))
        if columns[-1].name:
            self._widths[-1] = _MIN_NAME
        self._by_part: dict[int | None, list[int]] = {None: []}
        for index, column in enumerate(columns):
            self._by_part.setdefault(column.part, []).append(index)
        self.parts = [part for part in self._by_part if part is not None]
        self._levels = sorted({column.spare for column in columns}, reverse=True)

    def used(self, chosen: Sequence[int]) -> int:
        """What columns take together, two blanks between them."""
        return sum(self._widths[index] + 2 for index in chosen) - 2

    def fitting(self, start: int) -> tuple[list[int], int]:
        """As many parts from ``start`` on as fit in one table, and of these as many columns: the
        columns' numbers, and the part that comes next."""
        best: tuple[int, list[int]] | None = None
        for level in self._levels:
            chosen, end = self._upto(level, None), start
            while end < len(self.parts):
                more = [*chosen, *self._upto(level, self.parts[end])]
                if self.used(more) > self._width and (end > start or level > self._levels[-1]):
                    break
                chosen, end = more, end + 1
            fits = self.used(chosen) <= self._width or level == self._levels[-1]
            if fits and (best is None or end > best[0]):
                best = end, chosen
            if end == len(self.parts) and best:
                break
        end, chosen = best or (len(self.parts), [])
        return sorted(chosen), end

    def _upto(self, level: int, part: int | None) -> list[int]:
        return [index for index in self._by_part[part] if self._columns[index].spare <= level]

    def lines(self, chosen: Sequence[int]) -> list[str]:
        """A line for each row, of the chosen columns."""
        widths = {index: self._widths[index] for index in chosen}
        if self._columns[chosen[-1]].name:
            widths[chosen[-1]] = max(self._width - self.used(chosen) + _MIN_NAME, 0)
        return [
            "  ".join(self._cell(row[index], index, widths[index]) for index in chosen).rstrip()
            for row in self._cells
        ]

    def _cell(self, text: str, index: int, width: int) -> str:
        if not self._columns[index].name:
            return " " * (width - units.width(text)) + text
        text = units.shorten(text, width)
        return text + " " * (width - units.width(text))
