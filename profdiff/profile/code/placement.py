"""Where the code of the kernel's functions lies, and their loops: of the functions that the
compiler made, each with what it inlined into them, as far as it executed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from profdiff.base.cache_line import covered
from profdiff.base.errors import InputError, SessionError
from profdiff.profile.code.alignment import KernelSide, partners
from profdiff.profile.code.decoded import decoded
from profdiff.profile.code.function import FunctionCode, Piece, joined
from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.code.loops import Loop, loops, ways
from profdiff.profile.comparison import Comparison
from profdiff.session.session import Session

# Loops of which less is the same are others.
_SAME = 0.5


@dataclass(frozen=True)
class PlacedCode:
    """A function on one kernel. ``count``: what executed in it. ``size``: bytes of its symbols that
    executed, and ``start``: where the one begins in which most executed (avma); None where the
    code around what executed is not known. ``executed``: bytes that executed, and ``lines``: how
    many lines these lie in."""

    count: int
    size: int | None
    start: int | None
    executed: int
    lines: int


@dataclass(frozen=True)
class PlacedLoop:
    """A loop on one kernel. ``turns``: how often it went back to its head, which lies at ``head``
    (avma), ``offset`` bytes behind the start of its symbol. ``executed`` and ``lines``: as those of
    code. ``function``: whose instruction the head is, perhaps inlined, at ``line`` of ``file``."""

    turns: int
    head: int
    offset: int
    executed: int
    lines: int
    function: str
    file: str
    line: int


@dataclass(frozen=True)
class PlacedFunction:
    """``row``: which of the comparison's functions. ``codes``: by kernel, None where it did not
    execute; ``loops``: by kernel, the same loop of each, None where it has none."""

    row: int
    codes: list[PlacedCode | None]
    loops: list[list[PlacedLoop | None]]


class CodePlacement:
    """The kernel's code in a comparison of exact counts with F functions and K kernels."""

    def __init__(self, comparison: Comparison, session: Session | None) -> None:
        self._comparison = comparison
        self._kernels = [
            _Kernel(comparison, number, session) for number in range(len(comparison.kernels))
        ]

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """int64[F, K]: what executed in each function with what is inlined into it; 0 of those that
        are always inlined."""
        return np.stack([one.counts for one in self._kernels], axis=1)

    @property
    def missing(self) -> list[str]:
        """By kernel, why the code around what executed is not known, "" where it is."""
        return [one.missing for one in self._kernels]

    @property
    def knows_loops(self) -> bool:
        """Whether it was recorded on all kernels how often branches were taken."""
        told = all(one.tells_branches for one in self._kernels)
        return told and not self._comparison.mixes_vcpus

    def placed(self, row: int) -> PlacedFunction:
        """Where a function's code lies, and its loops."""
        codes = [one.code(row) for one in self._kernels]
        found = [
            one.placed(code) if code is not None else None
            for one, code in zip(self._kernels, codes, strict=True)
        ]
        return PlacedFunction(row, found, self._loops(codes))

    def _loops(self, codes: Sequence[FunctionCode | None]) -> list[list[PlacedLoop | None]]:
        """Those of the base with their partners on other kernels, then those of others alone."""
        if not self.knows_loops:
            return []
        kernels = list(zip(self._kernels, codes, strict=True))
        sides = [None if code is None else one.side(code) for one, code in kernels]
        every = [
            [] if side is None else one.loops(side)
            for one, side in zip(self._kernels, sides, strict=True)
        ]
        rows: list[list[PlacedLoop | None]] = []
        # By base's loop, and others' that follow: which row.
        for number, (one, side, found) in enumerate(zip(self._kernels, sides, every, strict=True)):
            pairs = _paired(sides[0], side, every[0], found) if number else {}
            for at, loop in enumerate(found):
                row = pairs.get(at)
                if row is None:
                    row = len(rows)
                    rows.append([None] * len(kernels))
                rows[row][number] = None if side is None else one.loop(side.code, loop)
        return rows


class _Kernel:
    """One of the kernels."""

    def __init__(self, comparison: Comparison, kernel: int, session: Session | None) -> None:
        self._functions = len(comparison.functions)
        self._kernel = KernelFunctions(comparison, kernel, session)
        self._missing: str | None = None

    @cached_property
    def _piece(self) -> Piece | None:
        """All that executed in the kernel."""
        if not self._kernel.parts:
            return None
        part, *_ = self._kernel.parts
        addresses = part.addresses
        wanted = addresses.places.in_kernel & (part.count > 0) & (addresses.executed[:, 0] > 0)
        every = Piece(
            chains=addresses.chains,
            functions=part.functions,
            chain=np.arange(len(part.count)),
            address=addresses.places.address,
            code=addresses.executed,
            count=part.count,
            samples=None,
            taken=part.taken,
            untold=part.untold,
        )
        return every.only(wanted)

    @cached_property
    def _outer(self) -> NDArray[np.int64]:
        """int64[N]: the row of the function that each instruction lies in; -1: none."""
        if self._piece is None:
            return np.empty(0, np.int64)
        part, functions = self._kernel.parts[0], self._piece.functions
        outermost = functions.frames[functions.offsets[:-1].astype(np.int64)]
        result: NDArray[np.int64] = part.number[outermost][self._piece.chain]
        return result

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """int64[F]."""
        found = np.zeros(self._functions, np.int64)
        if self._piece is not None:
            inside = self._outer >= 0
            np.add.at(found, self._outer[inside], self._piece.count[inside])
        return found

    @property
    def tells_branches(self) -> bool:
        """Whether it is known how often branches were taken."""
        return self._piece is None or self._piece.taken is not None

    @cached_property
    def _ranges(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Where the ranges of the code that is known begin, and how large they are."""
        nothing = np.empty(0, np.uint64), np.empty(0, np.int64)
        try:
            known = self._kernel.known
        except (SessionError, InputError) as error:
            self._missing = str(error)
            return nothing
        self._missing = known.missing
        if known.code is None:
            return nothing
        return known.code.start, known.code.size.astype(np.int64)

    @property
    def missing(self) -> str:
        """Why nothing is known but what executed."""
        _ = self._ranges
        return self._missing or ""

    def code(self, row: int) -> FunctionCode | None:
        """What executed in a function, by address; None for nothing."""
        if self._piece is None:
            return None
        found = joined([self._piece.only(self._outer == row)])
        return found.by_address() if len(found) else None

    def placed(self, code: FunctionCode) -> PlacedCode:
        """Where it lies."""
        ranges = self._range(code.address)
        start, size = self._ranges
        inside = ranges >= 0
        most = None
        if inside.any():
            most = int(np.bincount(ranges[inside], weights=code.count[inside]).argmax())
        return PlacedCode(
            count=int(code.count.sum()),
            size=None if most is None else int(size[np.unique(ranges[inside])].sum()),
            start=None if most is None else int(start[most]),
            executed=int(code.code[:, 0].sum()),
            lines=len(_covered(code, np.arange(len(code)))),
        )

    def side(self, code: FunctionCode) -> KernelSide:
        """For the alignment of it with another kernel's."""
        return KernelSide(code, decoded(self._kernel, code), np.zeros(len(code), np.int64))

    def loops(self, side: KernelSide) -> list[Loop]:
        """Those of a function."""
        code, told = side.code, side.decoded
        if code.taken is None:
            return []
        start, _ = self._ranges
        ranges = self._range(code.address)
        entry = np.zeros(len(code), np.bool_)
        inside = ranges >= 0
        entry[inside] = start[ranges[inside]] == code.address[inside]
        length = code.code[:, 0].astype(np.int64)
        return loops(
            ways(code.address, length, told.flow, told.target, code.count, code.taken, entry)
        )

    def loop(self, code: FunctionCode, loop: Loop) -> PlacedLoop:
        """Where it lies."""
        members, head = np.array(loop.members), loop.head
        at = int(self._range(code.address[head : head + 1])[0])
        first = int(code.address[head])
        return PlacedLoop(
            turns=loop.turns,
            head=first,
            offset=first - int(self._ranges[0][at] if at >= 0 else code.address[0]),
            executed=int(code.code[members, 0].sum()),
            lines=len(_covered(code, members)),
            function=code.places[int(code.place[head])][-1],
            file=code.strings[int(code.file[head])],
            line=int(code.line[head]),
        )

    def _range(self, address: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The range that each lies in; -1: none."""
        known = self._kernel.known.code if len(self._ranges[0]) else None
        return np.full(len(address), -1) if known is None else known.ranges_of(address)


def _covered(code: FunctionCode, rows: NDArray[np.int64]) -> set[int]:
    """The lines of some instructions."""
    return covered(zip(code.address[rows].tolist(), code.code[rows, 0].tolist(), strict=True))


def _paired(
    base: KernelSide | None, other: KernelSide | None, before: Sequence[Loop], now: Sequence[Loop]
) -> dict[int, int]:
    """By number of another kernel's loop, that of the base's which has most of its instructions."""
    if base is None or other is None or not before or not now:
        return {}
    of_other = dict(zip(*(rows.tolist() for rows in partners(base, other)), strict=True))
    alike = []
    for old, loop in enumerate(before):
        same = {of_other[row] for row in loop.members if row in of_other}
        for new, one in enumerate(now):
            part = len(same.intersection(one.members)) / max(len(loop.members), len(one.members))
            if part >= _SAME:
                alike.append((-part, old, new))
    found: dict[int, int] = {}
    for _, old, new in sorted(alike):
        if new not in found and old not in found.values():
            found[new] = old
    return found
