"""Which data each load and store of a kernel's code accesses: fields of types, variables by name,
the stack. docs/types.md says how it is found.

What the instructions of a kernel access that executed, by the DWARF of its debug ELF and of its
modules'.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.symbolization import column_file
from profdiff.symbolization._native import (
    DataIndex,
    Kallsyms,
    NativeError,
    access_kinds,
    access_reasons,
)
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.places import Places
from profdiff.symbolization.section_text import LoadedPart, loaded_parts

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


class DataAccesses(column_file.Record, frozen=True):
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

    FORMAT: ClassVar[int] = 2
    SHAPES: ClassVar[Mapping[str, Sequence[int | str]]] = {
        name: (first,) for first, names in GROUPS.items() for name in names if name != first
    }
    ROWS: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(TEXTS, "strings"),
        "field_type": "layout_type",
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
        super().check()
        for name, limit in (("kind", len(KINDS)), ("reason", len(REASONS))):
            if int(getattr(self, name).max(initial=0)) >= limit:
                raise ValueError(f"{name} has an unknown code")
        for name in ("address", "field_type", "global_address"):
            column = getattr(self, name)
            if bool((column[1:] < column[:-1]).any()):
                raise ValueError(f"{name} falls")

    @classmethod
    def dtypes(cls) -> column_file.Dtypes:
        return {**super().dtypes(), "thing": np.dtype(np.uint32)}

    def columns(self) -> column_file.Columns:
        """A few thousand things are accessed by tens of thousands of instructions: columns of
        things are shorter, with ``thing`` as their rows."""
        columns, dtypes = super().columns(), self.dtypes()
        of_thing = np.dtype([(name, dtypes[name]) for name in _THINGS])
        every = np.empty(len(self), of_thing)
        for name in _THINGS:
            every[name] = columns[name]
        order = np.argsort(every.view(f"V{of_thing.itemsize}"), kind="stable")
        first = np.ones(len(every), np.bool_)
        first[1:] = every[order][1:] != every[order][:-1]
        thing = np.empty(len(every), np.uint32)
        thing[order] = np.cumsum(first, dtype=np.uint32) - np.uint32(1)
        things = every[order][first]
        columns.update({name: np.ascontiguousarray(things[name]) for name in _THINGS})
        return {**columns, "thing": thing}

    @classmethod
    def of_columns(cls, columns: column_file.Columns) -> Self:
        thing = columns["thing"].astype(np.int64)
        return super().of_columns(columns | {name: columns[name][thing] for name in _THINGS})


def bounded_origins(names: Collection[str]) -> list[str]:
    """The names of what an access may be of, in their order; of too many, the rest is unknown."""
    known = sorted(set(names) - {UNKNOWN})
    unknown = UNKNOWN in names or len(known) > _MOST_ORIGINS
    return known[:_MOST_ORIGINS] + [UNKNOWN] * unknown


_THINGS = DataAccesses.GROUPS["address"][1:]


# What is one list of a file, whose rows others name.
_ROWS = {"field_type": "layout_type"}


def kernel_accesses(
    symbols: KernelSymbols,
    places: Places,
    executed: NDArray[np.uint8],
    architecture: str,
    cache: Path | None,
) -> DataAccesses | None:
    """What the kernel's ones of N places access; ``executed``: uint8[N, 16], what ran there, zeros
    where that is not known. None where nothing tells: no debug ELF, no DWARF in it, an architecture
    whose accesses are not known. Raises InputError for a damaged debug ELF."""
    mine = np.flatnonzero(places.in_kernel & (executed[:, 0] > 0))
    address, code = places.address[mine], np.ascontiguousarray(executed[mine])
    kallsyms = Kallsyms(symbols.kallsyms)
    found = []
    try:
        files: dict[Path, list[LoadedPart]] = {}
        for part in loaded_parts(symbols, kallsyms, places, address, cache):
            files.setdefault(part.path, []).append(part)
        for path, parts in files.items():
            inside = np.zeros(len(address), np.bool_)
            for part in parts:
                start = np.uint64(part.avma)
                inside |= (address >= start) & (address - start < part.size)
            if inside.any():
                sections = [(part.svma, part.size, part.avma) for part in parts]
                index = _index(path, path.stat().st_mtime_ns)
                # What other files' code calls in this one counts, too.
                columns = index and index.accesses(architecture, sections, kallsyms, address, code)
                if columns is not None:
                    found.append(columns)
    except (NativeError, OSError) as error:
        raise InputError(str(error)) from error
    return _joined(found) if found else None


@lru_cache(maxsize=4)
def _index(path: Path, _: int) -> DataIndex | None:
    """That of a file as it is: those of a suite's kernels are wanted for each workload."""
    return DataIndex.open(str(path))


def _joined(files: list[dict[str, Any]]) -> DataAccesses:
    """The accesses of several files as those of one kernel."""
    if len(files) == 1:
        return DataAccesses(**files[0])
    strings: dict[str, int] = {"": 0}
    rows = 0
    for file in files:
        texts = [strings.setdefault(text, len(strings)) for text in file.pop("strings")]
        numbers = np.array(texts, np.uint32)
        for name in DataAccesses.TEXTS:
            file[name] = numbers[file[name]]
        for name, of in _ROWS.items():
            file[name] = file[name] + np.uint32(rows)
            rows += len(file[of])
    columns = {
        name: np.concatenate([file[name] for file in files])
        for name in DataAccesses.__struct_fields__
        if name != "strings"
    }
    for first, names in DataAccesses.GROUPS.items():
        if first in ("address", "global_address"):
            order = np.argsort(columns[first], kind="stable")
            columns.update({name: columns[name][order] for name in names})
    return DataAccesses(strings=list(strings), **columns)
