"""Where the fields of a type lie on one kernel, by their paths."""

import re
from collections.abc import Iterator, Mapping

import msgspec
import numpy as np

from profdiff.base.units import lines_of
from profdiff.symbolization.data_accesses import DataAccesses

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
    found = _ARRAY.match(path)
    return found[0] if found else ""


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
