"""Layouts as CSV: a row for each type, field and kernel that has it."""

from collections.abc import Iterator

from profdiff.forms.csv import Line, text, written
from profdiff.views.layout import LayoutDocument

_HEADER = (
    "type",
    "field",
    "change",
    "kernel",
    "line",
    "last_line",
    "bit_offset",
    "bit_size",
    "bit_field",
    "field_type",
)


def render(document: LayoutDocument) -> str:
    """All fields, those that did not change too; offsets and sizes in bits."""
    return written(_HEADER, list(_rows(document)))


def _rows(document: LayoutDocument) -> Iterator[Line]:
    for kind in document.types:
        for field in kind.fields:
            for label, place in field.places.items():
                if place is None:
                    continue
                yield [
                    text(kind.name),
                    text(field.name),
                    field.change,
                    text(label),
                    place.line,
                    place.last_line,
                    place.bit_offset,
                    place.bit_size,
                    int(place.bit_field),
                    text(place.type),
                ]
