"""The rows of all kernels: data whose lines change hands, and how sure each difference is."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from profdiff.evidence.difference import Difference
from profdiff.evidence.statistics.rule import Verdict
from profdiff.profile.function_identity import Function, MatchedFunctions, match
from profdiff.profile.sharing.joined import Renames, joined
from profdiff.profile.sharing.locks import Lock
from profdiff.profile.sharing.names import Name
from profdiff.profile.sharing.records import Records
from profdiff.profile.sharing.runs import KernelLines
from profdiff.profile.sharing.sums import Sums

Cause = Literal["runs", "schedule", "unnamed"]
"""Why a difference is not exact: runs of a kernel differ; lines are recycled; lines
without a name in the same functions may be of the same data."""


class Change(NamedTuple):
    """A kernel's differences to the base, per op. Their ends are where the true one lies, as far as
    names decide it; the schedule is not in them."""

    transfers: Difference
    misses: Difference

    @property
    def sure(self) -> bool:
        """Whether they are claimed at all."""
        return self.transfers.verdict is Verdict.EXACT

    @property
    def causes(self) -> tuple[str, ...]:
        """What makes them more than one number, or unsure."""
        return self.transfers.causes


class Reads(NamedTuple):
    """Waits for bytes that nobody writes, by kernel. ``sure``: of each kernel but the base, whether
    it is another number for certain: not where the field has another name there, or none."""

    name: Name
    counts: list[int]
    sure: list[bool]


class SharingRow(msgspec.Struct, frozen=True):
    """The lines of one record or variable that have fields in common, on any kernel; by ``name``,
    the one that makes them change hands most; ``fields``: all that do. ``sums`` by kernel;
    functions are numbers of ``SharingTable.functions``. ``depends``: by kernel, whether its
    transfers depend on the schedule; ``changes``: of each kernel but the base."""

    name: Name
    fields: list[Name]
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
        self._renames = Renames(self.functions)
        self._records = [Records(one.accesses) for one in kernels]
        every = [
            {
                _renumbered(name, numbers): _with_functions(sums, numbers)
                for name, sums in one.rows.items()
            }
            for one, numbers in zip(kernels, self._renames.numbers, strict=True)
        ]
        of, self._fields = joined(every, self.ops)
        self._rows: dict[Name, list[Sums]] = {}
        differ: set[tuple[Name, int]] = set()
        for kernel, (one, numbers) in enumerate(zip(kernels, self._renames.numbers, strict=True)):
            for name, sums in every[kernel].items():
                own = self._rows.setdefault(of[name], [Sums() for _ in kernels])
                own[kernel].add(sums)
            differ |= {(of[_renumbered(name, numbers)], kernel) for name in one.differ}
        self._differ = differ
        self._kin = [
            {name: self._renames.kin(_sites(sums), kernel) for name, sums in self._rows.items()}
            for kernel in range(1, len(kernels))
        ]

    def function(self, number: int) -> Function:
        """A function, by the newest of its names."""
        return self.functions.functions[self._renames.titles.get(number, number)]

    def rows(self) -> list[SharingRow]:
        """All of them, what changed for certain first."""
        made = [self._row(name, sums) for name, sums in self._rows.items()]
        return sorted(made, key=self._order)

    def reads(self, row: SharingRow) -> list[Reads]:
        """What is read beside what makes the lines of a row change hands, the most first."""
        names = sorted({name for one in row.sums for name in one.bystanders})
        found = []
        for name in names:
            counts = [one.bystanders[name] for one in row.sums]
            sure = [self._is_sure(name, row, kernel) for kernel in range(1, len(self.kernels))]
            found.append(Reads(name, counts, sure))
        return sorted(found, key=lambda one: (-max(one.counts), one.name))

    def _is_sure(self, name: Name, row: SharingRow, kernel: int) -> bool:
        """Whether no other name stands for the same bytes on the base or on another kernel, and
        the one with fewer reads does not write them."""
        sides = [row.sums[at] for at in (0, kernel)]
        side = min(sides, key=lambda one: one.bystanders[name])
        fewer = side.bystanders
        if not name.known or name in side.written:
            return not any(bystander.known for own in sides for bystander in own.bystanders)
        absent = [self._lacks(name, at) for at in (0, kernel)]
        return not any(
            count
            for other, count in fewer.items()
            if not other.known
            or other.is_part
            or other.may_be(name)
            or (any(absent) and self._instead(other, absent, kernel))
        )

    def _lacks(self, name: Name, kernel: int) -> bool:
        return name.kind == "field" and self._records[kernel].lacks(name.type, name.path)

    def _instead(self, other: Name, absent: Sequence[bool], kernel: int) -> bool:
        """Whether a field is only where another one is ``absent``."""
        own = [self._lacks(other, at) for at in (0, kernel)]
        return any(own) and own != list(absent)

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

    def is_sure(self, lock: Lock, held: Mapping[Lock, Sequence[tuple[int, int]]]) -> list[bool]:
        """Whether the difference is known, on each kernel but the base: the lock is on lines that
        change hands on both, and no lock that has no name can be the same as this one."""
        there = [
            any(any(counts[at]) for other, counts in held.items() if other.name == lock.name)
            for at in range(len(self.kernels))
        ]
        return [
            there[0]
            and there[kernel]
            and not any(
                other != lock
                and other.mode == lock.mode
                and (any(counts[0]) or any(counts[kernel]))
                and (_is_vague(other.name) or _is_vague(lock.name))
                and self._may_be_one(other.function, lock.function, kernel)
                for other, counts in held.items()
            )
            for kernel in range(1, len(self.kernels))
        ]

    def _may_be_one(self, one: int, other: int, kernel: int) -> bool:
        """Whether two functions may be the same; of which one is not known, it may."""
        first, second = (self._renames.kin([number], kernel) for number in (one, other))
        return min(one, other) < 0 or bool(first & second)

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
            deltas = (self._delta(sums, kernel, of) for of in (_transfers, _misses))
            changes.append(_change(((delta, delta, delta) for delta in deltas), not causes, causes))
        return SharingRow(Name("unnamed"), [], sums, depends, changes)

    def _row(self, name: Name, sums: list[Sums]) -> SharingRow:
        differ = {kernel for other, kernel in self._differ if other == name}
        depends = [one.depends or kernel in differ for kernel, one in enumerate(sums)]
        row = SharingRow(name, self._fields.get(name, [name]), sums, depends, [])
        for kernel in range(1, len(self.kernels)):
            causes = self._causes([0, kernel], [one.depends for one in sums], differ)
            ends = [self._ends(row, kernel, of) for of in (_transfers, _misses)]
            causes |= {"unnamed"} if any(low < high for _, low, high in ends) else set()
            sure = causes <= {"unnamed"} and _has_sign(*ends[0])
            row.changes.append(_change(ends, sure, causes))
        return row

    def _causes(
        self, kernels: Iterable[int], depends: Sequence[bool], differ: set[int]
    ) -> set[Cause]:
        causes: set[Cause] = set()
        for kernel in kernels:
            causes |= {"schedule"} if depends[kernel] else set()
            causes |= {"runs"} if kernel in differ else set()
        return causes

    def _delta(self, sums: Sequence[Sums], kernel: int, of: "_Of") -> float:
        return of(sums[kernel]) / self.ops[kernel] - of(sums[0]) / self.ops[0]

    def _ends(self, row: SharingRow, kernel: int, of: "_Of") -> "_Ends":
        """With what lines without a name in its functions could be of the same data, those of some
        lock or counter there, or those with several names; for data without a name, what named
        lines there have less or more."""
        delta = self._delta(row.sums, kernel, of)
        less = more = 0.0
        kin = self._kin[kernel - 1]
        mine = kin[row.name]
        for name, sums in self._rows.items():
            if name == row.name:
                continue
            near = bool(mine & kin[name])
            if row.name.known:
                part = name.is_part != row.name.is_part
                may_be = near and (not name.known or part)
            else:
                may_be = near and not name.known
            if may_be or name.may_be(row.name):
                less += of(sums[0]) / self.ops[0]
                more += of(sums[kernel]) / self.ops[kernel]
            elif not row.name.known and near:
                other = self._delta(sums, kernel, of)
                less, more = less + max(-other, 0.0), more + max(other, 0.0)
        return delta, delta - less, delta + more

    def _order(self, row: SharingRow) -> tuple[object, ...]:
        """What changed for certain first, then what changes hands most."""
        certain = (
            max(abs(change.transfers.delta), abs(change.misses.delta))
            for change in row.changes
            if change.sure
        )
        most = [
            max(of(one) / ops for one, ops in zip(row.sums, self.ops, strict=True))
            for of in (_transfers, _misses)
        ]
        return -max(certain, default=0.0), *(-one for one in most), row.name


_Of = Callable[[Sums], int]
# A difference, and the lowest and the highest that it can be.
_Ends = tuple[float, float, float]


def _change(ends: Iterable[_Ends], sure: bool, causes: Iterable[Cause]) -> Change:
    verdict = Verdict.EXACT if sure else Verdict.UNSURE
    why = tuple(sorted(causes))
    transfers, misses = (Difference(*end, verdict, causes=why) for end in ends)
    return Change(transfers, misses)


def _transfers(sums: Sums) -> int:
    return sums.transfers


def _misses(sums: Sums) -> int:
    return sums.all_misses


def _has_sign(_: float, low: float, high: float) -> bool:
    """Whether all of an interval goes the same way."""
    return low == high or low > 0 or high < 0


def _sites(sums: Sequence[Sums]) -> set[int]:
    return {site for one in sums for _, site in one.misses}


def _is_vague(name: Name) -> bool:
    """Whether it does not say what the data is a part of."""
    return not name.known or name.is_part or bool(name.among)


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
