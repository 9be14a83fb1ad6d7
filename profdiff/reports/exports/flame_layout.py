"""Where the frames of a flamegraph lie, over the merged stacks of all kernels."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison


@dataclass(frozen=True)
class FlameLayout:
    """Frames of S stacks: ``left`` and ``width``, float64[S], in the unit of the counts; ``depth``,
    int64[S]. ``total``: int64[S, K] inclusive counts. ``whole``: the width of everything."""

    left: NDArray[np.float64]
    width: NDArray[np.float64]
    depth: NDArray[np.int64]
    total: NDArray[np.int64]
    whole: float

    @staticmethod
    def of(comparison: Comparison, kernels: list[int]) -> "FlameLayout":
        """A frame is as wide as the larger of the kernels' totals, and at least as its callees
        together, so that frames which vanished or are new are drawn where they stood; callees
        stand in the order of their names."""
        stacks = comparison.stacks
        total = stacks.inclusive(comparison.counts)
        functions = [*comparison.functions, *comparison.unnamed]
        rank = np.empty(len(functions), np.int64)
        rank[sorted(range(len(functions)), key=lambda row: functions[row])] = np.arange(
            len(functions)
        )
        width = total[:, kernels].max(axis=1, initial=0).astype(np.float64)
        left = np.zeros(len(stacks))
        # A comparison's stacks are in order of their depth.
        starts_at = np.flatnonzero(np.diff(stacks.depth, prepend=-1)).tolist()
        levels = [slice(*ends) for ends in pairwise([*starts_at, len(stacks)])]
        below = np.zeros(len(stacks))
        for rows in reversed(levels):
            np.maximum(width[rows], below[rows], out=width[rows])
            if stacks.parent[rows.start] >= 0:
                np.add.at(below, stacks.parent[rows], width[rows])
        for rows in levels:
            order = np.lexsort((rank[stacks.function[rows]], stacks.parent[rows])) + rows.start
            parent = stacks.parent[order]
            ends = np.cumsum(width[order])
            starts = ends - width[order]
            first = np.ones(len(order), np.bool_)
            first[1:] = parent[1:] != parent[:-1]
            offset = starts[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
            above = np.where(parent >= 0, left[parent], 0.0) if len(left) else starts
            left[order] = above + starts - offset
        whole = float(width[levels[0]].sum()) if levels else 0.0
        return FlameLayout(left, width, stacks.depth, total, whole)
