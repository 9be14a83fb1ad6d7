"""Shapes as text, for a terminal and for a mail."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from msgspec import structs

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Block, draw, with_room
from profdiff.forms.columns import Column as Drawn
from profdiff.forms.numbers import Numbers
from profdiff.shapes.table import ABOUT, CUT, UNKNOWN, Cell, Section, Table

# Of the longest bar, and what of a path fits into a line: its end says most of why.
_BAR, _PATH = 20, 3
# What is suggested where a table has no room for its columns.
_WIDTHS = (80, 100, 120, 140, 160, 200)
# Verdicts that say that a difference is one.
_SURE = ("exact", "changed")


Texts = Sequence[Sequence[str]]


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
    first = " ".join([*legend(section.tables), *section.notes[:1]])
    parts += [first] * bool(first) + section.notes[1:]
    return "\n".join(line.rstrip() for line in lines(parts, width)) + "\n"


def legend(tables: Sequence[Table]) -> list[str]:
    """What explains the signs and words that are in the rows of tables."""
    seen: dict[str, bool] = {}
    for table in tables:
        there = signs(table)
        for note in table.legend:
            is_there = not note.sign or note.sign in there
            seen[note.text] = is_there or seen.get(note.text, False)
    return [note for note, is_there in seen.items() if is_there]


def signs(table: Table) -> set[str]:
    """What differences begin with, words, and what stands between names."""
    shown = [one for one in _shown(table) if one.what in ("about", "word", "name")]
    numbers = Numbers()
    cells = {
        (one.what, _cell(table, row, one, numbers, 0))
        for row in (*table.rows, *table.sums)
        for one in shown
    }
    named = {part for what, text in cells if what == "name" for part in text.split()}
    return named | {text[:1] if what == "about" else text for what, text in cells}


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
        if per_op is False:
            table = structs.replace(table, ops=None)
        numbers = Numbers(ratios=ratios)
        if table.rows or table.sums:
            parts += [*_drawn(table, numbers, width), *table.notes]
        else:
            parts += [f"{table.title}: {note}" for note in table.notes]
    return parts


def changed(table: Table, kernel: str, title: str, most: int, width: int) -> list[Block]:
    """The rows that are certain to differ on a kernel, at most so many, the largest first: how
    often on the base and on it, for a mail; nothing where none does."""
    base, delta = table.kernels[0], table.index("delta", kernel)
    verdict = table.index("verdict", kernel)
    sure = [row for row in table.rows if row[delta] and row[verdict] in _SURE]
    if not sure:
        return []
    name = next(number for number, column in enumerate(table.columns) if column.kind == "name")
    chosen = [table.index("count", base), table.index("count", kernel), delta, name]
    part = structs.replace(
        table,
        kernels=[base, kernel],
        columns=[table.columns[number] for number in chosen],
        rows=[
            [row[number] for number in chosen]
            for row in sorted(sure, key=lambda row: -abs(_number(row[delta])))[:most]
        ],
    )
    # Of how many ops, a mail says once.
    each = " per op" if table.ops else ""
    return drawn(part, f"{title}{each}{table.remark}:", width)


def drawn(table: Table, title: str, width: int) -> list[Block]:
    """A table alone, with a title of its own."""
    return _drawn(table, Numbers(), width, title)


def with_legend(
    table: Table, width: int, per_op: bool | None, ratios: bool, *, advise: bool = False
) -> list[Block]:
    """A table alone, and below it what explains its cells. ``advise``: also the columns for which
    there is no room, and a width with room."""
    numbers = Numbers(ratios=ratios)
    if per_op is False:
        table = structs.replace(table, ops=None)
    parts = _drawn(table, numbers, width)
    tail = parts[-1].tail
    if advise and (left_out := parts[-1].left_out):
        wider = (one for one in _WIDTHS if one > width)
        enough = (one for one in wider if not _drawn(table, numbers, one)[-1].left_out)
        told = f"{units.listed(map(units.printable, dict.fromkeys(left_out)))} hidden"
        if found := next(enough, None):
            told += f"; --width {found} shows {'it' if len(set(left_out)) == 1 else 'them'}"
        tail.extend(units.wrap(told, width))
    titles = [title for part in parts for title in part.shown]
    notes = [
        note.text
        for note in table.legend
        if not note.sign or any(title.startswith(note.sign) for title in titles)
    ]
    tail.extend(units.wrap("; ".join(notes), width) if notes else [])
    return parts


def texts(table: Table, numbers: Numbers) -> tuple[Sequence[Drawn], Texts, Texts]:
    """Its columns that readers see; the cells of rows, and of sums."""
    shown = list(_shown(table))
    most = max((n for row in table.rows for n in _counts(table, row)), default=0)
    body, sums = (
        [[_cell(table, row, one, numbers, most if bars else 0) for one in shown] for row in rows]
        for rows, bars in ((table.rows, True), (table.sums, False))
    )
    return [_column(table, one, numbers) for one in shown], body, sums


def _drawn(table: Table, numbers: Numbers, width: int, title: str = "") -> list[Block]:
    columns, body, sums = texts(table, numbers)
    title = title or heading(table)
    if table.names:
        columns, body, sums = with_room(columns, body, sums, table.names, width)
    if table.bars:  # which end where the sums begin
        return draw(title, columns, [*body, *sums], width)
    return draw(title, columns, body, width, sums)


def heading(table: Table) -> str:
    """Its title with the unit; "" where it has none."""
    return f"{table.title}{_unit(table)}" if table.title else ""


def _unit(table: Table) -> str:
    """What stands behind a title."""
    every = table.ops if isinstance(table.ops, list) else [table.ops] if table.ops else []
    ops = " and ".join(dict.fromkeys(f"{one:,}" for one in every))
    return f" per op ({ops} ops){table.remark}" if ops else table.remark


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
    if column.kind == "name":
        return Drawn(column.title, name=True)
    several, kernel = len(table.kernels) > 2, table.kernels.index(label)
    # Where nothing is compared, the base is one of several; so it is where each is compared with a
    # base of its own.
    compared = {one.kernel for one in table.columns if one.kind == "delta"}
    apart = table.kernels[0] in compared
    part = (kernel - 1 if kernel else None) if compared and not apart else kernel
    several = several or apart
    if table.grouped:
        of = table.columns[table.index(column.of or column.name, label)]
        title = {"about": "delta", "change": numbers.relative}.get(
            what, column.title if apart else label
        )
        return Drawn(title, part=part if several else None, spare=column.spare, group=of.title)
    if what == "bar":
        return Drawn(label, name=True)
    title = column.title
    if what == "change" and title.startswith(("change", "delta")):
        title = numbers.relative + title.removeprefix("change").removeprefix("delta")
    if not table.by_kernel:
        part = None if table.bars == "everywhere" else kernel
        return Drawn(f"{title} {label}".strip(), part=part, spare=column.spare)
    if what in ("count", "range"):
        title = label
    between = 1 if several else 0
    spare = column.spare
    if column.kind == "delta" and column.shows != ["change"]:
        spare = 2 if what == "change" else spare or between
    return Drawn(title, name=what == "verdict", part=part if several else None, spare=spare)


def _cell(table: Table, row: Sequence[Cell], shown: _Shown, numbers: Numbers, most: int) -> str:
    column, cell = table.columns[shown.column], row[shown.column]
    numbers = structs.replace(numbers, ops=table.ops_of(column.kernel))
    if isinstance(cell, str):
        return cell
    match shown.what:
        case "bar":
            return "#" * -(-_BAR * _number(cell) // most) if most else ""
        case "path":
            functions = cast("list[str]", cell)
            told = functions if functions[:1] == [CUT] else functions[-_PATH:]
            return " > ".join(told) or "(not known)"
        case "change" if unmatched := table.unmatched(row, column.kernel):
            return unmatched
        case "change":
            other = row[table.index(column.of, column.kernel)]
            if cell is None or other is None:
                return UNKNOWN
            return numbers.change(_number(other) - _number(cell), _number(other))
        case "range":
            low, high = row[table.index(column.of, column.kernel)], cell
            ends = (numbers.count(_number(one)) for one in (low, high))
            return " to ".join(dict.fromkeys(ends))
        case "share":
            return "-" if cell is None else units.share(_number(cell), 1, column.digits)
        case "about" if cell is not None:
            prefix = f"{column.of}_" if table.grouped else ""
            low, high = (
                _number(row[table.index(f"{prefix}{end}", column.kernel)])
                for end in ("low", "high")
            )
            sign = ABOUT if low < high else ""
            if isinstance(table.ops, list):
                return sign + units.delta(_number(cell), per_op=True)
            return sign + numbers.delta(_number(cell))
        case "verdict" if cell is None:
            return "not known"
        case "number" if cell is None:
            return "-"
        case "number":
            form = units.delta if column.shows else units.count
            return form(_number(cell), per_op=isinstance(cell, float))
        case "count" | "delta" | "about" if cell is None:
            return UNKNOWN
        case "count":
            return numbers.count(_number(cell))
        case "delta":
            return numbers.delta(_number(cell))
        case _:
            return str(cell)


def _counts(table: Table, row: Sequence[Cell]) -> Iterator[int]:
    pairs = zip(table.columns, row, strict=True)
    return (_number(cell) for column, cell in pairs if column.kind == "count" and cell)


def _number(cell: Cell) -> int:
    return cast("int", cell)
