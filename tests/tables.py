"""Tables of a report's JSON, as tests read them."""

from collections.abc import Mapping
from typing import Any

Cells = Mapping[str, Any]


def tables(document: Mapping[str, Any], section: str) -> list[Mapping[str, Any]]:
    """Those of a section; none where the document has no such section."""
    return [
        table
        for known in document["sections"]
        if known["name"] == section
        for table in known["tables"]
    ]


def rows(table: Mapping[str, Any], *kinds: str) -> list[Cells]:
    """The rows of some kinds (``rows``, ``hidden``, ``sums``) by the names of columns; what kernels
    have is by label."""
    found = []
    for kind in kinds or ("rows", "hidden"):
        for row in table[kind]:
            cells: dict[str, Any] = {}
            for column, cell in zip(table["columns"], row, strict=True):
                if column["kernel"] is None:
                    cells[column["name"]] = cell
                else:
                    cells.setdefault(column["name"], {})[column["kernel"]] = cell
            found.append(cells)
    return found
