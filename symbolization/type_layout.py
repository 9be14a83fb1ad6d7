"""How the types of a kernel are laid out: its structs and unions, from DWARF or BTF."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from profdiff.base.errors import InputError
from profdiff.symbolization._native import NativeError, type_layouts

# ELF, BTF, Zstandard, xz.
_STARTS = (b"\x7fELF", b"\x9f\xeb", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ")


class Field(NamedTuple):
    """A field; those of anonymous structs and unions count as their parent's. ``type``: as C writes
    it. ``bit_offset``: from the start of the type that was asked for; ``bit_size``: 0 of a flexible
    array."""

    name: str
    type: str
    bit_offset: int
    bit_size: int
    is_bit_field: bool


@dataclass(frozen=True)
class TypeLayout:
    """``kind``: struct or union; ``size``: in bytes; ``start``: of a member (``task_struct.se``),
    how many bytes behind the start of its type it lies; ``others``: how many other types the file
    has of the same name; ``fields``: in the order of the declaration."""

    kind: str
    size: int
    start: int
    others: int
    fields: tuple[Field, ...]


class KernelTypes(NamedTuple):
    """``source``: DWARF or BTF; ``found``: for each name, None where the file has no such type."""

    source: str
    found: list[TypeLayout | None]


def layouts(path: Path, names: Sequence[str]) -> KernelTypes:
    """The layouts of structs, unions, typedefs of them (``spinlock_t``), and members
    (``task_struct.se``) in a file as ``is_symbol_file`` knows it. Raises InputError."""
    try:
        source, found = type_layouts(str(path), list(names))
    except NativeError as error:
        raise InputError(str(error)) from error
    return KernelTypes(
        source,
        [one and TypeLayout(*one[:4], tuple(Field(*field) for field in one[4])) for one in found],
    )


def is_symbol_file(path: Path) -> bool:
    """Whether a file may have symbols or types: an ELF file, plain or packed, or BTF alone. Raises
    InputError where it cannot be read."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(8).startswith(_STARTS)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
