"""Where the fields of types lie on two kernels, ``profdiff.layout/1``: what ``layout --json``
writes. ``docs/types.md`` explains it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from profdiff import __version__
from profdiff.base.units import LINE, lines_of
from profdiff.symbolization.type_layout import Field, KernelTypes, TypeLayout
from profdiff.views.record import Record, schema_of

SCHEMA: Final = "profdiff.layout/1"

Moved = Literal["new", "gone", "line", "size", "offset", "none"]
Change = Literal[Moved, "type"]


class Span(Record, frozen=True):
    """Where a field lies on one kernel. ``line`` and ``last_line``: in which lines, from 0, if the
    object is aligned to a line; ``bit_offset``: from the start of the object; ``bit_size``: 0 of a
    flexible array."""

    line: int
    last_line: int
    bit_offset: int
    bit_size: int


class Place(Span, frozen=True):
    """A field on one kernel."""

    type: str
    bit_field: bool


class FieldRow(Record, frozen=True):
    """A field by kernel, None where the type lacks it there. ``change``: the first that holds: only
    one kernel has it; it lies in other lines; its size, offset or type differs."""

    name: str
    change: Change
    places: dict[str, Place | None]


class TypeSize(Record, frozen=True):
    """A type on one kernel. ``size`` and ``holes`` (what no field uses, in front of the last one or
    behind it) in bytes; ``lines``: how many it takes; ``others``: how many other types of the name
    the kernel has, of which this is the one that most of its files use."""

    kind: str
    size: int
    holes: int
    lines: int
    others: int


class TypeRow(Record, frozen=True):
    """A type by kernel, None where there is none. ``fields``: in the order of the new kernel's
    declaration; those that are gone stand behind the one that they followed."""

    name: str
    sizes: dict[str, TypeSize | None]
    fields: list[FieldRow]


class Side(Record, frozen=True):
    """A kernel. ``source``: DWARF or BTF."""

    label: str
    spec: str
    source: str


class LayoutDocument(Record, frozen=True):
    """The kernels, the base first, and the types in the order that was asked for."""

    schema: Literal["profdiff.layout/1"]
    profdiff: str
    line_size: int
    kernels: list[Side]
    types: list[TypeRow]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``profdiff/layout.schema.json`` is a copy."""
    return schema_of(LayoutDocument, "profdiff layout")


def build(
    names: Sequence[str], specs: Mapping[str, str], found: Mapping[str, KernelTypes]
) -> LayoutDocument:
    """``specs`` and ``found`` by label, the base first; ``found``: of ``names``, in their order."""
    labels = list(specs)
    return LayoutDocument(
        schema=SCHEMA,
        profdiff=__version__,
        line_size=LINE,
        kernels=[
            Side(label=label, spec=specs[label], source=found[label].source) for label in labels
        ],
        types=[
            _type(name, {label: found[label].found[number] for label in labels})
            for number, name in enumerate(names)
        ],
    )


def _type(name: str, by_label: Mapping[str, TypeLayout | None]) -> TypeRow:
    known = {label: _named(one) for label, one in by_label.items()}
    (base, before), (new, behind) = known.items()
    rows = []
    # What is missing on one kernel is a change only where the other has the type at all.
    for field in _merged(list(before), list(behind)):
        places = {base: before.get(field), new: behind.get(field)}
        rows.append(FieldRow(name=field, change=_change(*places.values()), places=places))
    sizes = {label: _size(one) if one else None for label, one in by_label.items()}
    return TypeRow(name=name, sizes=sizes, fields=rows)


def _named(layout: TypeLayout | None) -> dict[str, Place]:
    return {field.name: _place(field) for field in layout.fields if field.name} if layout else {}


def _place(field: Field) -> Place:
    last = field.bit_offset + max(field.bit_size, 1) - 1
    return Place(
        type=field.type,
        line=field.bit_offset // (8 * LINE),
        last_line=last // (8 * LINE),
        bit_offset=field.bit_offset,
        bit_size=field.bit_size,
        bit_field=field.is_bit_field,
    )


def _size(layout: TypeLayout) -> TypeSize:
    start = 8 * layout.start
    used = sorted((field.bit_offset, field.bit_offset + field.bit_size) for field in layout.fields)
    ends = [start]
    for _, end in used:
        ends.append(max(ends[-1], end))
    gaps = [max(first - end, 0) for (first, _), end in zip(used, ends, strict=False)]
    free = sum(gaps) + max(start + 8 * layout.size - ends[-1], 0)
    return TypeSize(
        kind=layout.kind,
        size=layout.size,
        holes=free // 8 if layout.fields else 0,
        lines=len(lines_of(layout.start, layout.size)),
        others=layout.others,
    )


def _merged(base: list[str], new: list[str]) -> list[str]:
    """The names of both in the order of ``new``; those of ``base`` alone behind the one that they
    followed there."""
    here = set(new)
    behind: dict[str | None, list[str]] = {}
    anchor: str | None = None
    for name in base:
        if name in here:
            anchor = name
        else:
            behind.setdefault(anchor, []).append(name)
    merged = list(behind.get(None, []))
    for name in new:
        merged += [name, *behind.get(name, [])]
    return merged


def _change(base: Place | None, new: Place | None) -> Change:
    found = moved(base, new)
    if found != "none" or base is None or new is None:
        return found
    return "none" if base.type == new.type else "type"


def moved(base: Span | None, new: Span | None) -> Moved:
    """What becomes of a field that one of two kernels has at least."""
    if base is None or new is None:
        return "new" if base is None else "gone"
    if (base.line, base.last_line) != (new.line, new.last_line):
        return "line"
    if base.bit_size != new.bit_size:
        return "size"
    return "none" if base.bit_offset == new.bit_offset else "offset"
