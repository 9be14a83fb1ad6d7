"""The layout of a recording as CSV: a row for each thing and kernel that has it."""

from collections.abc import Iterator

from profdiff.forms.csv import text, written
from profdiff.views.recorded_layout.records import RecordedLayout

_HEADER = (
    "kind",
    "name",
    "of",
    "kernel",
    "change",
    "count",
    "bit_offset",
    "bit_size",
    "line",
    "last_line",
    "section",
    "at",
    "size",
    "lines",
)


def render(document: RecordedLayout) -> str:
    """Types, fields, variables and neighbours, those that did not change too."""
    return written(_HEADER, ([row.get(name, "") for name in _HEADER] for row in _rows(document)))


def _rows(document: RecordedLayout) -> Iterator[dict[str, object]]:
    for one in document.types:
        for label, size in one.sizes.items():
            row = {"kind": "type", "name": text(one.name), "kernel": text(label)}
            if size is not None:
                count = sum(field.counts[label] for field in one.fields) + one.elsewhere[label]
                yield {**row, "count": count, "size": size, "lines": one.lines[label]}
        for field in one.fields:
            for label, span in field.places.items():
                if span is not None:
                    yield {
                        "kind": "field",
                        "name": text(field.name),
                        "of": text(one.name),
                        "kernel": text(label),
                        "change": field.changes.get(label, ""),
                        "count": field.counts[label],
                        "bit_offset": span.bit_offset,
                        "bit_size": span.bit_size,
                        "line": span.line,
                        "last_line": span.last_line,
                    }
    for variable in document.variables:
        for label, place in variable.places.items():
            if place is None:
                continue
            yield {
                "kind": "variable",
                "name": text(variable.name),
                "kernel": text(label),
                "count": variable.counts[label],
                "section": text(place.section),
                "at": place.at,
                "size": place.size,
            }
            for neighbour in place.neighbours:
                came = neighbour.name in variable.came.get(label, ())
                yield {
                    "kind": "neighbour",
                    "name": text(neighbour.name),
                    "of": text(variable.name),
                    "kernel": text(label),
                    "change": "came" if came else "",
                    "size": neighbour.size,
                }
