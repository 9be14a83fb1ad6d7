"""Functions that only one of two kernels executed, and one of the other's that has the like code: a
suggestion that needs no sources."""

from collections.abc import Sequence

import numpy as np

from profdiff.evidence.blame.executed import Functions, executed
from profdiff.evidence.blame.renamed import renamed
from profdiff.evidence.blame.shapes import shapes
from profdiff.profile.comparison import Comparison
from profdiff.profile.picked_counts import PickedCounts

# For each kernel, so many functions that executed most: annotate is not to wait for the others.
_MOST = 150


class RenamedCode:
    """Between any two kernels of a comparison; each two are compared once."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._found: dict[tuple[int, int], dict[int, int]] = {}

    def of(
        self, row: int, base: int, kernel: int, counts: tuple[Sequence[PickedCounts], ...]
    ) -> int | None:
        """The function that ``row`` may be on the other one of two kernels, None where there is
        none. ``counts``: of the two. Samples tell nothing, because they miss what is rare."""
        if not self._comparison.metric.exact or any(len(one) != 1 for one in counts):
            return None
        ((first,), (second,)) = counts
        own = first.function == row, second.function == row
        if own[0].any() == own[1].any():
            return None
        if (base, kernel) not in self._found:
            self._found[base, kernel] = self._pairs((base, first), (kernel, second))
        return self._found[base, kernel].get(row)

    def _pairs(self, *sides: tuple[int, PickedCounts]) -> dict[int, int]:
        functions = Functions(self._comparison)
        alone = np.setxor1d(sides[0][1].function, sides[1][1].function)
        alone = alone[alone >= 0]
        lines = []
        for number, one in sides:
            own = np.isin(one.function, alone)
            sums = np.bincount(one.function[own], one.count[own])
            most = np.argsort(-sums, kind="stable")[:_MOST]
            rows = np.flatnonzero(np.isin(one.function, most[sums[most] > 0]))
            said = shapes(self._comparison, number, one.addresses, rows)
            lines.append(executed(one, number, functions, said, rows))
        found = renamed(lines[0], lines[1], functions.every, {}, ({}, {}))
        return {
            a: b for one in found for a, b in ((one.vanished, one.new), (one.new, one.vanished))
        }
