"""The rows that forms show of the accesses."""

from collections.abc import Sequence

from profdiff.profile.data.pairing import By
from profdiff.views.types import naming
from profdiff.views.types.records import Row, TypesDocument


def chosen(document: TypesDocument, by: By) -> Sequence[Row]:
    """Those of data by ``by``, then those of the stack and what is unresolved."""
    rest = [row for row in document.fields if row.group != "data"]
    if by == "field":
        return [*(row for row in document.fields if row.group == "data"), *rest]
    return [*(document.types if by == "type" else document.lines), *rest]


def named(row: Row, by: By) -> str:
    """What a row is of."""
    if by == "field" or row.group != "data":
        return row.title
    if by == "line":
        lines = [line for line in row.line.values() if line is not None]
        return naming.of_line(row.kind, row.type, row.symbol, lines[0] if lines else None)
    return naming.title(row.kind, row.type, row.symbol, [])
