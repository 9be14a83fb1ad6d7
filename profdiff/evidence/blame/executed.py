"""What a kernel executed, source line by source line."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.picked_counts import PickedCounts, picked_counts

INEXACT = (
    "blame needs exact counts, which add up to the last instruction: record with --collector exact"
)
# Every copy of a line (the line in its function, and in each function that this is inlined into)
# by the shapes of its instructions, sorted.
Code = frozenset[tuple[str, ...]]


class Line(NamedTuple):
    """A source line as one kernel executed it in one function. ``function``: its number among
    `Functions`. ``file`` and ``line``: "" and 0 if the debug information has none.
    ``instructions``: below zero where two lengths are subtracted and the longer one had less."""

    function: int
    file: str
    line: int
    instructions: int
    code: Code


class Functions:
    """The functions of a comparison by number: those with a name, then those that stand for what is
    unresolved, then those that a comparison of two lengths leaves out, since they cancel."""

    def __init__(self, comparison: Comparison) -> None:
        self.every: list[Function] = [*comparison.functions, *comparison.unnamed]
        self._numbers = comparison.numbers
        self._more: dict[Function, int] = {}

    def number(self, kernel: int, function: Function) -> int:
        """The number of a function as one kernel has it."""
        known = self._numbers[kernel].get(function, self._more.get(function))
        if known is None:
            known = self._more[function] = len(self.every)
            self.every.append(function)
        return known

    @property
    def unresolved(self) -> frozenset[int]:
        """Those that stand for what has no function."""
        return frozenset(number for number, one in enumerate(self.every) if one.reason)


def counted(comparison: Comparison, kernel: int) -> PickedCounts:
    """The exact counts of a kernel's places. Raises InputError where there are none."""
    found = picked_counts(comparison, kernel)
    if not comparison.metric.exact or len(found) != 1:
        raise InputError(INEXACT)
    return found[0]


def executed(
    counts: PickedCounts,
    kernel: int,
    functions: Functions,
    shapes: Sequence[str],
    rows: NDArray[np.int64] | slice = slice(None),
) -> list[Line]:
    """What ``kernel`` executed: the counts of all lines sum to its total. ``rows``: only at these
    places, by number; ``shapes``: of the instruction at each of them."""
    chains, found = counts.addresses.chains, counts.functions
    numbers = [functions.number(kernel, one) for one in found.functions]
    innermost = found.frames[found.offsets[1:].astype(np.int64) - 1]
    frames, files, lines = (
        column.tolist() for column in (chains.frames, chains.frame_file, chains.frame_line)
    )
    places = (
        column[rows].tolist()
        for column in (innermost, chains.offsets[:-1], chains.offsets[1:], chains.symbol)
    )
    copies: dict[tuple[int, str, int], dict[object, list[str]]] = defaultdict(dict)
    sums: dict[tuple[int, str, int], int] = defaultdict(int)
    counted = counts.count[rows].tolist()
    for function, start, end, symbol, count, shape in zip(*places, counted, shapes, strict=True):
        file, line = "", 0
        if end > start:
            leaf = frames[end - 1]
            file, line = chains.strings[files[leaf]], lines[leaf]
        key = (numbers[function], file, line) if file and line else (numbers[function], "", 0)
        sums[key] += count
        # In one physical function a line may have several copies, one for each call site.
        place = (symbol, *frames[start : end - 1])
        copies[key].setdefault(place, []).append(shape)
    return [
        Line(*key, total, frozenset(tuple(sorted(one)) for one in copies[key].values()))
        for key, total in sums.items()
    ]
