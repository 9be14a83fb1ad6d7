"""CSV as spreadsheets and programs read it: unrounded, of the whole window."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import get_args

from profdiff.base.terminal import cleaned
from profdiff.shapes.table import Cell, Column, Kind, Table

Line = list[object]


def written(header: Sequence[str], rows: Iterable[Line]) -> str:
    """All of it, a line for each row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return out.getvalue()


def text(value: str) -> str:
    """A stranger's text as a cell: control characters are escaped, and what a spreadsheet would
    take for a formula begins with an apostrophe."""
    value = cleaned(value)
    return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value


# In the order of the columns; names stand first.
_KINDS = get_args(Kind)


def tables(shown: Sequence[Table]) -> str:
    """All rows of tables below each other, with the columns of all of them; what is not known, and
    what a table lacks, is blank. Several names in one cell stand between ``|``. With tables of
    different columns, the first column names the row's. Tables within others are left out."""
    shown = [table for table in shown if not table.within]
    keys = dict.fromkeys(_key(column) for table in shown for column in table.columns)
    order = sorted(keys, key=lambda key: (key[0], _KINDS.index(key[1])))
    several = len({tuple(map(_key, table.columns)) for table in shown}) > 1
    header = ["table"] * several + [
        text(f"{what} {label or ''}".strip()) for *_, what, label in order
    ]
    rows = []
    for table in shown:
        at = {_key(column): number for number, column in enumerate(table.columns)}
        for row in table.all_rows:
            cells = [_text(row[at[key]]) if key in at else "" for key in order]
            rows.append([table.name] * several + cells)
    return written(header, rows)


_Key = tuple[int, str, str, str | None]


def _key(column: Column) -> _Key:
    """What stands first, what it is, and of which kernel: names, counts, differences, details."""
    group = 0 if column.kernel is None else {"count": 1, "detail": 3}.get(column.kind, 2)
    return (
        group,
        column.kind,
        column.title or column.name,
        column.kernel,
    )


def _text(cell: Cell) -> object:
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, list):
        return text("|".join(map(str, cell)))
    return "" if cell is None else text(cell) if isinstance(cell, str) else cell
