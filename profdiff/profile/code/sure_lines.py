"""Which lines of a kernel's code certainly executed, and how often: where an instruction of a line
executed, the line need not have. Compilers move code before the condition that guards it, make
conditional moves of it, and make code of two lines one. Where a statement begins they leave a mark.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.picked_counts import PickedCounts
from profdiff.sources.same_lines import SourceLine
from profdiff.symbolization._native import disassemble, flows
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_code import Instructions
from profdiff.symbolization.statements import Statements

Frames = tuple[int, ...]
Copy = tuple[str, Frames, SourceLine]
"""A line in a physical function, by its ELF symbol without ``.cold``, and in what is inlined there:
the call sites, and the line itself."""

# What compilers execute only where the source does: they move no such instruction before the
# condition that guards it.
_LEADS_ON = ("conditional", "call", "indirect-call", "return")
_JUMPS = ("conditional", "jump")
# Behind these no instruction follows, but what fills up to where the next one is aligned.
_ENDS = ("jump", "indirect-jump", "return", "leave")
_PADDING = ("nop", "int3", "xchg")


@dataclass(frozen=True)
class Place:
    """An instruction of the kernel that executed. ``copy``: None where no line is known;
    ``taken``: how often it jumped, if it is a conditional branch, as far as that is known; else
    0. ``code``: the row of its bytes."""

    address: int
    symbol: str
    frames: Frames
    copy: Copy | None
    count: int
    taken: int
    code: NDArray[np.uint8]


@dataclass(frozen=True)
class Marks:
    """Which statements begin at an address; and where jumps lead within a function: the
    instruction before, if it can go on there."""

    lines: Mapping[int, Set[SourceLine]]
    joins: Mapping[int, int | None]

    @staticmethod
    def of(
        statements: Statements, architecture: str, every: Instructions, starts: Set[int]
    ) -> "Marks":
        """``every``: all instructions of the functions that executed, which begin at ``starts``."""
        lines: dict[int, set[SourceLine]] = defaultdict(set)
        columns = statements.address, statements.file, statements.line
        for address, file, line in zip(*(column.tolist() for column in columns), strict=True):
            lines[address].add((statements.files[file], line))
        shown = disassemble(architecture, every.address, every.code)
        known = flows()
        flow = [known[one] for one in shown.flow.tolist()]
        jumps = [one in _JUMPS for one in flow]
        targets = {*shown.reference[jumps].tolist()} - starts
        names = [shown.strings[one] for one in shown.operation.tolist()]
        joins: dict[int, int | None] = {}
        before: int | None = None
        for address, way, name in zip(every.address.tolist(), flow, names, strict=True):
            if address in targets:
                joins[address] = before
            if way in _ENDS:
                before = None
            elif before is not None or not any(one in name for one in _PADDING):
                before = address
        return Marks(lines, joins)

    def began(self, place: Place, line: SourceLine, falls: Mapping[int, int]) -> int:
        """How often a statement of the line certainly began where the instruction executed.
        ``falls``: how often execution went on behind each one. Where jumps meet, a mark may be that
        of the empty end of what is before, or of code that was made one with that of another
        line: no mark is certain beside others, or if its instruction is of another line."""
        if place.address not in self.joins:
            return place.count
        if place.copy is None or place.copy[2] != line or len(self.lines[place.address]) > 1:
            return 0
        before = self.joins[place.address]
        return place.count if before is None else min(place.count, falls.get(before, 0))


def sure(
    places: list[Place], marks: Marks, architecture: str, known: Set[SourceLine | None]
) -> dict[Copy, int]:
    """How often each copy's statement began, as far as that is certain."""
    sites: dict[tuple[str, SourceLine], set[Frames]] = defaultdict(set)
    for place in places:
        if place.copy:
            symbol, frames, line = place.copy
            sites[symbol, line].add(frames)
    certain, possible = dict[Copy, int](), dict[Copy, int]()
    flowing = list(_flowing(places, architecture))
    conditional = [(one, copy) for one, copy, flow in flowing if flow == "conditional"]
    falls = {place.address: place.count for place in places}
    falls |= {one.address: one.count - one.taken for one, _ in conditional}
    for place in places:
        for line in marks.lines.get(place.address, set()) & known:
            there = sites.get((place.symbol, line), {()})
            around = [site for site in there if place.frames[: len(site)] == site]
            if not around and len(there) == 1:
                around = [*there]
            if around:
                copy = place.symbol, max(around, key=len), line
                possible[copy] = max(possible.get(copy, 0), place.count)
                certain[copy] = max(certain.get(copy, 0), marks.began(place, line, falls))
    branches = largest((copy, one.count) for one, copy in conditional)
    for copy in possible.keys() & branches.keys():
        certain[copy] = max(certain.get(copy, 0), min(possible[copy], branches[copy]))
    # Further lines of a statement have no mark of their own.
    marked = {line for lines in marks.lines.values() for line in lines}
    own = largest((copy, one.count) for one, copy, _ in flowing if copy[2] not in marked)
    return certain | own


def _flowing(places: list[Place], architecture: str) -> Iterator[tuple[Place, Copy, str]]:
    """The instructions that lead on in one of the ways of ``_LEADS_ON``, and whose line is known;
    and in which way."""
    address = np.array([place.address for place in places], np.uint64)
    code = np.array([place.code for place in places], np.uint8).reshape(-1, 16)
    known = flows()
    for place, number in zip(
        places, disassemble(architecture, address, code).flow.tolist(), strict=True
    ):
        if place.copy and known[number] in _LEADS_ON:
            yield place, place.copy, known[number]


def largest(counts: Iterable[tuple[Copy, int]]) -> dict[Copy, int]:
    """That of the instruction that executed most, of each copy of a line."""
    found: dict[Copy, int] = {}
    for copy, count in counts:
        found[copy] = max(found.get(copy, 0), count)
    return found


@dataclass(frozen=True)
class LineCounts:
    """``count``: by line, 0 of a line that did not execute, but lies in a function that did;
    ``unsure``: lines of which an instruction executed, though the line may not have: how often;
    ``cancelled``: lines that executed no more often in the longer of two lengths than in the
    shorter one; ``unlined``: how many instructions executed that no line is known of. ``marked``:
    whether it is known where statements begin; else nothing is unsure. ``begun``: lines whose
    statement began, though none of their own instructions executed."""

    count: Mapping[SourceLine, int]
    unsure: Mapping[SourceLine, int]
    cancelled: frozenset[SourceLine]
    unlined: int
    marked: bool
    begun: frozenset[SourceLine]

    @staticmethod
    def of(kernel: KernelFunctions, *, subtracted: bool) -> "LineCounts":
        """The lines of exact counts; ``subtracted``: those of two lengths. Where the compiler made
        several copies of a line, by inlining, these add up. Raises what ``KernelFunctions.known``
        does."""
        places = [place for part in kernel.parts for place in _places(part)]
        most = largest((one.copy, one.count) for one in places if one.copy)
        code = kernel.known.part
        certain = most
        if code:
            known = {*_lines(code.chains), *(line for _, _, line in most)}
            every = code.instructions(np.arange(len(code.start)))
            marks = Marks.of(code.statements, code.architecture, every, {*code.start.tolist()})
            certain = sure(places, marks, code.architecture, known)
        raw, count = _summed(most), _summed(certain)
        cancelled = frozenset(line for line, number in raw.items() if subtracted and not number)
        found = {line: count[line] for line in raw if line not in cancelled and count.get(line)}
        unsure = {line: raw[line] for line in raw if raw[line] and line not in found}
        if code is not None:
            for line in {*_lines(code.chains)} - cancelled - unsure.keys():
                if line is not None:
                    found.setdefault(line, count.get(line, 0))
        for line in raw.keys() - cancelled - unsure.keys():
            found.setdefault(line, 0)
        unlined = sum(one.count for one in places if one.copy is None)
        begun = frozenset(line for line, number in found.items() if number and not raw.get(line))
        return LineCounts(found, unsure, cancelled, unlined, code is not None, begun)


def _summed(counts: Mapping[Copy, int]) -> dict[SourceLine, int]:
    sums: dict[SourceLine, int] = defaultdict(int)
    for (_, _, line), count in counts.items():
        sums[line] += count
    return dict(sums)


def _places(part: PickedCounts) -> Iterator[Place]:
    """The kernel's instructions that executed."""
    chains = part.addresses.chains
    symbols = [text.replace(".cold", "") for text in chains.strings]
    mine = np.flatnonzero(part.addresses.places.in_kernel & part.ran)
    frames, lines = chains.frames.tolist(), _lines(chains)
    # All of a branch that may have jumped counts as if it had.
    jumped = part.count if part.taken is None or part.untold is None else part.taken + part.untold
    columns = (chains.symbol, chains.offsets[:-1], chains.offsets[1:], part.count, jumped)
    own = [column[mine].tolist() for column in (part.addresses.places.address, *columns)]
    for row, address, number, start, end, count, taken in zip(mine.tolist(), *own, strict=True):
        line, symbol, chain = lines[row], symbols[number], tuple(frames[start:end])
        yield Place(
            address=address,
            symbol=symbol,
            frames=chain,
            copy=(symbol, chain[:-1], line) if line else None,
            count=count,
            taken=taken,
            code=part.addresses.executed[row],
        )


def _lines(chains: Chains) -> list[SourceLine | None]:
    """The line of each address: that of its innermost frame."""
    known = [
        (chains.strings[file], line) if file and line else None
        for file, line in zip(chains.frame_file.tolist(), chains.frame_line.tolist(), strict=True)
    ]
    frames = chains.frames.tolist()
    ends = zip(chains.offsets[:-1].tolist(), chains.offsets[1:].tolist(), strict=True)
    return [known[frames[end - 1]] if end > start else None for start, end in ends]
