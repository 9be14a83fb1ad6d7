"""Which data each kernel of a comparison accesses, and what that is called: rows with counts,
functions, and how sure each is."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.base.units import LINE
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.data.cells import By, Cells, Functions, accesses_at, counted, rows
from profdiff.profile.data.guard import Guard, Interval, Overlaps
from profdiff.profile.data.keys import ANY, Group, Key, KeyMaker
from profdiff.profile.kept_code import ACCESSES
from profdiff.profile.picked_counts import picked_counts
from profdiff.session.session import Session
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization.data_accesses import DataAccesses


class FunctionPart(msgspec.Struct, frozen=True):
    """What one function itself does of a row. ``function``: its number in ``DataTable.functions``.
    ``within``: of one from a header, the functions that it is inlined into, those where most of it
    changed first. ``counts``: by kernel; ``intervals``: by kernel but the base, of the difference
    to it."""

    function: int
    within: list[int]
    counts: list[int]
    intervals: list[Interval]


class DataRow(msgspec.Struct, frozen=True):
    """Loads or stores of one field, type or line. ``paths``: the names that kernels have for the
    field, the shortest first, none of a whole type; ``types``: of a variable, what it is;
    ``alternatives``: other names for the place, of unions. ``offsets``: by kernel, how far from the
    start of the type it is; ``lines``: by kernel, the line of 64 bytes there, if the object is
    aligned to one; None where it is not known, or differs. ``counts``, ``intervals``: as those of
    ``parts``, which has the functions, those that changed most first."""

    store: bool
    group: Group
    kind: str
    types: list[str]
    symbol: str
    reason: str
    paths: list[str]
    alternatives: list[str]
    offsets: list[int | None]
    lines: list[int | None]
    counts: list[int]
    intervals: list[Interval]
    parts: list[FunctionPart]


class DataTable:
    """The data that kernels access in the kernel."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells

    @staticmethod
    def of(
        comparison: Comparison, session: Session | None, *, fold_folios: bool = False
    ) -> "DataTable":
        """The data of the kernels of a comparison. Raises what ``accesses_of`` does.
        ``fold_folios``: fields of ``struct folio`` that lie in ``struct page`` too are those of
        page."""
        accesses = accesses_of(comparison, session)
        return DataTable(counted(comparison, accesses, fold_folios=fold_folios))

    @property
    def functions(self) -> Functions:
        """Those that rows name."""
        return self.cells.functions

    @cached_property
    def _overlaps(self) -> Overlaps:
        return Overlaps(self.cells)

    def rows(self, by: By = "field") -> list[DataRow]:
        """The rows that have a count, those that changed most first."""
        members = rows(self.cells, by)
        guard = Guard(self.cells, self._overlaps, members)
        made = [self._row(guard, number, own, by) for number, own in enumerate(members)]
        return sorted(made, key=_order)

    def _row(self, guard: Guard, number: int, own: Sequence[int], by: By) -> DataRow:
        cells = self.cells
        keys = [cells.keys[cells.cells[one].key] for one in own]
        first = keys[0]
        paths = {key.place for key in keys} if by == "field" else set()
        others = set().union(*(key.alternatives for key in keys)) if by == "field" else set()
        offsets = [_only(self._offsets(own, kernel)) for kernel in range(cells.kernels)]
        lines = [
            _only({at // LINE for at in self._offsets(own, kernel)})
            for kernel in range(cells.kernels)
        ]
        return DataRow(
            store=cells.cells[own[0]].store,
            group=first.group,
            kind=first.kind,
            types=sorted({key.type for key in keys} - {""}),
            symbol=first.symbol,
            reason=first.reason,
            paths=sorted(paths - {""}, key=_shortest) if first.group != "unresolved" else [],
            alternatives=sorted(others - paths),
            offsets=offsets if by == "field" else [None] * cells.kernels,
            lines=lines if by != "type" else [None] * cells.kernels,
            counts=self._counts(own),
            intervals=guard.intervals(number, own),
            parts=self._parts(guard, number, own),
        )

    def _parts(self, guard: Guard, number: int, own: Sequence[int]) -> list[FunctionPart]:
        of: defaultdict[int, list[int]] = defaultdict(list)
        for one in own:
            of[self.cells.cells[one].inner].append(one)
        found = [
            FunctionPart(
                function,
                self._within(function, members),
                self._counts(members),
                guard.intervals(number, members, whole=False),
            )
            for function, members in of.items()
        ]
        names = self.functions.known
        return sorted(found, key=lambda one: (*_largest(one.counts), names[one.function]))

    def _within(self, function: int, own: Sequence[int]) -> list[int]:
        of: defaultdict[int, list[int]] = defaultdict(list)
        for one in own:
            of[self.cells.cells[one].site].append(one)
        sites = sorted(of, key=lambda site: (*_largest(self._counts(of[site])), site))
        return [site for site in sites if site != function]

    def _counts(self, own: Sequence[int]) -> list[int]:
        return [sum(one) for one in zip(*map(self.cells.counts, own), strict=True)]

    def _offsets(self, own: Sequence[int], kernel: int) -> set[int]:
        """Where a kernel accesses the row, as far as it is known."""
        return {
            offset
            for one in own
            if (offset := self.cells.cells[one].offset) is not None
            and (self.cells.low[one][kernel] or self.cells.high[one][kernel])
        }


def _largest(counts: Sequence[int]) -> tuple[int, int]:
    return -max(abs(count - counts[0]) for count in counts), -max(map(abs, counts))


def _order(row: DataRow) -> tuple[object, ...]:
    return (
        *_largest(row.counts),
        row.group,
        row.kind,
        row.symbol,
        row.types,
        row.paths,
        row.reason,
        row.store,
        [-1 if line is None else line for line in row.lines],
    )


def _shortest(path: str) -> tuple[bool, int, str]:
    return path.endswith(ANY), len(path), path


def _only(values: set[int]) -> int | None:
    """The one, if all are alike."""
    return next(iter(values)) if len(values) == 1 else None


NOT_EXACT = (
    "which data instructions access is known only of exact counts: record with --collector exact"
)


def accesses_of(comparison: Comparison, session: Session | None) -> list[DataAccesses]:
    """By kernel. Raises InputError where those of one are not known, or counts are not exact;
    SessionError where what a session keeps is damaged."""
    if not class_names(comparison) or session is None:
        raise InputError(NOT_EXACT)
    found = []
    for kernel, described in enumerate(comparison.kernels):
        runs = [run for run in comparison.runs if run.kernel == described.label]
        run = runs[comparison.picked[kernel]]
        addresses = picked_counts(comparison, kernel)[0].addresses
        accesses, missing = ACCESSES.known(session, run, addresses)
        if accesses is None:
            raise InputError(
                f"{described.label}: which data its instructions access is not known: {missing}; "
                "record it again, with a kernel that has debug information"
            )
        found.append(accesses)
    return found


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
    "number": "integer cast to a pointer",
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
