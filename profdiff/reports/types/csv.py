"""The accesses as CSV: a row for each field, type or line, unrounded."""

from collections.abc import Iterator

from profdiff.forms.csv import Line, text, written
from profdiff.profile.data.pairing import By
from profdiff.reports.types.rows import chosen
from profdiff.views.types.records import Row, TypesDocument

_NAMES = ("access", "group", "kind", "type", "symbol", "field", "also", "alternatives", "reason")
_CHANGES = ("delta", "low", "high", "verdict", "causes")


def render(document: TypesDocument, by: By) -> str:
    """All rows. A delta is blank where it is unsure; ``low`` and ``high`` are there always. Several
    names in one cell stand between ``|``."""
    labels = document.labels
    header = [*_NAMES]
    header += [f"{name} {label}" for name in ("line", "offset", "count") for label in labels]
    header += [f"{name} {label}" for label in labels[1:] for name in _CHANGES]
    header += ["function", "within"]
    return written(header, _rows(document, by))


def _rows(document: TypesDocument, by: By) -> Iterator[Line]:
    for row in chosen(document, by):
        yield [
            row.access,
            row.group,
            row.kind,
            *map(text, (row.type, row.symbol, row.field)),
            text("|".join(row.also)),
            text("|".join(row.alternatives)),
            row.reason,
            *("" if line is None else line for line in row.line.values()),
            *("" if offset is None else offset for offset in row.offset.values()),
            *row.counts.values(),
            *_changes(row),
            *_function(row),
        ]


def _changes(row: Row) -> Iterator[object]:
    for one in row.changes.values():
        yield "" if one.delta is None else one.delta
        yield from (one.interval.low, one.interval.high, one.verdict, "|".join(one.causes))


def _function(row: Row) -> Line:
    if not row.functions:
        return ["", ""]
    first = row.functions[0]
    return [text(first.name), text("|".join(first.within))]
