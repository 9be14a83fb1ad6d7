"""The variables of the kernel that a workload accessed, and what shares lines with each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from profdiff.base.units import LINE, lines_of
from profdiff.profile.data.keys import folded
from profdiff.profile.data.type_layout import Accessed
from profdiff.symbolization.data_accesses import DataAccesses


@dataclass(frozen=True)
class Neighbour:
    """A variable beside another one. ``size`` in bytes, 0 if unknown."""

    name: str
    size: int
    accessed: bool


@dataclass(frozen=True)
class PlacedVariable:
    """A variable on one kernel. ``address``: in its ELF file; ``neighbours``: what else lies in its
    lines, by address."""

    section: str
    address: int
    size: int
    neighbours: list[Neighbour]

    @property
    def at(self) -> int:
        """How many bytes behind the start of a line it begins."""
        return self.address % LINE


@dataclass(frozen=True)
class AccessedVariable:
    """``counts``: by kernel, how often it was accessed. ``places``: by kernel, None where the
    kernel has no such variable, or neither accessed it nor one beside it."""

    name: str
    counts: list[int]
    places: list[PlacedVariable | None]


def accessed_variables(kernels: Sequence[Accessed | None]) -> list[AccessedVariable]:
    """Those of all kernels, the most accessed first. Variables of one name are left out: nothing
    tells which is which."""
    placed = [{} if kernel is None else _placed(kernel.accesses) for kernel in kernels]
    counts = [{} if kernel is None else _counts(kernel) for kernel in kernels]
    found = []
    for name in dict.fromkeys(name for count in counts for name in count):
        places = [one.get(name) for one in placed]
        if any(places):
            found.append(AccessedVariable(name, [count.get(name, 0) for count in counts], places))
    return sorted(found, key=lambda one: (-max(one.counts), one.name))


def _counts(kernel: Accessed) -> Mapping[str, int]:
    one, found = kernel.accesses, dict[str, int]()
    wanted = np.flatnonzero((kernel.count > 0) & (one.symbol > 0))
    wanted = wanted[(one.is_kind("global") | one.is_kind("per-cpu"))[wanted]]
    for symbol, count in zip(
        one.symbol[wanted].tolist(), kernel.count[wanted].tolist(), strict=True
    ):
        name = folded(one.strings[symbol])
        found[name] = found.get(name, 0) + count
    return found


def _placed(accesses: DataAccesses) -> Mapping[str, PlacedVariable]:
    strings = accesses.strings
    rows = list(
        zip(
            (folded(strings[name]) for name in accesses.global_name.tolist()),
            (strings[section] for section in accesses.global_section.tolist()),
            accesses.global_address.tolist(),
            accesses.global_size.tolist(),
            accesses.global_accessed.tolist(),
            strict=True,
        )
    )
    by_line: dict[tuple[str, int], list[int]] = {}
    for row, (_, section, address, size, _) in enumerate(rows):
        for line in _ends(address, size):
            by_line.setdefault((section, line), []).append(row)
    found: dict[str, PlacedVariable | None] = {}
    for row, (name, section, address, size, _) in enumerate(rows):
        beside = {
            other
            for line in _ends(address, size)
            for other in by_line[section, line]
            if other != row
        }
        neighbours = [
            Neighbour(rows[at][0], rows[at][3], bool(rows[at][4])) for at in sorted(beside)
        ]
        placed = PlacedVariable(section, address, size, neighbours)
        found[name] = None if name in found else placed
    return {name: one for name, one in found.items() if one is not None}


def _ends(address: int, size: int) -> set[int]:
    """The first and the last line of a variable: no other has anything in those between."""
    lines = lines_of(address, size)
    return {lines[0], lines[-1]}
