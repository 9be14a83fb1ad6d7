"""The rows of all kernels: data whose lines change hands, and how sure each difference is."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from profdiff.profile.function_identity import MatchedFunctions, match
from profdiff.profile.sharing.locks import Lock
from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.runs import KernelLines
from profdiff.profile.sharing.sums import Sums

Cause = Literal["runs", "schedule", "unnamed"]
"""Why a difference is not one sure number: runs of a kernel differ; lines are recycled; lines
without a name in the same functions may be of the same data."""


class Difference(NamedTuple):
    """Between two kernels, per op, and where the true one lies, ends included."""

    delta: float
    low: float
    high: float


class Change(NamedTuple):
    """A kernel's differences to the base. ``sure``: whether they are claimed at all."""

    transfers: Difference
    misses: Difference
    sure: bool
    causes: frozenset[Cause]


class SharingRow(msgspec.Struct, frozen=True):
    """Data with one name, ``sums`` by kernel; functions are numbers of ``SharingTable.functions``.
    ``depends``: by kernel, whether its transfers depend on the schedule; ``changes``: of each
    kernel but the base."""

    name: Name
    sums: list[Sums]
    depends: list[bool]
    changes: list[Change]

    @property
    def alternatives(self) -> list[str]:
        """Other names of the place, of unions."""
        return sorted(set[str]().union(*(one.alternatives for one in self.sums)))

    @property
    def functions(self) -> set[int]:
        """Those that miss, as far as they are not from a header."""
        return {site for one in self.sums for _, site in one.misses}


class SharingTable:
    """``kernels``: at least the base, first."""

    def __init__(self, kernels: Sequence[KernelLines]) -> None:
        self.kernels = kernels
        self.ops = [max(one.lines.all_ops, 1) for one in kernels]
        self.functions: MatchedFunctions = match([one.functions for one in kernels])
        self._rows: dict[Name, list[Sums]] = {}
        differ: set[tuple[Name, int]] = set()
        for kernel, one in enumerate(kernels):
            numbers = self.functions.numbers[kernel]
            for name, sums in one.rows.items():
                renamed = _renumbered(name, numbers)
                own = self._rows.setdefault(renamed, [Sums() for _ in kernels])
                own[kernel].add(_with_functions(sums, numbers))
                if name in one.differ:
                    differ.add((renamed, kernel))
        self._differ = differ

    def rows(self) -> list[SharingRow]:
        """All of them, what changed for certain first."""
        made = [self._row(name, sums) for name, sums in self._rows.items()]
        return sorted(made, key=self._order)

    def held(self) -> dict[Lock, list[tuple[int, int]]]:
        """By kernel, how often each lock is taken and what executes while it is held, the largest
        share of the kernel's instructions first."""
        found: dict[Lock, list[tuple[int, int]]] = {}
        for kernel, each in enumerate(zip(*self._rows.values(), strict=True)):
            for sums in each:
                for lock, times in sums.held.times.items():
                    own = found.setdefault(lock, [(0, 0) for _ in self.kernels])
                    before = own[kernel]
                    executed = sums.held.instructions[lock]
                    own[kernel] = before[0] + times, before[1] + executed
        executed = [max(int(one.lines.instructions.sum()), 1) for one in self.kernels]

        def share(lock: Lock) -> float:
            pairs = zip(found[lock], executed, strict=True)
            shares: list[float] = [own / whole for (_, own), whole in pairs]
            return max(shares)

        return {lock: found[lock] for lock in sorted(found, key=lambda one: (-share(one), one))}

    @property
    def total(self) -> SharingRow:
        """The sum of all rows."""
        return self.summed(self.rows())

    def summed(self, rows: Sequence[SharingRow]) -> SharingRow:
        """The sum of some rows, as their names tell which these are."""
        sums = [Sums() for _ in self.kernels]
        for row in rows:
            for one, more in zip(sums, row.sums, strict=True):
                one.add(more)
        depends = [one.depends for one in sums]
        names = {row.name for row in rows}
        differ = {kernel for name, kernel in self._differ if name in names}
        changes = []
        for kernel in range(1, len(self.kernels)):
            causes = self._causes([0, kernel], depends, differ)
            transfers, misses = (self._exactly(sums, kernel, of) for of in (_transfers, _misses))
            changes.append(Change(transfers, misses, not causes, causes))
        return SharingRow(Name("unnamed"), sums, depends, changes)

    def _row(self, name: Name, sums: list[Sums]) -> SharingRow:
        differ = {kernel for other, kernel in self._differ if other == name}
        depends = [one.depends or kernel in differ for kernel, one in enumerate(sums)]
        row = SharingRow(name, sums, depends, [])
        for kernel in range(1, len(self.kernels)):
            causes = self._causes([0, kernel], [one.depends for one in sums], differ)
            transfers, misses = (self._difference(row, kernel, of) for of in (_transfers, _misses))
            for one in (transfers, misses):
                causes |= {"unnamed"} if one.low < one.high else set()
            told = causes <= {"unnamed"} and _sign(transfers)
            row.changes.append(Change(transfers, misses, told, frozenset(causes)))
        return row

    def _causes(
        self, kernels: Iterable[int], depends: Sequence[bool], differ: set[int]
    ) -> frozenset[Cause]:
        causes: set[Cause] = set()
        for kernel in kernels:
            causes |= {"schedule"} if depends[kernel] else set()
            causes |= {"runs"} if kernel in differ else set()
        return frozenset(causes)

    def _exactly(self, sums: Sequence[Sums], kernel: int, of: "_Of") -> Difference:
        delta = of(sums[kernel]) / self.ops[kernel] - of(sums[0]) / self.ops[0]
        return Difference(delta, delta, delta)

    def _difference(self, row: SharingRow, kernel: int, of: "_Of") -> Difference:
        """With what lines without a name in its functions could be of the same data, those of some
        lock or counter there, or those with several names; for data without a name, what named
        lines there have less or more."""
        delta, _, _ = self._exactly(row.sums, kernel, of)
        less = more = 0.0
        mine = row.functions
        for name, sums in self._rows.items():
            lost = row.name.known and not name.known and name.function in mine
            part = name.is_part != row.name.is_part and any(_in(one, sums) for one in mine)
            if lost or (name != row.name and (part or name.may_be(row.name))):
                less += of(sums[0]) / self.ops[0]
                more += of(sums[kernel]) / self.ops[kernel]
            elif not row.name.known and name.known and _in(row.name.function, sums):
                other, _, _ = self._exactly(sums, kernel, of)
                less, more = less + max(-other, 0.0), more + max(other, 0.0)
        return Difference(delta, delta - less, delta + more)

    def _order(self, row: SharingRow) -> tuple[object, ...]:
        """What changed for certain first, then what changes hands most."""
        certain = (
            max(abs(one.transfers.delta), abs(one.misses.delta)) for one in row.changes if one.sure
        )
        most = [
            max(of(one) / ops for one, ops in zip(row.sums, self.ops, strict=True))
            for of in (_transfers, _misses)
        ]
        return -max(certain, default=0.0), *(-one for one in most), row.name


_Of = Callable[[Sums], int]


def _transfers(sums: Sums) -> int:
    return sums.transfers


def _misses(sums: Sums) -> int:
    return sums.all_misses


def _sign(one: Difference) -> bool:
    """Whether all of an interval goes the same way."""
    return one.low == one.high or one.low > 0 or one.high < 0


def _in(function: int, sums: Sequence[Sums]) -> bool:
    return any(site == function for one in sums for _, site in one.misses)


def _renumbered(name: Name, numbers: Sequence[int]) -> Name:
    return name._replace(function=numbers[name.function]) if name.function >= 0 else name


def _with_functions(sums: Sums, numbers: Sequence[int]) -> Sums:
    """The same with the numbers that functions have among those of all kernels."""
    misses: Counter[tuple[int, int]] = Counter()
    for (inner, site), count in sums.misses.items():
        misses[numbers[inner], numbers[site]] += count
    bystanders: Counter[Name] = Counter()
    for name, count in sums.bystanders.items():
        bystanders[_renumbered(name, numbers)] += count
    held = sums.held.renamed(lambda name: _renumbered(name, numbers), numbers)
    return replace(sums, misses=misses, bystanders=bystanders, held=held)
