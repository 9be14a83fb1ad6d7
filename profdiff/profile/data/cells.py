"""Exact counts of accesses: by what is accessed, where in it, and by which function; and which
accesses of several kernels are of one field: rows that compare.

A count is of executed instructions: one that loads and stores is a load and a store, a repeated one
(``rep movsb``) counts once each time, as instructions do. User space is not looked at.

The functions of a comparison, and those that only single addresses tell: two lengths that
execute a function equally often leave no row of it.

A field is paired by the same type and path; one that only some kernels name, with one that only
others name, if its path goes on where the other's ends (``flags``, ``flags.f``), or if both may be
the same member of a union. Members of a union that cannot be told apart are one row. What is
paired does not depend on the order of the kernels, and each access is in exactly one row.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.units import LINE
from profdiff.collectors.architecture import X86_64
from profdiff.profile.comparison import Comparison
from profdiff.profile.data.keys import ANY, NOT_COVERED, Key, KeyMaker, Layouts
from profdiff.profile.function_identity import Function
from profdiff.profile.picked_counts import PickedCounts, picked_counts
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization._native import classes, disassemble
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.places import CODE, distinct, rows_of


class Functions:
    """``known``: by number, those of the comparison first, then what stands for its unresolved
    ones, then all others. One that several kernels have is one."""

    def __init__(self, comparison: Comparison) -> None:
        self.known: list[Function] = [*comparison.functions, *comparison.unnamed]
        self.namesakes = list(comparison.namesakes)
        self._rows = comparison.numbers
        self._others: dict[Function, int] = {}

    def numbers(self, kernel: int, functions: Sequence[Function]) -> NDArray[np.int64]:
        """Those of a kernel's own functions."""
        own = self._rows[kernel]
        return np.array(
            [self._number(own.get(function), function) for function in functions], np.int64
        )

    def _number(self, row: int | None, function: Function) -> int:
        if row is not None:
            return row
        number = self._others.setdefault(function, len(self.known))
        if number == len(self.known):
            self.known.append(function)
        return number


_DIRECTIONS = {False: known.LOAD, True: known.STORE}


class Cell(NamedTuple):
    """``store``: or else a load. ``key``: a row of the keys. ``offset``: from the start of the
    type, None where it is not known. ``inner``: the innermost function; ``site``: the innermost one
    that is not from a header; ``outer``: the physical one."""

    store: bool
    key: int
    offset: int | None
    inner: int
    site: int
    outer: int


class Cells(msgspec.Struct):
    """The accesses of K kernels. ``keys``: what is accessed. ``low`` and ``high``: by cell and
    kernel, the sums of its places' counts below 0, which are there where lengths were subtracted,
    and above 0. ``sizes``: by key, how many bytes are accessed. ``layouts``: by
    kernel. ``ran``: by kernel, the functions that executed, themselves or with what is inlined into
    them."""

    functions: Functions
    kernels: int
    keys: list[Key] = msgspec.field(default_factory=list)
    cells: list[Cell] = msgspec.field(default_factory=list)
    low: list[list[int]] = msgspec.field(default_factory=list)
    high: list[list[int]] = msgspec.field(default_factory=list)
    sizes: list[set[int]] = msgspec.field(default_factory=list)
    layouts: list[Layouts] = msgspec.field(default_factory=list)
    ran: list[set[int]] = msgspec.field(default_factory=list)

    def counts(self, cell: int) -> list[int]:
        """By kernel."""
        return [low + high for low, high in zip(self.low[cell], self.high[cell], strict=True)]


def counted(
    comparison: Comparison, accesses: Sequence[DataAccesses], *, fold_folios: bool = False
) -> Cells:
    """All kernel accesses of the runs that stand for the kernels. ``accesses``: by kernel."""
    found = Cells(Functions(comparison), len(accesses))
    adding = _Adding(found)
    for kernel, access in enumerate(accesses):
        maker = KeyMaker(access, fold_folios=fold_folios)
        found.layouts.append(maker.layouts)
        found.ran.append(set())
        for part in picked_counts(comparison, kernel):
            counts = _Counts.of(found.functions, kernel, part)
            for column in (counts.inner, counts.site, counts.outer):
                found.ran[kernel].update(distinct(column[counts.mine]).tolist())
            _add(adding, kernel, counts, access, maker)
            bits = _classes(comparison, part.addresses.executed[counts.mine])
            rest = adding.key(Key("unresolved", reason=NOT_COVERED))
            for store, place in _not_covered(counts, access, bits):
                adding.add(Cell(store, rest, None, *counts.functions(place)), kernel, counts, place)
    return found


class _Counts(NamedTuple):
    """By place its count, and its functions as cells have them; ``mine``: the places of the kernel
    that count, ``address``: theirs."""

    times: NDArray[np.int64]
    inner: NDArray[np.int64]
    site: NDArray[np.int64]
    outer: NDArray[np.int64]
    mine: NDArray[np.int64]
    address: NDArray[np.uint64]

    @staticmethod
    def of(functions: Functions, kernel: int, part: PickedCounts) -> "_Counts":
        own = part.functions
        numbers = functions.numbers(kernel, own.functions)
        inner, site, outer = own.seats()
        told = (numbers[inner], numbers[site], numbers[outer])
        mine = np.flatnonzero(part.addresses.places.in_kernel & (part.count != 0))
        address = part.addresses.places.address[mine]
        return _Counts(part.sign * part.count, *told, mine, address)

    def functions(self, place: int) -> tuple[int, int, int]:
        """As a cell has them."""
        return int(self.inner[place]), int(self.site[place]), int(self.outer[place])


class _Adding:
    """Gives keys and cells their numbers."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._keys: dict[Key, int] = {}
        self._rows: dict[Cell, int] = {}

    def key(self, key: Key, size: int | None = None) -> int:
        """The number of a key, of which so many bytes are accessed."""
        number = self._keys.setdefault(key, len(self._keys))
        if number == len(self._cells.keys):
            self._cells.keys.append(key)
            self._cells.sizes.append(set())
        if size is not None:
            self._cells.sizes[number].add(size)
        return number

    def add(self, cell: Cell, kernel: int, counts: _Counts, place: int) -> None:
        """Add what ran at one place."""
        made, row = self._cells, self._rows.setdefault(cell, len(self._rows))
        if row == len(made.cells):
            made.cells.append(cell)
            made.low.append([0] * made.kernels)
            made.high.append([0] * made.kernels)
        count = int(counts.times[place])
        (made.high if count > 0 else made.low)[row][kernel] += count


def _add(
    adding: _Adding, kernel: int, counts: _Counts, accesses: DataAccesses, maker: KeyMaker
) -> None:
    place, row = accesses_at(accesses, counts.address)
    place = counts.mine[place]
    columns = (accesses.flags[row], accesses.offset[row], accesses.size[row])
    every = (place, row, *columns)
    for at, access, flags, start, size in zip(*(one.tolist() for one in every), strict=True):
        key = maker.key(access)
        number = adding.key(key, size)
        known_offset = key.group == "data" and not key.computed
        offset = start if known_offset else None
        for store, wanted in _DIRECTIONS.items():
            if flags & int(wanted):
                cell = Cell(store, number, offset, *counts.functions(at))
                adding.add(cell, kernel, counts, at)


def accesses_at(
    accesses: DataAccesses, address: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of ``address`` and of the accesses there, pair by pair."""
    first = np.searchsorted(accesses.address, address, "left").astype(np.int64)
    several = np.searchsorted(accesses.address, address, "right") - first
    place = np.repeat(np.arange(len(address)), several)
    within = np.arange(len(place)) - np.repeat(np.cumsum(several) - several, several)
    return place, np.repeat(first, several) + within


def _classes(comparison: Comparison, code: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """uint32[N]: bits of the classes of instructions, uint8[N, 16]."""
    every = distinct(own := np.ascontiguousarray(code).view(CODE).reshape(-1))
    codes = every.view(np.uint8).reshape(-1, 16)
    seen = np.flatnonzero(codes[:, 0])
    told = (run.qemu.architecture for run in comparison.runs if run.qemu)
    architecture = next(filter(None, told), X86_64.name)
    bits = np.zeros(len(codes), np.uint32)
    nowhere = np.zeros(len(seen), np.uint64)
    bits[seen] = disassemble(architecture, nowhere, np.ascontiguousarray(codes[seen])).classes
    return bits[rows_of(every, own)]


def _not_covered(
    counts: _Counts, accesses: DataAccesses, bits: NDArray[np.uint32]
) -> Iterator[tuple[bool, int]]:
    """The places whose instruction loads, or stores, of which the accesses say nothing. ``bits``:
    the classes of what ran at ``counts.mine``."""
    place, row = accesses_at(accesses, counts.address)
    for store, flag in _DIRECTIONS.items():
        name = "store" if store else "load"
        does = (bits & np.uint32(1 << classes().index(name))) != 0
        does[place[(accesses.flags[row] & flag) != 0]] = False
        yield from ((store, at) for at in counts.mine[does].tolist())


By = Literal["field", "type", "line"]

# Names of one place, and on which kernels each is used.
_Used = Mapping[str, frozenset[int]]


def rows(cells: Cells, by: By) -> list[list[int]]:
    """The cells of each row: of one direction, one kind of data, and one field, type or line."""
    if by == "field":
        return _by_field(cells)
    found: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, cell in enumerate(cells.cells):
        key = cells.keys[cell.key]
        line: int | None = None
        if by == "line" and cell.offset is not None:
            line = cell.offset // LINE
        found[cell.store, *key.owner, line].append(number)
    return list(found.values())


def _by_field(cells: Cells) -> list[list[int]]:
    owners: defaultdict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, cell in enumerate(cells.cells):
        owners[cell.store, *cells.keys[cell.key].owner].append(number)
    found = []
    for members in owners.values():
        own: defaultdict[str, list[int]] = defaultdict(list)
        for number in members:
            own[cells.keys[cells.cells[number].key].place].append(number)
        found += [
            [number for path in group for number in own[path]] for group in _paired(cells, own)
        ]
    return found


def _paired(cells: Cells, own: Mapping[str, Sequence[int]]) -> list[list[str]]:
    """The paths of one type as groups."""
    used: dict[str, frozenset[int]] = {}
    meant: dict[str, frozenset[str]] = {}
    for path, members in own.items():
        used[path] = frozenset(
            kernel
            for number in members
            for kernel in range(cells.kernels)
            if cells.low[number][kernel] or cells.high[number][kernel]
        )
        keys = (cells.keys[cells.cells[number].key] for number in members)
        meant[path] = frozenset({path}.union(*(key.alternatives for key in keys)))
    return grouped(used, meant)


def grouped(used: _Used, meant: Mapping[str, Collection[str]]) -> list[list[str]]:
    """Groups of paths that are one field. ``used``: on which kernels each path is accessed;
    ``meant``: what each may be, with itself."""
    joined = _Joined(used)
    for path in sorted(used):
        for shorter in _prefixes(path):
            if shorter in used and used[shorter].isdisjoint(used[path]):
                joined.join(path, shorter)
    # Accesses that may be of a field or of another one of the union: only their sum is known.
    for path in sorted(used):
        for name in meant[path]:
            if name in used:
                joined.join(path, name)
    paired = {path for path in used if len(joined.members(path)) > 1}
    alike: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(used):
        for name in meant[path]:
            alike[name].append(path)
    # All pairs are looked for before any is joined: the order must not matter.
    pairs = [
        (one, other)
        for paths in alike.values()
        for number, one in enumerate(paths)
        for other in paths[number + 1 :]
        if used[one].isdisjoint(used[other]) and not {one, other} & paired
    ]
    for one, other in pairs:
        joined.join(one, other)
    return joined.groups()


def _prefixes(path: str) -> list[str]:
    """``a.b``, ``a[]``, ``a`` and the whole for ``a[].b.c``; none where the field is computed."""
    if not path or path.endswith(ANY):
        return []
    ends = [at for at in range(1, len(path)) if path.startswith((".", "[]"), at)]
    return [*(path[:at] for at in reversed(ends)), ""]


class _Joined:
    """Groups that grow together."""

    def __init__(self, paths: Collection[str]) -> None:
        self._group = {path: [path] for path in paths}

    def members(self, path: str) -> list[str]:
        """Those that are with ``path``."""
        return self._group[path]

    def join(self, one: str, other: str) -> None:
        """Put two groups together."""
        mine, theirs = self._group[one], self._group[other]
        if mine is not theirs:
            mine += theirs
            self._group |= dict.fromkeys(theirs, mine)

    def groups(self) -> list[list[str]]:
        """All of them, each once."""
        return [list(one) for one in {id(group): group for group in self._group.values()}.values()]
