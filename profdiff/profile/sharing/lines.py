"""The lines of one run, each with what its data is called."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from profdiff.collectors.sharing.lines import PERSISTENT, SharedLines
from profdiff.profile.sharing.inference import led_by_calls, with_learned
from profdiff.profile.sharing.instructions import Instructions
from profdiff.profile.sharing.locks import Held, Lock, Locks
from profdiff.profile.sharing.names import USER_MEMORY, Name
from profdiff.profile.sharing.naming import LineNames, Named
from profdiff.profile.sharing.objects import Touched, implied, objects, weighed
from profdiff.profile.sharing.owners import Owners, alone
from profdiff.profile.sharing.records import Records
from profdiff.profile.sharing.sums import FieldUse, LineUse, Sums, shares
from profdiff.profile.sharing.uses import Ops, Uses
from profdiff.profile.sharing.variables import Object, Programs, Variables, Vote
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.places import KERNEL_HALF

# A larger record is not looked for on the lines beside the one that names it.
_MAX_RECORD = 16384
# A folio has the size of several pages, of which small ones have one (include/linux/mm_types.h).
_OVERLAID = frozenset({"folio"})


class Code(NamedTuple):
    """By place: the number of its innermost function, and of the innermost one that is not from a
    header; and the locks that they take."""

    inner: Sequence[int]
    site: Sequence[int]
    locks: Locks


def named_sums(
    lines: SharedLines, accesses: DataAccesses | None, code: Code, programs: Programs
) -> Iterator[tuple[Name, Sums]]:
    """What each line adds to the row of a name. Functions of unnamed data are numbers of
    ``code``."""
    run = _Run(lines, accesses, code, programs)
    for line, touched in enumerate(run.touched):
        if lines.summed[line]:
            yield from run.apart(line, touched)
        else:
            yield run.one(line, touched)


class _Run:
    def __init__(
        self, lines: SharedLines, accesses: DataAccesses | None, code: Code, programs: Programs
    ) -> None:
        self._lines, self._code, self._programs = lines, code, programs
        self._records = Records(accesses)
        self._ops, self._complete = _ops(lines), lines.ops.tolist()
        self._persistent = PERSISTENT * max(lines.all_ops, 1)
        instructions = Instructions(accesses, lines.address)
        self.touched = led_by_calls(_touched(lines, instructions), lines, instructions)
        self._variables = Variables(accesses, self._votes(), lines.vcpus)
        self._look()
        known = {line: self._there(line) for line in self._kernels()}
        self.touched = with_learned(self.touched, known, self._records)
        self._look()

    def _look(self) -> None:
        """Find the records that instructions name."""
        self._known = frozenset(self._named())
        self._near = self._by_line()

    def _kernels(self) -> Iterator[int]:
        """The lines of the kernel's data that are told alone."""
        for line in range(len(self.touched)):
            if not (self._lines.summed[line] or self._is_user(line)):
                yield line

    def _is_user(self, line: int) -> bool:
        """Whether it is a program's memory, and no variable of the kernel that programs read."""
        address = int(self._lines.line[line])
        if not self._lines.in_user[line] or address < KERNEL_HALF:
            return bool(self._lines.in_user[line])
        return not self._variables.on(address, self._lines.line_size)

    def _votes(self) -> Iterator[Vote]:
        for line, touched in enumerate(self.touched):
            address = int(self._lines.line[line])
            if not self._lines.summed[line] and address >= KERNEL_HALF:
                for one in touched:
                    for said in one.said:
                        if said.kind in ("variable", "per-cpu"):
                            yield Vote(said, address + one.offset, one.times)

    def _named(self) -> Iterator[tuple[str, int]]:
        """The records that instructions name, by their addresses."""
        size = self._lines.line_size
        for line in self._kernels():
            address = int(self._lines.line[line])
            every = [(one.offset, said) for one in self.touched[line] for said in one.said]
            exact = {said.type for _, said in every if said.offset is not None}
            for offset, said in every:
                found = implied(said, offset, size, self._records)
                if found is None or found.kind != "field" or said.origins:
                    continue
                if said.offset is not None or said.type not in exact:
                    yield found.name, address + found.base

    def _by_line(self) -> dict[int, list[Object]]:
        """Where those that are larger than a line lie on others, too. Elsewhere than on persistent
        lines, that can have been at another time."""
        size = self._lines.line_size
        found: defaultdict[int, list[Object]] = defaultdict(list)
        for name, start in self._known:
            length = self._records.size(name)
            if length <= _MAX_RECORD and name not in _OVERLAID:
                for line in range(start // size * size, start + length, size):
                    found[line].append(Object("field", name, start - line, length))
        return found

    def _there(self, line: int) -> list[Object]:
        """The objects on a line."""
        address, size = int(self._lines.line[line]), self._lines.line_size
        there = self._variables.on(address, size)
        if self._lines.transfers[line] >= self._persistent:
            there += self._near.get(address, [])
        return objects(weighed(self.touched[line]), there, size, self._records)

    def _line_names(self, line: int, touched: Sequence[Touched]) -> LineNames:
        address, size = int(self._lines.line[line]), self._lines.line_size
        weights, found = weighed(touched), self._there(line)
        of_line = self._records, self._variables, self._known, address, weights, found
        places = Owners(*of_line).places()
        return LineNames(touched, places, size, self._records, self._variables)

    def one(self, line: int, touched: Sequence[Touched]) -> tuple[Name, Sums]:
        """A line by itself."""
        lines, size = self._lines, self._lines.line_size
        sums = self._sums(line)
        names: list[Named | None]
        of = None
        if self._is_user(line):
            start = int(lines.user[line])
            named_at = {one.offset: self._program(start and start + one.offset) for one in touched}
            names = [named_at[one.offset] for one in touched]
        else:
            of = self._line_names(line, touched)
            names = [of.of(one) for one in touched]
        uses = Uses(touched, names, self._ops.get(line, {}), self._complete, size)
        sharing = uses.sharing()
        named = self._main(touched, names, sharing)
        if of is None and not named.name.known:
            named = self._program(int(lines.user[line]))
        sums.alternatives = set(named.alternatives)
        sums.false, sums.untold = uses.parts(sums.transfers)
        if of is not None and named.name.known:
            sums.covers = of.covers(named.name)
        if sums.transfers < self._persistent:
            sums.recycled, sums.recycled_misses = sums.transfers, sums.all_misses
        else:
            sums.held = self._held(line, touched, names)
            for own, count in sharing.items():
                if own is not None:
                    sums.sharing[own.name] += count
            # An array that goes on to other lines does not make one of them.
            written = (own.name for own in uses.written())
            sums.written = {own for own in written if own.path in sums.covers}
        bystanders, sums.bystander_reads = uses.bystanders()
        for number, count in bystanders.items():
            reads = names[number] or self._unnamed([touched[number]])
            sums.bystanders[reads.name] += count
        sums.locked = _locked(touched)
        sums.misses = self._misses(touched)
        sums.largest = LineUse(sums.transfers, size, _fields(touched, names, lines.vcpus))
        return named.name, sums

    def _program(self, address: int) -> Named:
        return Named(self._programs.name(address))

    def apart(self, line: int, touched: Sequence[Touched]) -> Iterator[tuple[Name, Sums]]:
        """Many lines that are summed: each instruction tells its data alone, and has a part of
        them."""
        parts: defaultdict[Name, list[Touched]] = defaultdict(list)
        for one in touched:
            # A program accesses no other memory.
            if self._lines.in_user[line] or self._lines.address[one.place] < KERNEL_HALF:
                parts[USER_MEMORY].append(one)
            else:
                every = (alone(said, self._records, self._variables) for said in one.said)
                told = [name for name in every if name is not None]
                parts[min(told, default=self._unnamed([one]).name)].append(one)
        names = sorted(parts)
        if not names:
            names = [USER_MEMORY if self._lines.in_user[line] else Name("unnamed")]
        total = self._sums(line)
        by_misses = [sum(one.misses for one in parts.get(name, ())) for name in names]
        by_count = [sum(one.times for one in parts.get(name, ())) for name in names]
        weights = by_misses if any(by_misses) else by_count
        split = [Sums() for _ in names]
        for column in (
            *("transfers", "read_fetches", "write_fetches", "upgrades", "lines"),
            *("fewest", "most"),
        ):
            for part, share in zip(split, shares(getattr(total, column), weights), strict=True):
                setattr(part, column, share)
        for name, sums in zip(names, split, strict=True):
            sums.untold = sums.recycled = sums.transfers
            sums.recycled_misses = sums.all_misses
            sums.locked = _locked(parts.get(name, ()))
            sums.misses = self._misses(parts.get(name, ()))
            sums.alternatives = set(name.among)
            yield name, sums

    def _sums(self, line: int) -> Sums:
        lines = self._lines
        return Sums(
            transfers=int(lines.transfers[line]),
            read_fetches=int(lines.read_fetches[line]),
            write_fetches=int(lines.write_fetches[line]),
            upgrades=int(lines.upgrades[line]),
            fewest=int(lines.fewest[line]),
            most=int(lines.most[line]),
            lines=int(lines.lines[line]),
        )

    def _main(
        self,
        touched: Sequence[Touched],
        names: Sequence[Named | None],
        sharing: Counter[Named | None],
    ) -> Named:
        """The name of what most makes a line change hands."""
        stores: Counter[Named | None] = Counter()
        misses: Counter[Named | None] = Counter()
        for one, name in zip(touched, names, strict=True):
            stores[name] += one.times if one.store else 0
            misses[name] += one.misses
        last = Named(Name("unnamed"))

        def rank(one: Named | None) -> tuple[object, ...]:
            return -sharing[one], -stores[one], -misses[one], one is None, one or last

        best = min(sharing or stores, key=rank, default=last)
        if best is not None:
            return best
        return self._unnamed([one for one, name in zip(touched, names, strict=True) if not name])

    def _unnamed(self, touched: Sequence[Touched]) -> Named:
        """Data of which only the function is known that accesses it most."""
        weights: Counter[int] = Counter()
        for one in touched:
            weights[self._code.site[one.place]] += one.misses
        counts: Counter[int] = Counter()
        for one in touched:
            counts[self._code.site[one.place]] += one.times
        most = min(
            weights, key=lambda weight: (-weights[weight], -counts[weight], weight), default=-1
        )
        return Named(Name("unnamed", function=most))

    def _held(self, line: int, touched: Sequence[Touched], names: Sequence[Named | None]) -> Held:
        """What executes while locks on a line are held."""
        found = Held.none()
        known = {
            (one.place, one.offset): (own or self._unnamed([one])).name
            for one, own in zip(touched, names, strict=True)
            if one.store
        }
        for pair in self._code.locks.on(line):
            # Not known: one that took it before it was known that the line misses often.
            if (name := known.get((pair.place, pair.offset))) is not None:
                lock = Lock(name, pair.function, pair.mode)
                found.times[lock] += pair.times
                found.instructions[lock] += pair.instructions
        return found

    def _misses(self, touched: Sequence[Touched]) -> Counter[tuple[int, int]]:
        found: Counter[tuple[int, int]] = Counter()
        for one in touched:
            if one.misses:
                found[self._code.inner[one.place], self._code.site[one.place]] += one.misses
        return found


def _touched(lines: SharedLines, instructions: Instructions) -> list[list[Touched]]:
    """The accesses to each line, in an order that does not depend on the file's."""
    flags = (lines.store, lines.locked, lines.repeated)
    columns = (
        *(lines.access_line, lines.access_place, lines.access_vcpu, lines.access_offset),
        *(lines.access_size, *flags, lines.count, lines.misses),
    )
    order = np.lexsort(columns[::-1])
    found: list[list[Touched]] = [[] for _ in range(len(lines.line))]
    for line, place, vcpu, offset, size, store, locked, repeated, count, misses in zip(
        *(column[order].tolist() for column in columns), strict=True
    ):
        said = instructions.said(place, store=store, size=size)
        # How far a repeated one reaches in the line is not known.
        reach = lines.line_size - offset if repeated else max(size, 1)
        found[line].append(Touched(place, vcpu, offset, reach, store, locked, count, misses, said))
    return found


def _ops(lines: SharedLines) -> dict[int, dict[int, Ops]]:
    """Those that touch each line, by vCPU."""
    found: dict[int, dict[int, Ops]] = {}
    columns = (lines.touch_line, lines.touch_vcpu, lines.touch_ops, lines.touch_writing_ops)
    for line, vcpu, touching, writing in zip(*(column.tolist() for column in columns), strict=True):
        found.setdefault(line, {})[vcpu] = Ops(touching, writing)
    return found


def _locked(touched: Sequence[Touched]) -> int:
    """Executed locked instructions: what they load and what they store is one."""
    sums: Counter[tuple[int, int, bool]] = Counter()
    for one in touched:
        if one.locked:
            sums[one.place, one.vcpu, one.store] += one.times
    pairs = {(place, vcpu) for place, vcpu, _ in sums}
    return sum(max(sums[(*pair, False)], sums[(*pair, True)]) for pair in pairs)


def _fields(
    touched: Sequence[Touched], names: Sequence[Named | None], vcpus: int
) -> list[FieldUse]:
    """Who accesses which bytes, by their place."""
    found: dict[tuple[int, int, Named | None], FieldUse] = {}
    for one, name in zip(touched, names, strict=True):
        key = one.offset, one.size, name
        use = found.setdefault(key, FieldUse(one.offset, one.size, name, [0] * vcpus, [0] * vcpus))
        (use.stores if one.store else use.loads)[one.vcpu] += one.times
    return sorted(
        found.values(), key=lambda use: (use.offset, use.size, use.named is None, use.named or ())
    )
