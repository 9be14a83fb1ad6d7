"""What accesses are called, those of single instructions too."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.profile.data.cells import accesses_at
from profdiff.profile.data.keys import Key, KeyMaker
from profdiff.profile.data.pairing import By
from profdiff.profile.data.table import DataRow
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization.data_accesses import DataAccesses

WORDS: Mapping[str, str] = {
    "spill": "slots of the stack without a name",
    "canary": "stack canary",
    "push": "registers pushed or popped",
    "call": "return addresses",
    "assembly": "assembly",
    "user-memory": "user memory",
    "void-pointer": "void pointer",
    "changed-parameter": "parameter of a function that the compiler changed (.isra, .constprop)",
    "computed": "computed address",
    "joined": "paths with different pointers meet",
    "call-result": "pointer that a called function returned or changed",
    "loaded": "pointer read from something unresolved",
    "number": "a number used as a pointer",
    "entered-inside": "code that nothing known leads to",
    "outside-type": "outside of the type that is known",
    "constant-address": "constant address without a variable",
    "stack-slot": "stack, frame unknown",
    "not-decoded": "unknown instruction",
    "not-covered": "code without debug information",
}
"""By kind of what is on the stack, and by reason of what is unresolved."""

# So many other names of a place are named.
_MAX_NAMES = 2


def title(
    kind: str, type_: str, symbol: str, paths: Sequence[str], alternatives: Sequence[str] = ()
) -> str:
    """``mm_struct.mmap_lock.owner``, ``jiffies``, ``(long *)``; ``=`` between names that kernels
    have for one field, ``|`` between those of a union; one printable line."""
    first, *also = paths or [""]
    if kind == "pointed":
        name = f"({type_} *)"
    else:
        owner = type_ if kind == "field" else symbol
        name = f"{owner}{'.' if first and not first.startswith('[') else ''}{first}"
    name += "".join(f" = {path or '(whole)'}" for path in also)
    if alternatives:
        name += f" | {units.few(alternatives, _MAX_NAMES, ' | ', ' | ')}"
    return units.printable(name)


def of_line(kind: str, type_: str, symbol: str, line: int | None) -> str:
    """``mm_struct, line 2``."""
    where = "line unknown" if line is None else f"line {line}"
    return f"{title(kind, type_, symbol, [])}, {where}"


def of_row(row: DataRow, by: By) -> str:
    """What a row of a table by ``by`` is of, as a C programmer writes it."""
    if row.group != "data" and row.kind != "stack-variable":
        return WORDS[row.reason or row.kind]
    type_ = "|".join(row.types)
    if by == "field" or row.group != "data":
        return title(row.kind, type_, row.symbol, row.paths, row.alternatives)
    if by == "type":
        return title(row.kind, type_, row.symbol, [])
    lines = [line for line in row.lines if line is not None]
    return of_line(row.kind, type_, row.symbol, lines[0] if lines else None)


def is_within(path: str, field: str) -> bool:
    """Whether a path is a field, or leads into it."""
    return path == field or path.startswith((f"{field}.", f"{field}["))


class NamedAccess(NamedTuple):
    """An access of an instruction. ``size``: in bytes, of one turn where it is repeated."""

    key: Key
    load: bool
    store: bool
    size: int


class Names:
    """The names of one kernel's accesses."""

    def __init__(self, accesses: DataAccesses) -> None:
        self._accesses, self._maker = accesses, KeyMaker(accesses)

    def of(self, address: NDArray[np.uint64]) -> Sequence[list[NamedAccess]]:
        """By address (avma), what the instruction there accesses; none where nothing is known."""
        accesses = self._accesses
        found: list[list[NamedAccess]] = [[] for _ in address]
        place, row = accesses_at(accesses, address)
        for at, access in zip(place.tolist(), row.tolist(), strict=True):
            flags = int(accesses.flags[access])
            load, store = bool(flags & int(known.LOAD)), bool(flags & int(known.STORE))
            size = int(accesses.size[access])
            found[at].append(NamedAccess(self._maker.key(access), load, store, size))
        return found
