"""Shapes as text, for a terminal and for a mail."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from msgspec import structs

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Block, draw
from profdiff.forms.columns import Column as Drawn
from profdiff.forms.numbers import Numbers
from profdiff.shapes.table import Cell, Section, Table

# Of the longest bar, and what of a path fits into a line: its end says most of why.
_BAR, _PATH = 20, 3
_UNKNOWN = "?"
# Verdicts that say that a difference is one.
_SURE = ("exact", "changed")


class _Shown(NamedTuple):
    """A column of the text: the number of a table's column, and what of it is shown."""

    column: int
    what: str


def render(
    section: Section, *, width: int, per_op: bool | None = None, ratios: bool = False
) -> str:
    """A section alone, at most ``width`` columns wide (from ``MIN_WIDTH``). ``per_op``: None means
    where ops are known; ``ratios``: changes as how many times the base."""
    width = max(width, MIN_WIDTH)
    parts = [*section.sentences, *blocks(section.tables, width, per_op, ratios)]
    parts += [" ".join(section.notes)] if section.notes else []
    return "\n".join(line.rstrip() for line in lines(parts, width)) + "\n"


def lines(parts: Sequence[Block | str], width: int) -> list[str]:
    """Blocks and paragraphs, an empty line between them."""
    return [
        line
        for number, part in enumerate(parts)
        for line in [
            *([""] if number else []),
            *(units.wrap(part, width) if isinstance(part, str) else part.lines),
        ]
    ]


def blocks(
    tables: Sequence[Table], width: int, per_op: bool | None = None, ratios: bool = False
) -> list[Block | str]:
    """Tables, each with its notes; those without a row have notes alone."""
    parts: list[Block | str] = []
    for table in tables:
        numbers = Numbers(table.ops if per_op is not False else None, ratios)
        if table.rows:
            parts += [*_drawn(table, numbers, width), *table.notes]
        else:
            parts += [f"{table.title}: {note}" for note in table.notes]
    return parts


def changed(table: Table, kernel: str, title: str, most: int, width: int) -> list[Block]:
    """The rows that are certain to differ on a kernel, at most so many, the largest first: how
    often on the base and on it, for a mail."""
    base, delta = table.kernels[0], table.index("delta", kernel)
    verdict = table.index("verdict", kernel)
    sure = [row for row in table.rows if row[delta] and row[verdict] in _SURE]
    name = next(number for number, column in enumerate(table.columns) if column.kind == "name")
    chosen = [table.index("count", base), table.index("count", kernel), delta, name]
    part = structs.replace(
        table,
        title=title,
        kernels=[base, kernel],
        columns=[table.columns[number] for number in chosen],
        rows=[
            [row[number] for number in chosen]
            for row in sorted(sure, key=lambda row: -abs(_number(row[delta])))[:most]
        ],
    )
    return _drawn(part, Numbers(table.ops), width, end=":")


def _drawn(table: Table, numbers: Numbers, width: int, end: str = "") -> list[Block]:
    shown = list(_shown(table))
    columns = [_column(table, one, numbers) for one in shown]
    most = max((n for row in table.rows for n in _counts(table, row)), default=0)
    body, sums = (
        [[_cell(table, row, one, numbers, most if bars else 0) for one in shown] for row in rows]
        for rows, bars in ((table.rows, True), (table.sums, False))
    )
    title = f"{table.title}{numbers.title}{end}" if table.title else ""
    if table.bars:  # which end where the sums begin
        return draw(title, columns, [*body, *sums], width)
    return draw(title, columns, body, width, sums)


def _shown(table: Table) -> Iterator[_Shown]:
    for number, column in enumerate(table.columns):
        if column.kind == "delta":
            yield from (_Shown(number, what) for what in column.shows)
        elif column.kind not in ("bound", "detail"):
            yield _Shown(number, column.kind)
    if table.bars == "everywhere":
        for number, column in enumerate(table.columns):
            if column.kind == "count":
                yield _Shown(number, "bar")


def _column(table: Table, shown: _Shown, numbers: Numbers) -> Drawn:
    column, what = table.columns[shown.column], shown.what
    label = column.kernel
    if label is None:
        return Drawn(column.title, name=what in ("name", "path"), spare=column.spare)
    if what == "bar":
        return Drawn(label, name=True)
    title = {"delta": "delta", "change": numbers.relative}.get(what, column.title)
    kernel = table.kernels.index(label)
    if not table.by_kernel:
        part = None if table.bars == "everywhere" else kernel
        return Drawn(f"{title} {label}".strip(), part=part, spare=column.spare)
    if what == "count":
        title = label
    several = len(table.kernels) > 2
    spare = {"delta": 1 if several else 0, "change": 2}.get(what, column.spare)
    part = kernel - 1 if several and kernel else None
    return Drawn(title, name=what == "verdict", part=part, spare=spare)


def _cell(table: Table, row: Sequence[Cell], shown: _Shown, numbers: Numbers, most: int) -> str:
    column, cell = table.columns[shown.column], row[shown.column]
    match shown.what:
        case "bar":
            return "#" * -(-_BAR * _number(cell) // most) if most else ""
        case "path":
            functions = cast("list[str]", cell)
            return " > ".join(functions[-_PATH:]) or "(not known)"
        case "change":
            base = row[table.index(column.of, table.kernels[0])]
            other = row[table.index(column.of, column.kernel)]
            unknown = base is None or other is None
            return _UNKNOWN if unknown else numbers.change(_number(base), _number(other))
        case "verdict":
            return "not known" if cell is None else str(cell)
        case "number":
            return f"{cell:,}"
        case "count" | "delta" if cell is None:
            return _UNKNOWN
        case "count":
            return numbers.count(_number(cell))
        case "delta":
            return numbers.delta(_number(cell))
        case _:
            return str(cell)


def _counts(table: Table, row: Sequence[Cell]) -> Iterator[int]:
    pairs = zip(table.columns, row, strict=True)
    return (_number(cell) for column, cell in pairs if column.kind == "count")


def _number(cell: Cell) -> int:
    return cast("int", cell)
