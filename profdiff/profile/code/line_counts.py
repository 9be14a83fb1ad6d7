"""How often the source lines of a kernel's code executed."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from profdiff.profile.code.kernel_functions import KernelFunctions
from profdiff.profile.picked_counts import PickedCounts
from profdiff.sources.source_line import SourceLine
from profdiff.symbolization.chains import Chains

# A line in a physical function, by its ELF symbol without ``.cold``, and in what is inlined there:
# the call sites, and the line itself, as frames.
_Copy = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class LineCounts:
    """``count``: by line, 0 of a line that did not execute, but lies in a function that did;
    ``cancelled``: lines that executed no more often in the longer of two lengths than in the
    shorter one; ``unlined``: how many instructions executed that no line is known of."""

    count: Mapping[SourceLine, int]
    cancelled: frozenset[SourceLine]
    unlined: int

    @staticmethod
    def of(kernel: KernelFunctions, *, subtracted: bool) -> "LineCounts":
        """The lines of exact counts; ``subtracted``: those of two lengths. A line counts as often
        as that of its instructions that executed most; where the compiler made several copies of a
        line, by inlining, these add up. Raises what ``KernelFunctions.known`` does."""
        most: dict[_Copy, int] = {}
        where: dict[_Copy, SourceLine] = {}
        unlined = 0
        for part in kernel.parts:
            for copy, line, count in _places(part):
                if line is None:
                    unlined += count
                elif count > most.get(copy, -1):
                    most[copy], where[copy] = max(count, 0), line
        sums: dict[SourceLine, int] = defaultdict(int)
        for copy, line in where.items():
            sums[line] += most[copy]
        cancelled = frozenset(line for line, count in sums.items() if subtracted and not count)
        found = {line: count for line, count in sums.items() if line not in cancelled}
        if kernel.known.code is not None:
            for line in set(_lines(kernel.known.code.chains)) - cancelled:
                if line is not None:
                    found.setdefault(line, 0)
        return LineCounts(found, cancelled, unlined)


def _places(part: PickedCounts) -> Iterator[tuple[_Copy, SourceLine | None, int]]:
    """The copy, the line, None if it is unknown, and the count of each of the kernel's places."""
    chains = part.addresses.chains
    symbols = [text.replace(".cold", "") for text in chains.strings]
    mine = np.flatnonzero(part.addresses.places.in_kernel & part.ran)
    frames, lines = chains.frames.tolist(), _lines(chains)
    columns = (chains.symbol, chains.offsets[:-1], chains.offsets[1:], part.count)
    rows = zip(mine.tolist(), *(column[mine].tolist() for column in columns), strict=True)
    for row, symbol, start, end, count in rows:
        yield (symbols[symbol], tuple(frames[start:end])), lines[row], count


def _lines(chains: Chains) -> list[SourceLine | None]:
    """The line of each address: that of its innermost frame."""
    known = [
        (chains.strings[file], line) if file and line else None
        for file, line in zip(chains.frame_file.tolist(), chains.frame_line.tolist(), strict=True)
    ]
    frames = chains.frames.tolist()
    ends = zip(chains.offsets[:-1].tolist(), chains.offsets[1:].tolist(), strict=True)
    return [known[frames[end - 1]] if end > start else None for start, end in ends]
