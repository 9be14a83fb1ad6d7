"""The types and the variables of the kernel that a workload accessed: which fields, where these lie
on each kernel, and what shares lines with each.

A field that one kernel alone accessed has a place on the others, too: which lines the fields lie in
depends on the layout alone, not on which accesses are known."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError, SessionError
from profdiff.base.units import LINE, lines_of
from profdiff.profile.comparison import Comparison
from profdiff.profile.data.keys import folded
from profdiff.profile.kept_code import ACCESSES
from profdiff.profile.picked_counts import PickedCounts, picked_counts
from profdiff.session.session import Session
from profdiff.symbolization.data_accesses import COMPUTED, DataAccesses


class Accessed(msgspec.Struct, frozen=True):
    """A accesses of one kernel. ``count``: int64[A], how often the instruction of each executed."""

    accesses: DataAccesses
    count: NDArray[np.int64]


class AllAccessed(msgspec.Struct, frozen=True):
    """``kernels``: by number, None where it is not known, and ``missing`` why, or ""."""

    kernels: list[Accessed | None]
    missing: list[str]

    @property
    def known(self) -> bool:
        """Whether it is known of the base and of another kernel, or of the only one."""
        first, *others = self.kernels
        return first is not None and (not others or any(others))


def accessed(comparison: Comparison, session: Session | None) -> AllAccessed:
    """What a comparison of exact counts tells. Nothing is raised: what cannot be read is
    missing."""
    kernels, missing = list[Accessed | None](), list[str]()
    for kernel, described in enumerate(comparison.kernels):
        picked = picked_counts(comparison, kernel)
        runs = [run for run in comparison.runs if run.kernel == described.label]
        found, why = None, "no session keeps it"
        if session is not None and picked:
            run = runs[comparison.picked[kernel]]
            try:
                found, why = ACCESSES.known(session, run, picked[0].addresses)
            except (SessionError, InputError) as error:
                why = str(error)
        kernels.append(None if found is None else Accessed(found, _type_counts(found, picked[0])))
        missing.append(why)
    return AllAccessed(kernels, missing)


def _type_counts(accesses: DataAccesses, picked: PickedCounts) -> NDArray[np.int64]:
    places = picked.addresses.places
    mine = np.flatnonzero(places.in_kernel)
    order = mine[np.argsort(places.address[mine], kind="stable")]
    address = places.address[order]
    # Code that was patched while it ran has several places at one address.
    sums = np.concatenate([[0], np.cumsum(picked.count[order])])
    first = np.searchsorted(address, accesses.address, side="left")
    behind = np.searchsorted(address, accesses.address, side="right")
    result: NDArray[np.int64] = sums[behind] - sums[first]
    return result


_ARRAY = re.compile(r"[^\[]*(?:\[\])+")


class FieldPlace(msgspec.Struct, frozen=True):
    """In bits from the start of the type; size 0: a flexible array."""

    bit_offset: int
    bit_size: int

    @property
    def lines(self) -> range:
        """The lines that it lies in, from 0, if the object is aligned to a line."""
        start = self.bit_offset // 8
        end = -(-(self.bit_offset + self.bit_size) // 8)
        return lines_of(start, end - start)


class TypeFields(msgspec.Struct, frozen=True):
    """``size``: in bytes. ``leaves``: fields that are not structs or unions, also of members
    (``mmap_lock.count.counter``); ``[]`` stands for the elements of an array, which is one of them,
    and has the size of the whole array, or else of the field of its first element."""

    size: int
    leaves: Mapping[str, FieldPlace]

    def place(self, path: str) -> FieldPlace | None:
        """Where a field lies, or the fields of a member; None where there is no such."""
        if path in self.leaves:
            return self.leaves[path]
        inside = [
            place
            for name, place in self.leaves.items()
            if name.startswith(path) and name[len(path)] in ".["
        ]
        if not inside:
            return None
        first = min(one.bit_offset for one in inside)
        return FieldPlace(first, max(one.bit_offset + one.bit_size for one in inside) - first)

    def known(self, path: str) -> str:
        """The field that a path leads to here: itself, or what lies there whole, where another
        kernel has a struct or union."""
        shorter = path
        while shorter not in self.leaves and "." in shorter:
            shorter = shorter.rpartition(".")[0]
        return shorter if shorter in self.leaves else path


def array_of(path: str) -> str:
    """The outermost array that a path leads into, "" for none."""
    match = _ARRAY.match(path)
    return match[0] if match else ""


def types_of(accesses: DataAccesses) -> dict[str, TypeFields]:
    """The types that a kernel accessed, by name."""
    return dict(_types(accesses))


def _types(accesses: DataAccesses) -> Iterator[tuple[str, TypeFields]]:
    strings = accesses.strings
    ends = np.searchsorted(accesses.field_type, np.arange(len(accesses.layout_type) + 1)).tolist()
    columns = zip(
        accesses.field_name.tolist(),
        accesses.field_offset.tolist(),
        accesses.field_size.tolist(),
        strict=True,
    )
    fields = [(strings[name], FieldPlace(offset, size)) for name, offset, size in columns]
    sizes = accesses.layout_size.tolist()
    for row, name in enumerate(accesses.layout_type.tolist()):
        leaves: dict[str, FieldPlace] = {}
        for path, place in fields[ends[row] : ends[row + 1]]:
            leaves.setdefault(path, place)
        yield strings[name], TypeFields(sizes[row], leaves)


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
    known = [None if kernel is None else types_of(kernel.accesses) for kernel in kernels]
    seen = [_Seen.of(kernel) for kernel in kernels]
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
    there = [layout for layout in layouts if layout is not None]
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
    found = [None if layout is None else layout.place(field) for layout in layouts]
    array = array_of(field)
    if not array:
        return found
    # Of arrays, what was accessed: as far behind their start on each kernel.
    starts = [None if layout is None else layout.place(array) for layout in layouts]
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


@dataclass(frozen=True)
class Neighbour:
    """A variable beside another one. ``size`` in bytes, 0 if unknown."""

    name: str
    size: int
    accessed: bool


@dataclass(frozen=True)
class PlacedVariable:
    """A variable on one kernel. ``address``: in its ELF file; ``neighbours``: what else lies in its
    lines, by address."""

    section: str
    address: int
    size: int
    neighbours: list[Neighbour]

    @property
    def at(self) -> int:
        """How many bytes behind the start of a line it begins."""
        return self.address % LINE


@dataclass(frozen=True)
class AccessedVariable:
    """``counts``: by kernel, how often it was accessed. ``places``: by kernel, None where the
    kernel has no such variable, or neither accessed it nor one beside it."""

    name: str
    counts: list[int]
    places: list[PlacedVariable | None]


def accessed_variables(kernels: Sequence[Accessed | None]) -> list[AccessedVariable]:
    """Those of all kernels, the most accessed first. Variables of one name are left out: nothing
    tells which is which."""
    placed = [{} if kernel is None else _placed(kernel.accesses) for kernel in kernels]
    counts = [{} if kernel is None else _variable_counts(kernel) for kernel in kernels]
    found = []
    for name in dict.fromkeys(name for count in counts for name in count):
        places = [one.get(name) for one in placed]
        if any(places):
            found.append(AccessedVariable(name, [count.get(name, 0) for count in counts], places))
    return sorted(found, key=lambda one: (-max(one.counts), one.name))


def _variable_counts(kernel: Accessed) -> Mapping[str, int]:
    one, found = kernel.accesses, dict[str, int]()
    wanted = np.flatnonzero((kernel.count > 0) & (one.symbol > 0))
    wanted = wanted[(one.is_kind("global") | one.is_kind("per-cpu"))[wanted]]
    for symbol, count in zip(
        one.symbol[wanted].tolist(), kernel.count[wanted].tolist(), strict=True
    ):
        name = folded(one.strings[symbol])
        found[name] = found.get(name, 0) + count
    return found


def _placed(accesses: DataAccesses) -> Mapping[str, PlacedVariable]:
    strings = accesses.strings
    rows = list(
        zip(
            (folded(strings[name]) for name in accesses.global_name.tolist()),
            (strings[section] for section in accesses.global_section.tolist()),
            accesses.global_address.tolist(),
            accesses.global_size.tolist(),
            accesses.global_accessed.tolist(),
            strict=True,
        )
    )
    by_line: dict[tuple[str, int], list[int]] = {}
    for row, (_, section, address, size, _) in enumerate(rows):
        for line in _ends(address, size):
            by_line.setdefault((section, line), []).append(row)
    found: dict[str, PlacedVariable | None] = {}
    for row, (name, section, address, size, _) in enumerate(rows):
        beside = {
            other
            for line in _ends(address, size)
            for other in by_line[section, line]
            if other != row
        }
        neighbours = [
            Neighbour(rows[at][0], rows[at][3], bool(rows[at][4])) for at in sorted(beside)
        ]
        placed = PlacedVariable(section, address, size, neighbours)
        found[name] = None if name in found else placed
    return {name: one for name, one in found.items() if one is not None}


def _ends(address: int, size: int) -> set[int]:
    """The first and the last line of a variable: no other has anything in those between."""
    lines = lines_of(address, size)
    return {lines[0], lines[-1]}
