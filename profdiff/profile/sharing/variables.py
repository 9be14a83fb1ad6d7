"""Where static variables lie: a kernel's, those of each CPU, and those of the workload's files."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from profdiff.collectors.sharing.lines import SharedLines
from profdiff.profile.data.keys import folded
from profdiff.profile.sharing.instructions import Said
from profdiff.profile.sharing.names import ANONYMOUS, PER_CPU, USER_MEMORY, Kind, Name
from profdiff.symbolization._native import NativeError, elf_data, place_user
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.places import KERNEL_HALF, Places

_WORD = 1 << 64


class Object(NamedTuple):
    """Something on a line. ``kind``: *field* of a record, *variable*, *per-cpu* or *stack*;
    ``name``: the record, or the variable. ``base``: from the start of the line, ``size``: bytes."""

    kind: Kind
    name: str
    base: int
    size: int

    def holds(self, offset: int) -> bool:
        """Whether it has the byte at an offset in the line."""
        return self.base <= offset < self.base + self.size


class Vote(NamedTuple):
    """An access to a variable that its instruction names: at ``address``, so many ``times``."""

    said: Said
    address: int
    times: int


class Variables:
    """``accesses``: what the kernel's instructions access. ``votes`` tell where it was loaded, and
    where the data of its CPUs, of which there are ``cpus``, begins."""

    def __init__(self, accesses: DataAccesses | None, votes: Iterable[Vote], cpus: int) -> None:
        self._types: dict[str, Counter[str]] = defaultdict(Counter)
        self._names: list[str] = []
        self._starts = self._ends = np.empty(0, np.int64)
        self._of_cpus = np.empty(0, np.bool_)
        self._bias, self._bases, self._cpus = 0, list[int](), cpus
        if accesses is None:
            return
        strings = accesses.strings
        self._names = [strings[name] for name in accesses.global_name.tolist()]
        sections = [strings[name] for name in accesses.global_section.tolist()]
        self._of_cpus = np.array([section == PER_CPU for section in sections], np.bool_)
        # Addresses of the kernel's half are negative; sums wrap as addresses do.
        self._starts = accesses.global_address.view(np.int64)
        sizes = accesses.global_size.astype(np.int64)
        self._ends = self._starts + np.maximum(sizes, 1)
        every = sorted(
            votes, key=lambda vote: (vote.address, vote.said.symbol, vote.said.offset or 0)
        )
        self._load(every, cpus)

    def _load(self, votes: Iterable[Vote], cpus: int) -> None:
        places: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
        columns = zip(self._names, self._of_cpus.tolist(), self._starts.tolist(), strict=True)
        for name, of_cpu, start in columns:
            places[name, of_cpu].append(start)
        static: Counter[int] = Counter()
        per_cpu: Counter[int] = Counter()
        for said, address, count in votes:
            # Records without a tag have one name, and several layouts.
            if said.type != ANONYMOUS:
                self._types[folded(said.symbol)][said.type] += count
            if said.offset is None:
                continue
            of_cpu = said.kind == "per-cpu"
            starts = places.get((said.symbol, of_cpu), ())
            # One of several namesakes: it counts where others say the same.
            weight = count if len(starts) == 1 else 0
            for start in starts:
                found = _signed(address - start - said.offset)
                (per_cpu if of_cpu else static)[found] += weight
        if static:
            self._bias = min(static, key=lambda one: (-static[one], abs(one), one))
        sure = [one for one in per_cpu if per_cpu[one]]
        self._bases = sorted(sure, key=lambda one: (-per_cpu[one], one))[:cpus]

    @property
    def has_cpus(self) -> bool:
        """Whether it is known where the data of all CPUs is."""
        return len(self._bases) == self._cpus

    def type_of(self, symbol: str) -> str:
        """The record that a variable is, as instructions say; "" where none does."""
        found = self._types.get(symbol)
        return min(found, key=lambda one: (-found[one], one)) if found else ""

    def on(self, address: int, size: int) -> list[Object]:
        """What lies in ``size`` bytes from an address on."""
        found = self._among(address - self._bias, size, of_cpu=False)
        for base in self._bases:
            found += self._among(address - base, size, of_cpu=True)
        return sorted(set(found))

    def _among(self, address: int, size: int, *, of_cpu: bool) -> list[Object]:
        start = _signed(address)
        inside = (self._starts < start + size) & (self._ends > start) & (self._of_cpus == of_cpu)
        kind: Kind = "per-cpu" if of_cpu else "variable"
        return [
            Object(
                kind,
                folded(self._names[row]),
                int(self._starts[row]) - start,
                int(self._ends[row] - self._starts[row]),
            )
            for row in np.flatnonzero(inside).tolist()
        ]


def _signed(address: int) -> int:
    """As the two's complement of 64 bits."""
    address %= _WORD
    return address - _WORD if address >= _WORD // 2 else address


# A heap begins behind the program, and seldom is longer.
_HEAP = 1 << 30


class _Part(NamedTuple):
    """What lies from ``start`` to ``end``; a ``variable``, or a section of the ``program``."""

    start: int
    end: int
    program: str
    variable: str


class Programs:
    """``files``: ELF files by their path in the guest."""

    def __init__(self, files: Mapping[str, Path], lines: SharedLines, places: Places) -> None:
        self._variables: list[_Part] = []
        self._sections: list[_Part] = []
        user = np.flatnonzero(lines.address < KERNEL_HALF)
        if not files or not len(user) or places.code is None:
            return
        code = np.ascontiguousarray(places.code[user], dtype=np.uint8)
        try:
            owners, svma, reason = place_user(
                [str(path) for path in files.values()], places.address[user], code
            )
            for number, (guest, path) in enumerate(files.items()):
                mine = (reason == 0) & (owners == number)
                if mine.any():
                    # The mapping that executed most.
                    found = Counter((places.address[user][mine] - svma[mine]).tolist())
                    self._add(guest.rsplit("/", 1)[-1], path, found.most_common(1)[0][0])
        except NativeError:
            # A damaged file names nothing.
            return

    def _add(self, program: str, path: Path, bias: int) -> None:
        variables, sections = elf_data(str(path))
        for into, parts, is_variable in (
            (self._variables, variables, True),
            (self._sections, sections, False),
        ):
            for name, start, size in parts:
                place = start + bias & (1 << 64) - 1
                told = (program, name) if is_variable else (f"{name} of {program}", "")
                into.append(_Part(place, place + size, *told))

    def name(self, address: int) -> Name:
        """What lies at an address of a program; 0: not known. Without a file, nothing is."""
        if not address or not self._sections:
            return USER_MEMORY
        for parts in (self._variables, self._sections):
            for part in parts:
                if part.start <= address < part.end:
                    return Name("user-memory", part.program, part.variable)
        if any(section.end <= address < section.end + _HEAP for section in self._sections):
            return Name("user-memory", "heap")
        return Name("user-memory", "mapped")
