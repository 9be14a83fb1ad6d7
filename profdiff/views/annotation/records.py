"""The code of a function on every kernel, ``profdiff.annotation/1``: what ``annotate --json``
writes. ``docs/annotate.md`` explains it."""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.data import table
from profdiff.profile.data.table import NamedAccess, Names
from profdiff.views.record import Counts, Record, Side

Kind = Literal[
    "field",
    "variable",
    "pointed",
    "stack-variable",
    "spill",
    "canary",
    "push",
    "call",
    "unresolved",
]

UNKNOWN = "?"
# What the instruction says itself: a register that is pushed, a slot of the stack.
_EVIDENT = ("push", "call", "spill")
# An unresolved access of which it is known what it is not.
_USER = "user-memory"


class Access(Record, frozen=True):
    """``kind``, ``type``, ``symbol``, ``field``, ``alternatives`` and ``reason`` as of a row of
    ``profdiff report types``; ``size``: in bytes, of one turn of an instruction that repeats."""

    load: bool
    store: bool
    size: int
    kind: Kind
    type: str
    symbol: str
    field: str
    alternatives: list[str]
    reason: str

    @property
    def title(self) -> str:
        """What stands beside the instruction; "" for what that says itself, ``UNKNOWN`` where
        nothing tells."""
        if self.kind in _EVIDENT:
            return ""
        if self.kind == "unresolved":
            return table.WORDS[_USER] if self.reason == _USER else UNKNOWN
        if self.kind == "canary":
            return table.WORDS[self.kind]
        return table.title(self.kind, self.type, self.symbol, [self.field], self.alternatives)


def title(accesses: Iterable[Access]) -> str:
    """All that one instruction accesses, in a few words."""
    return ", ".join(dict.fromkeys(access.title for access in accesses if access.title))


class KernelAccesses:
    """The accesses of one kernel's instructions; none where the session does not keep them."""

    def __init__(self, kernel: KernelFunctions) -> None:
        self._kernel = kernel
        self._names: Names | None = None

    def of(self, address: NDArray[np.uint64]) -> Sequence[list[Access]]:
        """By address. Raises SessionError."""
        if self._names is None and self._kernel.accesses is not None:
            self._names = Names(self._kernel.accesses)
        if self._names is None:
            return [[] for _ in address]
        return [[_access(one) for one in own] for own in self._names.of(address)]


def _access(found: NamedAccess) -> Access:
    key = found.key
    return Access(
        load=found.load,
        store=found.store,
        size=found.size,
        kind=key.kind,  # type: ignore[arg-type]  # one of them
        type=key.type,
        symbol=key.symbol,
        field=key.place,
        alternatives=sorted(key.alternatives),
        reason=key.reason,
    )


SCHEMA: Final = "profdiff.annotation/1"

# same: the same operation on the same operands, registers and jump targets apart; changed: other
# operands; only: some kernel has no such instruction.
Relation = Literal["same", "changed", "only"]


class Place(Record, frozen=True):
    """One copy of the function's code. ``chain``: the functions from the physical one, which others
    are inlined into, to this one; one name where it is its own. ``chains``: by the labels of the
    kernels that have it, which differ where callers do; ``chain`` is that of the first. ``self``:
    counts of its rows."""

    chain: list[str]
    chains: dict[str, list[str]]
    self: Counts


class Row(Record, frozen=True):
    """An instruction that some kernels have in common; columns are by the labels of those that have
    it. ``place``: the number of its place. ``text``: AT&T syntax on x86-64, addresses as
    symbol+offset. ``count``: 0 where it was never executed; ``samples``: from how many samples that
    is known, None for exact counts. ``taken``: how often a conditional branch jumped, of the
    kernels on which that is known of all its executions, None where it is of none, and of other
    instructions; ``target``: the address that a direct jump leads to. ``classes``: what kind of
    instruction it is. ``accesses``: of the kernels on which it is known, what it loads and stores,
    also on the stack. ``file`` and ``line`` are those of the first kernel that has the row, "" and
    0 if unknown; ``lines``: of every one; ``files``: of those whose line is in another file."""

    place: int
    relation: Relation
    address: dict[str, str]
    text: dict[str, str]
    count: Counts
    samples: Counts | None
    taken: Counts | None
    target: dict[str, str]
    classes: list[str]
    accesses: dict[str, list[Access]]
    file: str
    line: int
    files: dict[str, str]
    lines: Counts


class Line(Record, frozen=True):
    """A source line that some kernels have in common: ``line`` and ``lines`` as in a row, all in
    one file. ``text``: what stands there, None without sources; ``text_of``: the kernels in whose
    sources it does, white space apart, the first one's being ``text``. ``places``: the numbers of
    the places that have it."""

    file: str
    line: int
    lines: Counts
    text: str | None
    text_of: list[str]
    count: Counts
    samples: Counts | None
    places: list[int]


class Split(Record, frozen=True):
    """A kernel's delta to the base: ``same``: of the code that both have, executed more or less
    often; ``other``: of the code that only one of them has, or whose operands differ."""

    same: int
    other: int


class Annotation(Record, frozen=True):
    """A function's code: rows in order of their places and addresses. ``function``: its name as
    reports print it. ``calls``: how often it was entered, None where that was not counted.
    ``size``: bytes of its code, in all of its places, that are known. ``split``: by the labels of
    all kernels but the base. ``notes``: what a reader must know, one line each."""

    schema: Literal["profdiff.annotation/1"]
    function: str
    side: Side
    labels: list[str]
    metric: str
    unit: str
    exact: bool
    ops: int | None
    self: Counts
    samples: Counts | None
    calls: Counts | None
    size: Counts
    split: dict[str, Split]
    places: list[Place]
    rows: list[Row]
    lines: list[Line]
    notes: list[str]
