"""The loops that kernels executed: how often, and what of one iteration jumps.

Blocks and edges are those that executed: of a function with all that is inlined into it, without
what it calls. A loop is the natural loop of a block that dominates the source of an edge to it; an
inner loop belongs to the outer one, too.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.addresses import Addresses
from profdiff.profile.code.classes import architecture
from profdiff.profile.code.natural_loops import natural_loops
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.symbolization._native import disassemble, flows

# More instructions than a function has that people write; larger ones have no loops here.
_MAX_PLACES = 50_000
_FLOWS = flows()
_CONDITIONAL, _JUMP, _INDIRECT = (
    _FLOWS.index(name) for name in ("conditional", "jump", "indirect-jump")
)
_GO_ON = {_FLOWS.index(name) for name in ("next", "call", "indirect-call", "enter")}


class LoopKey(NamedTuple):
    """What a loop is known by on all kernels: the function that has it, the ``inner`` one that all
    of its code is of, which is inlined or the same, and its place among their loops, the most
    frequent first."""

    function: Function
    inner: str
    number: int


class Loop(NamedTuple):
    """``iterations``: how often its first instruction ran; ``instructions`` and ``taken`` (jumps of
    any kind): of all iterations. ``line``: of the source, where it begins, 0 if unknown."""

    iterations: int
    instructions: int
    taken: int
    line: int

    @property
    def length(self) -> float:
        """Instructions of an iteration."""
        return self.instructions / self.iterations

    @property
    def jumps(self) -> float:
        """Jumps taken in an iteration."""
        return self.taken / self.iterations


def loops(comparison: Comparison, kernel: int) -> Mapping[LoopKey, Loop] | None:
    """Those of a kernel; None where no recording tells which branches were taken."""
    (addresses,) = comparison.addresses[kernel]
    if addresses.taken is None or addresses.untold is None:
        return None
    found: defaultdict[tuple[Function, str], list[Loop]] = defaultdict(list)
    for function, code in _functions(comparison, kernel, addresses):
        for head, body in natural_loops(code.edges, code.entered):
            loop = Loop(
                iterations=code.count[head],
                instructions=sum(code.count[node] for node in body),
                taken=sum(code.jumps[node] for node in body),
                line=code.line(head),
            )
            found[function, code.inner(body)].append(loop)
    return {
        LoopKey(*names, number): loop
        for names, some in found.items()
        for number, loop in enumerate(sorted(some, reverse=True), 1)
    }


class _Code:
    """The N places of a function that executed, by rising address. ``edges``: to which each leads;
    ``jumps``: how often it jumped. ``entered``: those that something else than ``edges`` leads
    to."""

    def __init__(
        self, addresses: Addresses, rows: NDArray[np.int64], columns: Sequence[NDArray[Any]]
    ) -> None:
        flow, target, counts, taken, unknown = (column[rows].tolist() for column in columns)
        self._addresses, self._rows = addresses, rows
        self.count: list[int] = counts
        place = addresses.places.address[rows].tolist()
        behind = (addresses.places.address[rows] + addresses.executed[rows, 0]).tolist()
        at = {address: node for node, address in enumerate(place)}
        self.edges: list[list[int]] = []
        self.jumps: list[int] = []
        into = [0] * len(place)
        sure = [True] * len(place)
        indirect = []
        for node, kind in enumerate(flow):
            to: list[tuple[int | None, int]] = []
            self.jumps.append(0)
            if kind == _CONDITIONAL:
                self.jumps[node] = taken[node]
                rest = counts[node] - taken[node]
                to = [(at.get(target[node]), taken[node]), (at.get(behind[node]), rest)]
            elif kind == _JUMP:
                self.jumps[node] = counts[node]
                to = [(at.get(target[node]), counts[node])]
            elif kind == _INDIRECT:
                self.jumps[node] = counts[node]
                indirect.append(node)
            elif kind in _GO_ON:
                to = [(at.get(behind[node]), counts[node])]
            edges = [(other, times) for other, times in to if other is not None]
            for other, times in edges:
                into[other] += times
                sure[other] &= not unknown[node]
            self.edges.append([other for other, times in edges if times > 0 or unknown[node]])
        lacking = [
            node
            for node, times in enumerate(into)
            if node and sure[node] and times < 0.99 * counts[node]
        ]
        # A switch leads there; without one, a caller.
        self.entered = [0] if indirect else [0, *lacking]
        for node in indirect:
            self.edges[node] = lacking

    def line(self, node: int) -> int:
        """The line of the source of the innermost function at a place."""
        chains, row = self._addresses.chains, int(self._rows[node])
        last = int(chains.offsets[row + 1])
        frame = chains.frames[last - 1] if last > int(chains.offsets[row]) else 0
        return int(chains.frame_line[frame])

    def inner(self, nodes: Iterable[int]) -> str:
        """The innermost function that all of some places are of."""
        functions = self._addresses.functions
        common: list[int] = []
        for number, node in enumerate(nodes):
            start, end = functions.offsets[self._rows[node] : self._rows[node] + 2].tolist()
            frames = functions.frames[start:end].tolist()
            same = [one for one, other in zip(frames, common, strict=False) if one == other]
            common = same if number else frames
        return functions.functions[common[-1]].name


def _functions(
    comparison: Comparison, kernel: int, addresses: Addresses
) -> Iterator[tuple[Function, _Code]]:
    """The code of each function, as its symbol has it: clones are functions of their own."""
    picked = comparison.picked[kernel]
    counts = addresses.counts[:, picked, addresses.metrics.index(comparison.metric)]
    chosen = np.flatnonzero((counts > 0) & (addresses.executed[:, 0] > 0))
    functions, place = addresses.functions, addresses.places.address
    outer = functions.frames[functions.offsets[:-1].astype(np.int64)]
    order = np.lexsort((place[chosen], addresses.chains.symbol[chosen], outer[chosen]))
    rows = chosen[order]
    decoded = disassemble(
        architecture(comparison.runs), place[rows], np.ascontiguousarray(addresses.executed[rows])
    )
    flow, target = np.zeros(len(place), np.int64), np.zeros(len(place), np.uint64)
    flow[rows], target[rows] = decoded.flow, decoded.reference
    taken, unknown = (
        np.zeros(len(place), np.int64) if column is None else column[:, picked]
        for column in (addresses.taken, addresses.untold)
    )
    key = np.stack([outer[rows].astype(np.int64), addresses.chains.symbol[rows].astype(np.int64)])
    ends = np.flatnonzero((np.diff(key) != 0).any(axis=0)) + 1
    for part in np.split(rows, ends):
        function = functions.functions[int(outer[part[0]])] if len(part) else None
        if function and not function.reason and len(part) <= _MAX_PLACES:
            yield function, _Code(addresses, part, (flow, target, counts, taken, unknown))
