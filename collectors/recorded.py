"""What a run recorded, as plain arrays: counts by place, and who called whom."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from profdiff._native import PerfData, PerfText
from profdiff.base.metric import Metric


@dataclass(frozen=True)
class CallTree:
    """Who called whom: M nodes, callers before their callees, node 0 the root, and what ran there.

    ``parent``, ``site`` and ``target``: int64[M], the caller's node, the place of the call (or of
    what was interrupted) and of the first instruction behind it; -1: none, or unknown. ``calls``:
    int64[M], how often the node was entered. ``node``, ``place`` and ``count``: int64[R], how often
    an instruction started in a node. Places are those of the `Recorded`. ``refused``: how often a
    path was too many and counts for its caller.
    """

    parent: NDArray[np.int64]
    site: NDArray[np.int64]
    target: NDArray[np.int64]
    calls: NDArray[np.int64]
    node: NDArray[np.int64]
    place: NDArray[np.int64]
    count: NDArray[np.int64]
    refused: int

    def placed(self, rows: NDArray[np.intp]) -> "CallTree":
        """The same with place p numbered ``rows[p]``."""
        # Row -1 stays: what is behind all places.
        numbers = np.append(rows.astype(np.int64), -1)
        return replace(
            self, site=numbers[self.site], target=numbers[self.target], place=numbers[self.place]
        )

    def unequal(self, count: NDArray[np.int64]) -> int:
        """At how many of the places, int64[N], the tree's sum is not the flat count."""
        sums = np.zeros(len(count), np.int64)
        np.add.at(sums, self.place, self.count)
        return int((sums != count).sum())


@dataclass(frozen=True)
class Recorded:
    """N places and M metrics. ``address``: uint64[N]; ``code``: uint8[N, 16], the length of the
    instruction there and its bytes, zeros where the address alone tells the place; ``count``:
    int64[N, M], what was counted at each place itself. ``calls``: None where callers were not
    recorded. ``samples``: the recording that places and stacks are of, where they were sampled;
    of text, whose functions have names and no addresses, N is 0."""

    metrics: tuple[Metric, ...]
    address: NDArray[np.uint64]
    code: NDArray[np.uint8]
    count: NDArray[np.int64]
    calls: CallTree | None = None
    samples: PerfData | PerfText | None = None
