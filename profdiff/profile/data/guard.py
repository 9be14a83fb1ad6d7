"""How far a sum of accesses is known: what it is at least and at most, if accesses of which nothing
tells what they access, or that may be of several things, were accesses of it.

Considered are accesses in the functions that make the sum: those that access it on any kernel,
themselves or by what of headers is inlined into them, and what is inlined where such code is.
``docs/types.md`` says what that leaves out.

Which accesses may be of other data than their names say, or of more: what a guard against false
differences must know.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from profdiff.profile.data.cells import Cell, Cells
from profdiff.profile.data.keys import Key

Cause = Literal["unresolved", "union", "wider", "computed", "container", "split"]
"""Why an access may be one of a field that it is not counted for: nothing tells what it accesses;
a union has several names for the place; it is wider than its field, or of all of it; its offset is
computed; one kernel knows the struct around, or the variable, and the other does not; its function
is there on one kernel only, and may have been a part of another."""

_WITH_FIELDS = ("field", "variable", "stack-variable")


class Meant(NamedTuple):
    """``key``: one that an access may be of. ``alone``: then it is not of its own."""

    key: int
    cause: Cause
    alone: bool


class Overlaps:
    """``meant``: by key, what else its accesses may be of, wherever they are; ``containers``: by
    key, those of a field or variable around it, or within: the same access, where inlining shows
    more of it."""

    def __init__(self, cells: Cells) -> None:
        self._keys = cells.keys
        self._cells = cells
        # By owner and name, the keys whose path it is, and those of which it is another name.
        self._named: defaultdict[tuple[object, ...], dict[str, list[int]]] = defaultdict(dict)
        self._also: defaultdict[tuple[object, ...], dict[str, list[int]]] = defaultdict(dict)
        for number, key in enumerate(cells.keys):
            if not key.computed:
                self._named[key.owner].setdefault(key.path, []).append(number)
            for path in key.alternatives:
                self._also[key.owner].setdefault(path, []).append(number)
        self.meant = [list(self._meant(number, key)) for number, key in enumerate(cells.keys)]
        self.containers: list[set[int]] = [set() for _ in cells.keys]
        for long, short in self._contained():
            self.containers[long].add(short)
            self.containers[short].add(long)

    def _meant(self, own: int, key: Key) -> Iterator[Meant]:
        if key.group == "unresolved":
            return
        named, also = self._named[key.owner], self._also[key.owner]
        ways: list[tuple[Iterable[str], Cause, bool]] = [
            (key.alternatives, "union", True),
            (key.covers, "wider", False),
        ]
        within = [path for path in {*named, *also} if _below(path, key.path)]
        ways.append((within, "computed" if key.computed else "wider", key.computed))
        for paths, cause, alone in ways:
            for path in paths:
                yield from (Meant(one, cause, alone) for one in named.get(path, ()) if one != own)
                # What is another name here is the place of both.
                yield from (Meant(one, cause, False) for one in also.get(path, ()) if one != own)

    def _contained(self) -> Iterator[tuple[int, int]]:
        """What has a name around another: (with more around it, with less)."""
        short: defaultdict[str, list[int]] = defaultdict(list)
        for number, key in enumerate(self._keys):
            if key.kind in ("field", "pointed"):
                short[key.path].append(number)
        for number, key in enumerate(self._keys):
            if key.kind not in _WITH_FIELDS:
                continue
            for before, path in _splits(key.path):
                for other in short.get(path, ()):
                    if other != number and self._fits(key, before, number, other):
                        yield number, other

    def _fits(self, key: Key, before: str, number: int, other: int) -> bool:
        """Whether what is at ``before`` in ``key`` may be what ``other`` is a part of."""
        less = self._keys[other]
        if less.kind == "pointed":
            return not self._cells.sizes[number].isdisjoint(self._cells.sizes[other])
        if not before:
            return key.kind != "field" and key.type == less.type
        if key.type == less.type and key.kind == "field":
            return False
        return _same_size(self._cells, key.type, before, less.type)


def _same_size(cells: Cells, type_: str, path: str, member: str) -> bool:
    """Whether a field is as large as a type, if both are known on some kernel."""
    fields = {layout.field_size(type_, path) for layout in cells.layouts} - {None}
    types = {layout.sizes[member] for layout in cells.layouts if layout.sizes.get(member)}
    return not fields or not types or not fields.isdisjoint(types)


def _splits(path: str) -> Sequence[tuple[str, str]]:
    """What stands before, and the rest: all ways to cut a path between fields."""
    cuts = [at for at, letter in enumerate(path) if letter == "."]
    ends = [("", path), (path, "")] if path else [("", "")]
    return [*ends, *((path[:at], path[at + 1 :]) for at in cuts)]


def _below(path: str, above: str) -> bool:
    """Whether a field is within another one."""
    if not above:
        return bool(path)
    return path.startswith((f"{above}.", f"{above}[]"))


# Memory of user space is no data of the kernel.
_ELSEWHERE = ("user-memory",)


class Interval(NamedTuple):
    """Where the true difference lies. ``causes``: why it is not one number."""

    low: int
    high: int
    causes: frozenset[Cause] = frozenset()

    @property
    def sure(self) -> bool:
        """Whether it tells if there is more, less or the same."""
        return self.low > 0 or self.high < 0 or self.low == self.high


class _Bounds(msgspec.Struct):
    """By kernel."""

    low: list[int]
    high: list[int]
    causes: list[set[Cause]]


class Guard:
    """``rows``: cells, each in one row."""

    def __init__(self, cells: Cells, overlaps: Overlaps, rows: Sequence[Sequence[int]]) -> None:
        self._cells, self._overlaps = cells, overlaps
        self._row_of = {cell: row for row, members in enumerate(rows) for cell in members}
        self._inner: defaultdict[tuple[bool, int], list[int]] = defaultdict(list)
        self._site: defaultdict[tuple[bool, int], list[int]] = defaultdict(list)
        self._outer: defaultdict[tuple[bool, int], list[int]] = defaultdict(list)
        self._rows_of_key: defaultdict[tuple[bool, int], set[int]] = defaultdict(set)
        self._by_key: defaultdict[tuple[bool, int], list[int]] = defaultdict(list)
        self._split: defaultdict[tuple[bool, str], list[int]] = defaultdict(list)
        self._unknown: set[int] = set()
        for number, cell in enumerate(cells.cells):
            self._inner[cell.store, cell.inner].append(number)
            self._site[cell.store, cell.site].append(number)
            self._outer[cell.store, cell.outer].append(number)
            self._by_key[cell.store, cell.key].append(number)
            self._rows_of_key[cell.store, cell.key].add(self._row_of[number])
            key = cells.keys[cell.key]
            if key.group == "unresolved" and key.reason not in _ELSEWHERE:
                self._unknown.add(number)
                if file := cells.functions.known[cell.site].file:
                    self._split[cell.store, file].append(number)
        # By key, whose accesses may be of it.
        self._sources: defaultdict[int, list[tuple[int, Cause]]] = defaultdict(list)
        for source, meant in enumerate(overlaps.meant):
            for one in meant:
                self._sources[one.key].append((source, one.cause))

    def intervals(self, row: int, own: Collection[int], *, whole: bool = True) -> list[Interval]:
        """The interval of each kernel's difference to the base in ``own``: all cells of a row
        (``whole``), or those of one function."""
        cells = self._cells
        if self._certain(own):
            counts = [sum(one) for one in zip(*map(cells.counts, own), strict=True)]
            return [Interval(count - counts[0], count - counts[0]) for count in counts[1:]]
        near = self._near(own, whole=whole)
        bounds = self._bounds(row, own, self._candidates(row, own, near, whole=whole))
        base_low, base_high = bounds.low[0], bounds.high[0]
        found = []
        for kernel in range(1, cells.kernels):
            low, high = bounds.low[kernel] - base_high, bounds.high[kernel] - base_low
            causes = bounds.causes[0] | bounds.causes[kernel]
            less, more = self._moved(own, near, kernel) if whole else (0, 0)
            if less or more:
                causes.add("split")
            found.append(Interval(low + less, high + more, frozenset(causes)))
        return found

    def _certain(self, own: Collection[int]) -> bool:
        """Whether nothing else can be what is counted, since it has no name of data."""
        key = self._cells.keys[self._cells.cells[next(iter(own))].key]
        return key.group == "unresolved" or key.kind in ("push", "call")

    def _bounds(
        self, row: int, own: Collection[int], candidates: Iterable[tuple[int, Cause]]
    ) -> _Bounds:
        cells, kernels = self._cells, range(self._cells.kernels)
        found = _Bounds([0] * len(kernels), [0] * len(kernels), [set() for _ in kernels])

        def add(number: int, cause: Cause | None) -> None:
            for kernel in kernels:
                low, high = cells.low[number][kernel], cells.high[number][kernel]
                if cause is None:
                    low = high = low + high
                elif low or high:
                    found.causes[kernel].add(cause)
                found.low[kernel] += low
                found.high[kernel] += high

        for number in own:
            add(number, self._elsewhere(row, cells.cells[number]))
        for number, cause in candidates:
            add(number, cause)
        return found

    def _elsewhere(self, row: int, cell: Cell) -> Cause | None:
        """Why an access of a row may be one of another row alone."""
        for one in self._overlaps.meant[cell.key]:
            if one.alone and self._rows_of_key[cell.store, one.key] - {row}:
                return one.cause
        return None

    def _near(self, own: Collection[int], *, whole: bool) -> set[int]:
        """The cells of the same direction in the functions of ``own``."""
        members = [self._cells.cells[number] for number in own]
        store, found = members[0].store, set[int]()
        if not whole:
            return found.union(*(self._inner[store, cell.inner] for cell in members))
        for function in {cell.site for cell in members}:
            found.update(self._site[store, function], self._outer[store, function])
        for function in {cell.outer for cell in members}:
            found.update(self._outer[store, function])
        return found

    def _candidates(
        self, row: int, own: Collection[int], near: Collection[int], *, whole: bool
    ) -> Iterable[tuple[int, Cause]]:
        """Cells of other rows that may be of this one, each once."""
        members = [self._cells.cells[number] for number in own]
        store, keys = members[0].store, {cell.key for cell in members}
        found: dict[int, Cause] = {}
        for number in near:
            if self._row_of[number] == row:
                continue
            if number in self._unknown:
                found[number] = "unresolved"
                continue
            key = self._cells.cells[number].key
            if not self._overlaps.containers[key].isdisjoint(keys):
                found[number] = "container"
        sources = (one for key in keys for one in self._sources.get(key, ()))
        for source, cause in sources:
            for number in self._by_key[store, source]:
                if self._row_of[number] != row and (whole or number in near):
                    found.setdefault(number, cause)
        return found.items()

    def _moved(self, own: Collection[int], near: Collection[int], kernel: int) -> tuple[int, int]:
        """What unresolved accesses can add to a difference that are in functions which only one of
        the two kernels executes, from the same files: they may have been a part of those that
        access the data."""
        cells, ran = self._cells, self._cells.ran
        members = [cells.cells[number] for number in own]
        functions = {cell.site for cell in members}.union(cell.outer for cell in members)
        files = {cells.functions.known[function].file for function in functions}
        less = more = 0
        for number in (n for file in files for n in self._split.get((members[0].store, file), ())):
            cell = cells.cells[number]
            here, there = cell.site in ran[kernel], cell.site in ran[0]
            if here == there or number in near:
                continue
            # What the base has counts the other way round.
            of, sign = (kernel, 1) if here else (0, -1)
            ends = sign * cells.low[number][of], sign * cells.high[number][of]
            less, more = less + min(ends), more + max(ends)
        return less, more
