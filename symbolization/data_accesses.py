"""Which data each load and store of a kernel's code accesses: fields of types, variables by name,
the stack. docs/types.md says how it is found."""

from collections.abc import Collection
from pathlib import Path
from typing import ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization import column_file
from profdiff.symbolization._native import access_kinds, access_reasons

FORMAT = 2
"""Version of the file that `DataAccesses.save` writes."""

KINDS: tuple[str, ...] = tuple(access_kinds())
"""What may be accessed, by code. *field*: of a struct or union behind a pointer; *global* and
*per-cpu*: a variable with a name; *pointed*: what a pointer to no struct or union points to;
*stack-variable*; *spill*: a slot of the stack without a name; *canary*: a stack protector's;
*push*: a register that is pushed or popped; *call*: a return address; *unresolved*."""

REASONS: tuple[str, ...] = tuple(access_reasons())
"""Why an access is unresolved, by code; "" first, of those that are resolved."""

UNKNOWN = "?"
"""Stands for what is not known among the origins of an access."""

_MOST_ORIGINS = 32

LOAD, STORE = np.uint16(1), np.uint16(2)
#: Unions leave several names for the place: ``alternatives`` has the others.
AMBIGUOUS = np.uint16(4)
#: The access is wider than the field, whose name is that of the first.
WIDER = np.uint16(8)
BIT_FIELD = np.uint16(16)
#: It may fault on an address of user space (``__ex_table``).
USER = np.uint16(32)
#: It repeats as often as a register says; ``size`` is that of one turn.
REPEATED = np.uint16(64)
#: The offset within the type is computed, so that the field is not known.
COMPUTED = np.uint16(128)


class DataAccesses(msgspec.Struct, frozen=True):
    """A accesses of a kernel's instructions in one boot. Texts are rows of ``strings``, 0: none.

    ``address``: uint64[A], avma of the instruction, not falling; an instruction may access several
    things. ``flags``: uint16[A]. ``size``: uint32[A], bytes. ``kind`` and ``reason``: uint8[A],
    codes of ``KINDS`` and ``REASONS``. ``type``: of the outermost struct or union that is known, or
    of the variable; ``symbol``: the variable; ``field``: a path in the type, ``[]`` for elements of
    arrays; ``alternatives``: other paths there, separated by ``|``. ``nested``: the same place in
    the records that ``field`` leads through, ``TYPE:PATH`` separated by ``|``: other code may have
    a pointer to these alone (of ``mm_struct.mmap_lock.count.counter``:
    ``rw_semaphore:count.counter``). ``origins``: of an access to a part of something through a
    pointer that the function was given, what the executed calls gave it, separated by ``|``:
    ``TYPE:PATH@OFFSET``, a place in a record, bytes from its start, or ``SYMBOL+OFFSET`` in a
    variable; last ``?`` where there are others that are not known. A *call*
    has what it gives in the first register. ``offset``: int64[A], bytes from
    the start of the type; ``type_size``: uint32[A], 0: unknown.

    T types that are accessed: ``layout_type``, ``layout_size`` and ``layout_alignment``
    (uint32[T], bytes; what they are declared to be aligned to, 0: nothing is declared). F fields of
    them, those of anonymous and of named members too: ``field_type`` (rows of the T types, not
    falling), ``field_name``, ``field_offset`` and ``field_size`` (uint64[F], bits; size 0: flexible
    array).

    G variables that are accessed and what shares lines with them, by address: ``global_name``,
    ``global_section``, ``global_address`` (uint64[G], of the ELF file), ``global_size`` (uint32[G],
    0: unknown), ``global_accessed`` (uint8[G], 0 of mere neighbours).
    """

    strings: list[str]
    address: NDArray[np.uint64]
    flags: NDArray[np.uint16]
    size: NDArray[np.uint32]
    kind: NDArray[np.uint8]
    reason: NDArray[np.uint8]
    type: NDArray[np.uint32]
    symbol: NDArray[np.uint32]
    field: NDArray[np.uint32]
    alternatives: NDArray[np.uint32]
    nested: NDArray[np.uint32]
    origins: NDArray[np.uint32]
    offset: NDArray[np.int64]
    type_size: NDArray[np.uint32]
    layout_type: NDArray[np.uint32]
    layout_size: NDArray[np.uint32]
    layout_alignment: NDArray[np.uint32]
    field_type: NDArray[np.uint32]
    field_name: NDArray[np.uint32]
    field_offset: NDArray[np.uint64]
    field_size: NDArray[np.uint64]
    global_name: NDArray[np.uint32]
    global_section: NDArray[np.uint32]
    global_address: NDArray[np.uint64]
    global_size: NDArray[np.uint32]
    global_accessed: NDArray[np.uint8]

    #: Columns of texts.
    TEXTS: ClassVar = (
        *("type", "symbol", "field", "alternatives", "nested", "origins"),
        *("layout_type", "field_name", "global_name", "global_section"),
    )
    #: Columns of the same length, by one of them.
    GROUPS: ClassVar = {
        "address": (
            *("address", "flags", "size", "kind", "reason", "type", "symbol", "field"),
            *("alternatives", "nested", "origins", "offset", "type_size"),
        ),
        "layout_type": ("layout_type", "layout_size", "layout_alignment"),
        "field_type": ("field_type", "field_name", "field_offset", "field_size"),
        "global_address": (
            *("global_name", "global_section", "global_address", "global_size"),
            "global_accessed",
        ),
    }

    def __len__(self) -> int:
        return len(self.address)

    def has(self, flag: np.uint16) -> NDArray[np.bool_]:
        """bool[A]: which accesses have a flag."""
        result: NDArray[np.bool_] = (self.flags & flag) != 0
        return result

    def is_kind(self, name: str) -> NDArray[np.bool_]:
        """bool[A]: which accesses are of a kind."""
        result: NDArray[np.bool_] = self.kind == KINDS.index(name)
        return result

    def check(self) -> None:
        """Raise ValueError unless columns have the same lengths, rows exist, and addresses rise."""
        for names in self.GROUPS.values():
            if len({len(getattr(self, name)) for name in names}) != 1:
                raise ValueError(f"{', '.join(names)} are of different lengths")
        for name in self.TEXTS:
            if int(getattr(self, name).max(initial=0)) >= len(self.strings):
                raise ValueError(f"{name} points past the strings")
        for name, limit in (("kind", len(KINDS)), ("reason", len(REASONS))):
            if int(getattr(self, name).max(initial=0)) >= limit:
                raise ValueError(f"{name} has an unknown code")
        if len(self.field_type) and int(self.field_type.max()) >= len(self.layout_type):
            raise ValueError("field_type points past the types")
        for name in ("address", "field_type", "global_address"):
            column = getattr(self, name)
            if bool((column[1:] < column[:-1]).any()):
                raise ValueError(f"{name} falls")

    def save(self, path: Path) -> None:
        """Write it; `path` appears whole or not. Raises OSError."""
        columns = {name: getattr(self, name) for name in _KEPT if name not in (*_OWN, *_THINGS)}
        # A few thousand things are accessed by tens of thousands of instructions.
        every = np.empty(len(self), _THING)
        for name in _THINGS:
            every[name] = getattr(self, name)
        order = np.argsort(every.view(f"V{_THING.itemsize}"), kind="stable")
        first = np.ones(len(every), np.bool_)
        first[1:] = every[order][1:] != every[order][:-1]
        thing = np.empty(len(every), np.uint32)
        thing[order] = np.cumsum(first, dtype=np.uint32) - np.uint32(1)
        things = every[order][first]
        columns.update({name: np.ascontiguousarray(things[name]) for name in _THINGS})
        columns["thing"] = thing
        columns["strings"] = column_file.of_texts(self.strings)
        column_file.write(path, {"format": np.array([FORMAT], np.uint32), **columns})

    @staticmethod
    def load(path: Path) -> "DataAccesses":
        """Read what `save` wrote. Safe for a file from a stranger.

        Raises SessionError when the file is missing, damaged or of another version.
        """
        return column_file.load(path, _decoded, _KEPT)


def _decoded(columns: column_file.Columns) -> DataAccesses:
    """Raises ValueError, LookupError where columns do not fit."""
    column_file.check_format(columns, FORMAT)
    strings, thing = column_file.texts(columns.pop("strings")), columns.pop("thing")
    for name in _THINGS:
        columns[name] = columns[name][thing]
    found = DataAccesses(strings=strings, **columns)  # type: ignore[arg-type]
    found.check()
    return found


def bounded_origins(names: Collection[str]) -> list[str]:
    """The names of what an access may be of, in their order; of too many, the rest is unknown."""
    known = sorted(set(names) - {UNKNOWN})
    unknown = UNKNOWN in names or len(known) > _MOST_ORIGINS
    return known[:_MOST_ORIGINS] + [UNKNOWN] * unknown


def _dtypes() -> dict[str, np.dtype[np.generic]]:
    found: dict[str, np.dtype[np.generic]] = {"format": np.dtype(np.uint32)}
    for name in DataAccesses.__struct_fields__:
        wide = name in ("address", "field_offset", "field_size", "global_address")
        small = name in ("kind", "reason", "strings", "global_accessed")
        found[name] = np.dtype(np.uint64 if wide else np.uint8 if small else np.uint32)
    return {**found, "flags": np.dtype(np.uint16), "offset": np.dtype(np.int64)}


# What is kept; columns of things that are accessed are shorter, with ``thing`` as their rows.
_OWN = ("format", "strings", "thing")
_THINGS = DataAccesses.GROUPS["address"][1:]
_KEPT = {**_dtypes(), "thing": np.dtype(np.uint32)}
_THING = np.dtype([(name, _KEPT[name]) for name in _THINGS])
