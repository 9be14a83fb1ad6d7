"""What of long tables readers see."""

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from profdiff.shapes.table import Cell, Column, Note, Section, Table

_Row = list[Cell]


def selected(section: Section, top: int | None, min_delta: int = 0) -> Section:
    """The first ``top`` rows of tables that have such a limit, None for all, of those whose counts
    differ by so much; and what belongs to them."""
    kept: dict[str, set[int]] = {}
    tables = []
    for table in section.tables:
        if table.within:
            number, seen = table.index("row"), kept.get(table.within, set())
            rows = [row for row in table.rows if row[number] in seen]
            tables.append(_limited(replace(table, rows=rows), rows, top, 0))
            continue
        wanted, small = [], 0
        for number, row in enumerate(table.rows):
            if not table.measures or _differs(table, row) >= min_delta:
                is_small = table.least and _is_small(table, row)
                wanted += [] if is_small else [number]
                small += bool(is_small)
        if table.limit:
            wanted = wanted[:top]
        kept[table.name] = set(wanted)
        tables.append(_limited(table, [table.rows[number] for number in wanted], None, small))
    return replace(section, tables=tables)


def with_sum(table: Table) -> Table:
    """A table with the sum of all its rows and of their differences, for conditions."""
    return replace(table, sums=[_sum(table, table.all_rows, "all", differences=True)])


def _limited(table: Table, rows: list[_Row], top: int | None, small: int) -> Table:
    """The table with the first of some rows, and a sum of its others."""
    shown = rows[: table.most if table.most is not None else top if table.limit else None]
    sums, legend = table.sums, table.legend
    hidden = len(table.rows) - len(shown)
    if table.limit in ("rest", "sum") and hidden:
        seen = {id(row) for row in shown}
        others = [row for row in table.rows if id(row) not in seen]
        more = _sum(table, others, f"{hidden:,} not shown", differences=table.limit == "sum")
        sums = [more, *sums]
    if small:
        have = "1 row has" if small == 1 else f"{small:,} rows have"
        what = " and ".join(table.measures)
        text = f"{have} less than {table.least} {what} per op: --absolute."
        legend = [*legend, Note(text=text)]
    return replace(table, rows=shown, sums=sums, legend=legend)


def _of(table: Table, row: Sequence[Cell], figure: str) -> list[float]:
    return [cast("float", row[table.index(figure, kernel)]) for kernel in table.kernels]


def _differs(table: Table, row: Sequence[Cell]) -> float:
    """By how much a count differs on some kernel."""
    every = (_of(table, row, figure) for figure in table.measures)
    return max((abs(one - counts[0]) for counts in every for one in counts), default=0)


def _is_small(table: Table, row: Sequence[Cell]) -> bool:
    """Whether a row has hardly anything of an operation on any kernel."""
    return table.ops is not None and all(
        count < table.least * (table.ops_of(kernel) or 0)
        for figure in table.measures
        for kernel, count in zip(table.kernels, _of(table, row, figure), strict=True)
    )


def _sum(table: Table, rows: Sequence[_Row], title: str, *, differences: bool) -> _Row:
    """The counts of some rows, and maybe the differences; their first name says what they are."""
    name = next(column for column in table.columns if column.kind == "name")
    total = {
        number: sum(cast("int", row[number]) for row in rows)
        for number, column in enumerate(table.columns)
        if column.kind == "count"
    }

    def cell(number: int, column: Column) -> Cell:
        if column.kind in ("delta", "bound") and differences:
            figure = column.of or column.name.rpartition("_")[0]
            pair = (table.kernels[0], column.kernel)
            base, other = (total[table.index(figure, kernel)] for kernel in pair)
            if not table.ops:
                return other - base
            first, second = (table.ops_of(kernel) or 1 for kernel in pair)
            return other / second - base / first
        return title if column is name else total.get(number, "")

    return [cell(number, column) for number, column in enumerate(table.columns)]
