"""What a run recorded, as plain arrays: counts by place, and who called whom."""

from collections.abc import Callable, Sequence
from functools import cached_property

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base.metric import Metric
from profdiff.symbolization._native import PerfData, PerfText
from profdiff.symbolization.places import Places, distinct


class Idle(msgspec.Struct, frozen=True):
    """For how long vCPUs idled, by what gave way to that: the path of the last task of a program
    that left the vCPU to others. ``node``: int64[P], of the call tree; ``time``: int64[P],
    nanoseconds of the guest's clock, summed over vCPUs; ``times``: int64[P], how often vCPUs began
    to idle so.
    """

    node: NDArray[np.int64]
    time: NDArray[np.int64]
    times: NDArray[np.int64]

    def pruned(self, nodes: NDArray[np.bool_]) -> "Idle":
        """The same in the tree of these nodes, bool[M]; the root stands for others."""
        numbers = np.where(nodes, np.cumsum(nodes) - 1, 0)
        return replace(self, node=numbers[self.node])


class CallTree(msgspec.Struct, frozen=True):
    """Who called whom: M nodes, callers before their callees, node 0 the root, and what ran there.

    ``parent``, ``site`` and ``target``: int64[M], the caller's node, the place of the call (or of
    what was interrupted) and of the first instruction after it; -1: none, or unknown. ``calls``:
    int64[M], how often the node was entered. ``node``, ``place`` and ``count``: int64[R], how often
    an instruction started in a node. Places are rows of those recorded. ``refused``: how often a
    path was one too many and counts for its caller. ``idle``: None where that was not recorded.
    """

    parent: NDArray[np.int64]
    site: NDArray[np.int64]
    target: NDArray[np.int64]
    calls: NDArray[np.int64]
    node: NDArray[np.int64]
    place: NDArray[np.int64]
    count: NDArray[np.int64]
    refused: int
    idle: Idle | None = None

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


class Beside(msgspec.Struct, frozen=True):
    """What the kernel executed beside the workload: ``address``: uint64[B], rising; ``count``:
    int64[B], how often, or int64[B, R] in each of several runs."""

    address: NDArray[np.uint64]
    count: NDArray[np.int64]

    @staticmethod
    def of_runs(runs: Sequence["Beside"]) -> "Beside":
        """Those of R runs, int64[B] each."""
        every = distinct(np.concatenate([run.address for run in runs]))
        count = np.zeros((len(every), len(runs)), np.int64)
        for number, run in enumerate(runs):
            count[np.searchsorted(every, run.address), number] = run.count
        return Beside(every, count)


class Recorded(msgspec.Struct, frozen=True, dict=True):
    """N places and M metrics. ``executed``: uint8[N, 16], the length of the instruction at each
    place and its bytes, zeros where they were not seen. ``calls``: None where callers were not
    recorded. ``samples``: the recording that places and stacks are of, where they were sampled.
    ``text``: stacks whose functions came as names: it has no places. ``iterations``: int64[N], how
    often repeated string instructions started that ``count`` leaves out, None where that is not
    known. ``taken``: int64[N], how often the conditional branch at each place jumped to its target,
    0 for what is none; ``untold``: int64[N], of how many of its executions that is not known; None
    where it was not recorded. ``sampled``: gives int64[N, M], how many samples were taken at each
    place itself, None for exact counts. ``beside``: what ran beside the workload, which the others
    leave out; None where that is not told apart."""

    metrics: tuple[Metric, ...]
    places: Places
    executed: NDArray[np.uint8]
    counted: Callable[[], NDArray[np.int64]]
    calls: CallTree | None = None
    iterations: NDArray[np.int64] | None = None
    taken: NDArray[np.int64] | None = None
    untold: NDArray[np.int64] | None = None
    samples: PerfData | None = None
    text: PerfText | None = None
    sampled: Callable[[], NDArray[np.int64]] | None = None
    beside: Beside | None = None

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """int64[N, M], what was counted at each place itself; summed when first asked for."""
        return self.counted()
