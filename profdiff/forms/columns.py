"""The one engine of text tables: numbers in columns, names in what is left, and what happens to a
table that is wider than the page."""

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from profdiff.base import names, units

# Below this a table has no room for names at all.
MIN_WIDTH = 60
# What names and titles of columns keep where nothing else can give way.
_MIN_NAME, _MIN_TITLE = 16, 14
# How much a title may take from other columns, kernels' labels too.
_TITLE = 24


class Column(NamedTuple):
    """Numbers stand right and are never cut. A ``name`` stands left; where names are longer than
    half of the width, or nothing else can give way, they are cut, so that no two look alike.

    ``part``: columns of one part stay together; parts that do not fit follow in a table below. A
    column without a part is in each of these tables. ``spare``: how well a reader can do without
    it: where a part does not fit, the columns with the highest number are left out of all tables'
    first, those with 0 never. ``group``: what stands above the titles of the columns beside each
    other that have it, "" for nothing.
    """

    title: str
    name: bool = False
    part: int | None = None
    spare: int = 0
    group: str = ""


class Block(NamedTuple):
    """The lines of a table: ``head`` (its title and the columns' names), ``body``, and ``tail``, a
    rule and sums, empty where there are none. ``shown``: the titles of its columns; ``left_out``:
    of the whole table's, those for which it has no room, with its last block."""

    head: list[str]
    body: list[str]
    tail: list[str]
    shown: list[str]
    left_out: Sequence[str] = ()

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
    table = _Table(columns, rows, tail, width)
    blocks: list[Block] = []
    start = 0
    while not blocks or start < len(table.parts):
        chosen, start = table.fitting(start)
        head, *lines = table.lines(chosen)
        above = units.wrap(units.printable(title), width) if title and not blocks else []
        above += table.groups(chosen)
        body, sums = lines[: len(rows)], lines[len(rows) :]
        rule = ["-" * min(width, table.numbers(chosen) + 12)] if sums else []
        shown = [columns[index].title for index in chosen]
        blocks.append(Block([*above, head], body, [*rule, *sums], shown))
    seen = {title for block in blocks for title in block.shown}
    left_out = [column.title for column in columns if column.title not in seen]
    return [*blocks[:-1], blocks[-1]._replace(left_out=left_out)]


def fitted(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    tail: Sequence[Sequence[str]],
    width: int,
) -> Sequence[Sequence[str]]:
    """``rows`` with names so short that no column must be left out, where that can be: the last two
    are data and its function."""
    every = [[column.title for column in columns], *rows, *tail]
    widths = [max(map(units.width, column)) for column in zip(*every, strict=True)]
    room = width - sum(widths[:-2]) - 2 * (len(widths) - 1)
    if sum(widths[-2:]) <= room:
        return rows
    function = min(max(_MIN_NAME, width // 4), widths[-1])
    data = max(_MIN_NAME, room - function)
    cut = [
        names.shortened([row[at] for row in rows], room)
        for at, room in ((-2, data), (-1, function))
    ]
    return [[*row[:-2], cut[0][row[-2]], cut[1][row[-1]]] for row in rows]


def with_room(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    tail: Sequence[Sequence[str]],
    least: int,
    width: int,
) -> tuple[Sequence[Column], Sequence[Sequence[str]], Sequence[Sequence[str]]]:
    """The same without the columns that the two names at the end need: they keep ``least`` of the
    width, and are cut to what is left. Where there are parts, these follow each other instead."""
    every = [[column.title for column in columns], *rows, *tail]
    widths = [max(map(units.width, column)) + 2 for column in zip(*every, strict=True)]
    left = list(range(len(columns)))
    if all(column.part is None for column in columns):
        for level in (3, 2, 1, 0):
            if sum(widths[at] for at in left[:-2]) + min(sum(widths[-2:]), least) > width:
                left = [at for at in left if columns[at].spare <= level]
    columns = [columns[at] for at in left]
    shown, below = ([[row[at] for at in left] for row in some] for some in (rows, tail))
    return columns, fitted(columns, shown, below, width), below


def joined(blocks: Sequence[Block]) -> list[str]:
    """The lines of blocks, an empty one between them."""
    return [line for n, block in enumerate(blocks) for line in ([""] if n else []) + block.lines]


class _Table:
    def __init__(
        self,
        columns: Sequence[Column],
        rows: Sequence[Sequence[str]],
        tail: Sequence[Sequence[str]],
        width: int,
    ) -> None:
        self._columns, self._width = columns, width
        cells = [[column.title for column in columns], *rows, *tail]
        self._cells = [list(map(units.printable, row)) for row in cells]
        self._widths = [max(map(units.width, column)) for column in zip(*self._cells, strict=True)]
        self._by_part: dict[int | None, list[int]] = {None: []}
        for index, column in enumerate(columns):
            self._by_part.setdefault(column.part, []).append(index)
        self.parts = [part for part in self._by_part if part is not None]
        self._levels = sorted({column.spare for column in columns}, reverse=True)
        for index, column in enumerate(columns):
            if not column.name:
                title = min(self._widths[index], max(_TITLE, width // 5))
                self._widths[index] = max(title, self._least(index))
            else:
                # What stands below the rule can be cut: it explains itself.
                above = [units.width(row[index]) for row in self._cells[: len(rows) + 1]]
                least = _MIN_NAME if index == len(columns) - 1 else 0
                self._widths[index] = max(min(max(above), self._room(index)), least)

    def _room(self, name: int) -> int:
        """For names: half of the width; where they begin the line, all that the widest part of the
        table leaves."""
        half = self._width // 2
        if name == len(self._columns) - 1:
            return half
        parts = [self.numbers(self._upto(self._levels[-1], part)) for part in self.parts]
        return max(half, self._width - max(parts, default=0))

    def numbers(self, chosen: Sequence[int]) -> int:
        """What all columns but names take, with two blanks behind each."""
        return sum(self._widths[index] + 2 for index in chosen if not self._columns[index].name)

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
        widths = self._fitted(chosen)
        columns = [self._column(index, widths[index]) for index in chosen]
        return ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]

    def groups(self, chosen: Sequence[int]) -> list[str]:
        """A line that names the groups of the chosen columns; none where there are none."""
        widths, cells = self._fitted(chosen), []
        for group, members in groupby(chosen, key=lambda index: self._columns[index].group):
            span = sum(widths[index] + 2 for index in members) - 2
            name = units.shorten(units.printable(group), span - 2)
            cells.append(_centred(f" {name} ", span) if group else " " * span)
        return ["  ".join(cells).rstrip()] if any(cell.strip() for cell in cells) else []

    def _fitted(self, chosen: Sequence[int]) -> dict[int, int]:
        """The widths of columns: titles, groups and then a name at the end have what is left; where
        the whole is too wide, titles are cut, and then names."""
        widths = {index: self._widths[index] for index in chosen}
        excess = self.used(chosen) - self._width
        for index in chosen:
            if not self._columns[index].name:
                more = min(max(-excess, 0), max(self._title(index) - widths[index], 0))
                widths[index] += more
                excess += more
        for group, members in groupby(chosen, key=lambda index: self._columns[index].group):
            # A name above few columns has room between its rules.
            *others, end = members
            span = sum(widths[index] + 2 for index in others) + widths[end]
            wanted = units.width(units.printable(group)) + 2 - span if group else 0
            more = min(max(-excess, 0), max(wanted, 0))
            widths[end] += more
            excess += more
        last = chosen[-1]
        if excess < 0 and self._columns[last].name:
            widths[last] -= excess
        wide = [index for index in chosen if self._columns[index].name]
        for index, least in [
            *((index, self._least(index)) for index in chosen if index not in wide),
            *((index, _MIN_NAME) for index in wide),
            *((index, 0) for index in reversed(wide)),
        ]:
            cut = min(max(excess, 0), max(widths[index] - least, 0))
            widths[index] -= cut
            excess -= cut
        return widths

    def _title(self, index: int) -> int:
        return units.width(self._cells[0][index])

    def _least(self, index: int) -> int:
        """What a column of numbers cannot do without."""
        title, *values = (units.width(row[index]) for row in self._cells)
        return max([min(title, _MIN_TITLE), *values])

    def _column(self, index: int, width: int) -> list[str]:
        cells = [row[index] for row in self._cells]
        if self._columns[index].name:
            cut = names.shortened(cells, width)
            return [cut[cell] + " " * (width - units.width(cut[cell])) for cell in cells]
        cells[0] = names.shortened(self._cells[0], width)[cells[0]]
        return [" " * (width - units.width(cell)) + cell for cell in cells]


def _centred(name: str, span: int) -> str:
    """A name between rules."""
    left = max(span - units.width(name), 0) // 2
    return "-" * left + name + "-" * max(span - units.width(name) - left, 0)
