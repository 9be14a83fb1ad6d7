"""The types that a workload accessed: which of their fields, and where these lie on each kernel.

A field that one kernel alone accessed has a place on the others, too: which lines the fields lie in
depends on the layout alone, not on which accesses are known.
"""

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from profdiff.profile.data_layout.accessed import Accessed
from profdiff.profile.data_layout.type_fields import FieldPlace, TypeFields, array_of, types_of
from profdiff.symbolization.data_accesses import COMPUTED

# (offset, size) in bits.
_Spans = set[tuple[int, int]]


class AccessedField(msgspec.Struct, frozen=True):
    """``counts``: by kernel, how often it was accessed. ``places``: by kernel, None where the type
    has no such field, or is not known; for an array the elements that were accessed, or all of
    them where that is computed."""

    name: str
    counts: list[int]
    places: list[FieldPlace | None]


class AccessedType(msgspec.Struct, frozen=True):
    """``layouts``: by kernel, None where it did not access the type, so that nothing is known.
    ``fields``: those that some kernel accessed, by their place. ``elsewhere``: by kernel, how often
    something of it was accessed at an offset that is computed."""

    name: str
    layouts: list[TypeFields | None]
    fields: list[AccessedField]
    elsewhere: list[int]

    @property
    def count(self) -> int:
        """How often the kernel that accessed it most did."""
        return max(
            sum(field.counts[kernel] for field in self.fields) + computed
            for kernel, computed in enumerate(self.elsewhere)
        )

    def lines(self, kernel: int) -> int | None:
        """How many lines the fields lie in, if objects are aligned; None where that is not
        known."""
        if self.layouts[kernel] is None:
            return None
        places = (field.places[kernel] for field in self.fields)
        return len({line for place in places if place for line in place.lines})


def accessed_types(kernels: Sequence[Accessed | None]) -> list[AccessedType]:
    """Those of all kernels, the most accessed first."""
    known = [None if one is None else types_of(one.accesses) for one in kernels]
    seen = [_Seen.of(one) for one in kernels]
    names = dict.fromkeys(name for one in seen for name in one.types)
    found = []
    for name in names:
        layouts = [None if types is None else types.get(name) for types in known]
        if any(layouts):
            found.append(_type(name, layouts, [one.types.get(name, _OfType()) for one in seen]))
    return sorted(found, key=lambda one: (-one.count, one.name))


class _OfType:
    """What one kernel accessed of a type: by path, how often, and where that is known."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.spans: dict[str, _Spans] = {}
        self.elsewhere = 0


class _Seen(msgspec.Struct, frozen=True):
    types: Mapping[str, _OfType]

    @staticmethod
    def of(kernel: Accessed | None) -> "_Seen":
        """What executed; accesses that two lengths have as often are none."""
        types: dict[str, _OfType] = {}
        if kernel is None:
            return _Seen(types)
        one, strings = kernel.accesses, kernel.accesses.strings
        wanted = np.flatnonzero((kernel.count > 0) & (one.type > 0))
        columns = zip(
            one.type[wanted].tolist(),
            one.field[wanted].tolist(),
            one.offset[wanted].tolist(),
            one.size[wanted].tolist(),
            one.has(COMPUTED)[wanted].tolist(),
            kernel.count[wanted].tolist(),
            strict=True,
        )
        for name, field, offset, size, computed, count in columns:
            of_type = types.setdefault(strings[name], _OfType())
            path = strings[field]
            if not path:
                of_type.elsewhere += count
                continue
            of_type.counts[path] = of_type.counts.get(path, 0) + count
            spans = of_type.spans.setdefault(path, set())
            if not computed:
                spans.add((8 * offset, 8 * size))
        return _Seen(types)


def _type(name: str, layouts: list[TypeFields | None], seen: Sequence[_OfType]) -> AccessedType:
    there = [one for one in layouts if one is not None]
    by_name: dict[str, set[str]] = {}
    for path in dict.fromkeys(path for one in seen for path in one.counts):
        # Where one kernel has a struct, and another one field.
        shortest = min((one.known(path) for one in there), key=len)
        if any(one.place(shortest) for one in there):
            by_name.setdefault(shortest, set()).add(path)
    fields = []
    for field, paths in by_name.items():
        counts = [sum(one.counts.get(path, 0) for path in paths) for one in seen]
        fields.append(AccessedField(field, counts, _places(field, layouts, seen)))
    return AccessedType(name, layouts, sorted(fields, key=_order), [one.elsewhere for one in seen])


def _order(field: AccessedField) -> tuple[int, str]:
    """By its place on the last kernel that has it."""
    last = next(place for place in reversed(field.places) if place)
    return last.bit_offset, field.name


def _places(
    field: str, layouts: Sequence[TypeFields | None], seen: Sequence[_OfType]
) -> list[FieldPlace | None]:
    found = [None if one is None else one.place(field) for one in layouts]
    array = array_of(field)
    if not array:
        return found
    # Of arrays, what was accessed: as far behind their start on each kernel.
    starts = [None if one is None else one.place(array) for one in layouts]
    within = [
        (offset - start.bit_offset, size)
        for start, one in zip(starts, seen, strict=True)
        for offset, size in one.spans.get(field, ())
        if start is not None
    ]
    if not within or min(offset for offset, _ in within) < 0:
        return [start if one else None for start, one in zip(starts, found, strict=True)]
    first = min(offset for offset, _ in within)
    size = max(offset + size for offset, size in within) - first
    return [
        FieldPlace(start.bit_offset + first, size) if one and start else None
        for start, one in zip(starts, found, strict=True)
    ]
