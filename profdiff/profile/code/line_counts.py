"""How often the source lines of a kernel's code executed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.code.sure_lines import Copy, Marks, Place, largest, sure
from profdiff.profile.picked_counts import PickedCounts
from profdiff.sources.source_line import SourceLine
from profdiff.symbolization.chains import Chains


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
