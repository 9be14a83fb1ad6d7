"""The layouts of types and variables with their fields, as text and as CSV."""

from collections import Counter
from collections.abc import Iterator, Sequence

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Column, draw, joined
from profdiff.forms.csv import Line, text, written
from profdiff.views.layout import Change, FieldRow, LayoutDocument, Side, Span, TypeRow

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


def render_csv(document: LayoutDocument) -> str:
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


# What a table shows where not all fields are asked for: what can change which lines are accessed.
SHOWN: frozenset[Change] = frozenset({"new", "gone", "line", "size"})
SAID: dict[Change, str] = {
    "line": "other line",
    "size": "other size",
    "offset": "moved",
    "type": "other type",
    "none": "",
}
HIDDEN: dict[Change, str] = {
    "offset": "moved within their lines",
    "type": "with another type",
    "none": "unchanged",
}
_COLUMNS = ("line", "offset", "size")


def render_text(document: LayoutDocument, *, width: int, every: bool = False) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``). ``every``: all fields, not
    only those that came, went, or changed their size or line."""
    width = max(width, MIN_WIDTH)
    lines: list[str] = []
    for row in document.types:
        lines += [*([""] if lines else []), *_type(row, document.kernels, width, every)]
    lines += ["", *units.wrap(_legend(document), width)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _type(row: TypeRow, kernels: Sequence[Side], width: int, every: bool) -> list[str]:
    heading = units.wrap(units.printable(_heading(row)), width)
    shown = [field for field in row.fields if every or field.change in SHOWN]
    if not all(row.sizes.values()):
        shown = row.fields if every else []
    below = _below(row, shown)
    if not shown:
        return [*heading, *below]
    columns = [Column("change")]
    for kernel in kernels:
        columns += [Column(name, group=kernel.label) for name in _COLUMNS]
    columns.append(Column("field", name=True))
    cells = [_cells(one) for one in shown]
    return [*heading, *joined(draw("", columns, cells, width)), *below]


def _heading(row: TypeRow) -> str:
    """What a type is on each kernel."""
    sizes = {label: one for label, one in row.sizes.items() if one}
    kinds = {one.kind for one in sizes.values()}
    told = []
    for label, one in row.sizes.items():
        if one is None:
            told.append(f"{label} has no such type")
            continue
        lines, holes = units.counted(one.lines, "line"), ""
        if one.holes:
            holes = f", {units.counted(one.holes, 'byte')} unused"
        also = ""
        if one.others:
            also = f", one of {one.others + 1} types of this name, the one that most files use"
        told.append(f"{label} {units.counted(one.size, 'byte')} in {lines}{holes}{also}")
    return f"{' or '.join(sorted(kinds))} {row.name}: {'; '.join(told)}"


def _below(row: TypeRow, shown: Sequence[FieldRow]) -> list[str]:
    """What the table leaves out."""
    if not all(row.sizes.values()):
        return []
    every = Counter(field.change for field in row.fields)
    hidden = every - Counter(one.change for one in shown)
    if every.total() == every["none"]:
        return ["  no field moved"]
    told = [f"{hidden[change]:,} {said}" for change, said in HIDDEN.items() if hidden[change]]
    return [f"  fields not shown: {', '.join(told)}"] if told else []


def _cells(row: FieldRow) -> list[str]:
    cells = [SAID.get(row.change, row.change)]
    for place in row.places.values():
        cells += span(place, bit_field=place is not None and place.bit_field)
    known = [place.type for place in row.places.values() if place]
    types = " -> ".join(dict.fromkeys(known))
    return [*cells, f"{row.name}  {types}"]


def span(place: Span | None, *, bit_field: bool = False) -> list[str]:
    """The cells of a field on one kernel: line, offset and size. ``bit_field``: whether it is known
    to be one; others are where they are not whole bytes."""
    if place is None:
        return ["-"] * len(_COLUMNS)
    line = f"{place.line}"
    if place.last_line > place.line:
        line = f"{place.line}-{place.last_line}"
    start, bit = divmod(place.bit_offset, 8)
    if bit_field or bit or place.bit_size % 8:
        return [line, f"{start:,}:{bit}", units.counted(place.bit_size, "bit")]
    return [line, f"{start:,}", f"{place.bit_size // 8:,}"]


def _legend(document: LayoutDocument) -> str:
    sources = " and ".join(dict.fromkeys(kernel.source for kernel in document.kernels))
    return (
        f"Offsets and sizes are in bytes, from {sources}; line: the cache line of "
        f"{document.line_size} bytes, counted from 0, if the object is aligned to one."
    )
