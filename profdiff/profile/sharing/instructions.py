"""What single instructions are known to access, and where in it."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.data.keys import folded
from profdiff.profile.sharing.names import PER_CPU, STACK, Kind, Name, cut
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization.data_accesses import KINDS, DataAccesses

_STACK = ("spill", "canary", "push", "call")
_VARIABLES: dict[str, Kind] = {"global": "variable", "per-cpu": "per-cpu"}


# What DataAccesses.origins holds.
_ORIGIN = re.compile(
    r"(?P<record>[^:]+):(?P<path>.*)@(?P<offset>-?\d{1,18})|(?P<symbol>.+)\+(?P<at>-?\d{1,18})"
)


class Origin(NamedTuple):
    """What an instruction may access, as a call gave its function a pointer into it. ``name``: the
    record or variable; ``path``: of a *field*; ``offset``: from the start."""

    kind: Kind
    name: str
    path: str
    offset: int


class Said(NamedTuple):
    """What an instruction accesses. ``kind``: *field*, *variable*, *per-cpu*, *pointed* or *stack*.
    ``path`` is whole. ``offset``: from the start of the record or variable, None where it is
    computed, or an element of an array. ``size``: of the record or variable, 0: unknown.
    ``nested``: the records that ``path`` leads through, with its rest in each. ``alternatives``:
    other paths there, which a union leaves. ``origins``: what it may be a part of, ``whole``:
    whether these are all. What only these name is *pointed*, of no type. ``element``:
    where an element of an array would be by its instruction alone, None of all else."""

    kind: Kind
    type: str
    symbol: str
    path: str
    offset: int | None
    size: int
    nested: tuple[tuple[str, str], ...]
    alternatives: tuple[str, ...]
    origins: tuple[Origin, ...] = ()
    whole: bool = True
    element: int | None = None

    @property
    def name(self) -> Name:
        """What is accessed, known by this instruction alone."""
        if self.kind == "stack":
            return STACK
        path = cut(self.type, self.path, self.nested)
        if self.kind in ("variable", "per-cpu"):
            return Name(self.kind, symbol=folded(self.symbol), path=path)
        return Name(self.kind, self.type, path=path)


class Instructions:
    """What the instructions at N places access. ``accesses``: None where nothing is known."""

    def __init__(self, accesses: DataAccesses | None, address: NDArray[np.uint64]) -> None:
        self._accesses = accesses
        self._made: dict[int, Said | None] = {}
        self._per_cpu = frozenset(_per_cpu(accesses)) if accesses is not None else frozenset[str]()
        self._found: dict[tuple[int, bool, int], Sequence[Said]] = {}
        nothing = np.zeros(len(address), np.int64)
        self._first = self._end = nothing
        if accesses is not None:
            self._first = np.searchsorted(accesses.address, address, "left").astype(np.int64)
            self._end = np.searchsorted(accesses.address, address, "right").astype(np.int64)

    def said(self, place: int, *, store: bool, size: int) -> Sequence[Said]:
        """What the instruction at a place loads, or stores, in ``size`` bytes."""
        asked = place, store, size
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = self._said(place, store, size)
        return found

    def given(self, place: int) -> Sequence[Origin] | None:
        """What the call at a place gives to its function in the first register: one thing, or none
        where that is not known. None where nothing is known of a call there."""
        accesses = self._accesses
        if accesses is None:
            return None
        for row in range(int(self._first[place]), int(self._end[place])):
            if KINDS[int(accesses.kind[row])] == "call":
                text = accesses.strings[int(accesses.origins[row])]
                return tuple(_origins([text], self._per_cpu)) if "|" not in text else ()
        return None

    def _said(self, place: int, store: bool, size: int) -> Sequence[Said]:
        accesses = self._accesses
        if accesses is None:
            return ()
        wanted = int(known.STORE if store else known.LOAD)
        rows = [
            row
            for row in range(int(self._first[place]), int(self._end[place]))
            if int(accesses.flags[row]) & wanted
        ]
        of_size = [row for row in rows if int(accesses.size[row]) == size]
        made = {self._of_row(accesses, row) for row in of_size or rows}
        return tuple(sorted((one for one in made if one is not None), key=_order))

    def _of_row(self, accesses: DataAccesses, row: int) -> Said | None:
        if row not in self._made:
            self._made[row] = _of(accesses, row, self._per_cpu)
        return self._made[row]


def _order(said: Said) -> tuple[object, ...]:
    return (*said[:4], said.offset is not None, said.offset or 0, *said[5:])


def _per_cpu(accesses: DataAccesses) -> Iterator[str]:
    """The variables of each CPU."""
    columns = accesses.global_name.tolist(), accesses.global_section.tolist()
    for name, section in zip(*columns, strict=True):
        if accesses.strings[section] == PER_CPU:
            yield accesses.strings[name]


def _origins(texts: Sequence[str], per_cpu: frozenset[str]) -> Iterator[Origin]:
    for one in map(_ORIGIN.fullmatch, texts):
        if one and one["record"]:
            yield Origin("field", one["record"], one["path"], int(one["offset"]))
        elif one:
            kind: Kind = "per-cpu" if one["symbol"] in per_cpu else "variable"
            yield Origin(kind, folded(one["symbol"]), "", int(one["at"]))


def _of(accesses: DataAccesses, row: int, per_cpu: frozenset[str]) -> Said | None:
    """An access, by its row; None of an unresolved one."""
    kind, flags = KINDS[int(accesses.kind[row])], int(accesses.flags[row])
    if kind in _STACK:
        return Said("stack", "", "", "", None, 0, (), ())
    type_, symbol, path, others, nested = (
        accesses.strings[int(column[row])]
        for column in (
            *(accesses.type, accesses.symbol, accesses.field),
            *(accesses.alternatives, accesses.nested),
        )
    )
    given = accesses.strings[int(accesses.origins[row])]
    texts = given.split("|") if given else []
    origins = tuple(_origins(texts, per_cpu))
    whole = len(origins) == len(texts)
    if kind == "unresolved" and origins:
        return Said("pointed", "", "", "", None, 0, (), (), origins, whole)
    if kind == "unresolved" or (kind == "stack-variable" and not path):
        return None
    is_computed, is_element = bool(flags & int(known.COMPUTED)), "[]" in path
    at = int(accesses.offset[row])
    records = [word.partition(":") for word in nested.split("|") if word]
    # An object on the stack is one like others: other code has a pointer to it.
    own: Kind = "pointed" if kind == "pointed" else _VARIABLES.get(kind, "field")
    return Said(
        own,
        type_,
        symbol if own in ("variable", "per-cpu") else "",
        path,
        at if own != "pointed" and not is_computed and not is_element else None,
        int(accesses.type_size[row]),
        tuple((name, rest) for name, _, rest in records),
        tuple(others.split("|")) if others and flags & int(known.AMBIGUOUS) else (),
        origins,
        whole,
        at if own == "field" and is_element and not is_computed else None,
    )
