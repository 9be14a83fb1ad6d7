"""What ran below the calls that commits added or removed: their effect, beside their own lines."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.recorded import CallTree
from profdiff.evidence.blame.attribution import BlamedPart, Functions, Place
from profdiff.profile.picked_counts import PickedCounts

# For executed instructions without registers and addresses.
_CALLS = tuple(name for one in ARCHITECTURES for name in one.calls)
# A call as one number: its caller's and its callee's.
_BITS = 32
_MASK = (1 << _BITS) - 1


@dataclass(frozen=True)
class Below:
    """``rest``: int64[N], what is left at each place without what ran below the calls.
    ``sums``: what ran below, by the call's commit and the function that executed it."""

    rest: NDArray[np.int64]
    sums: Mapping[tuple[str, int], int]

    def parts(self, sign: int) -> list[BlamedPart]:
        """Parts of the delta: with sign 1 the new kernel's, with -1 the base's."""
        return [
            BlamedPart("commit", who, number, max(sign, 0) * count, min(sign, 0) * count)
            for (who, number), count in self.sums.items()
        ]


@dataclass(frozen=True)
class CallSites:
    """The calls of one kernel from lines that commits added or removed. ``trees``: with 1, or with
    -1 where it is subtracted; none where callers were not recorded, and then only inlined calls are
    known.

    P frames of all N places, a place's outermost first: ``place``: int64[P], which one each is of;
    ``function``: int64[P], its number; ``line``: int64[P], what it executes in ``lines``;
    ``commit``: int64[P], whose line that is in ``names``, -1: nobody's; ``start``: int64[N + 1],
    the first frame of each place."""

    count: NDArray[np.int64]
    trees: Sequence[tuple[int, CallTree]]
    is_call: NDArray[np.bool_]
    place: NDArray[np.int64]
    start: NDArray[np.int64]
    function: NDArray[np.int64]
    line: NDArray[np.int64]
    commit: NDArray[np.int64]
    lines: Sequence[Place] = field(repr=False)
    names: Sequence[str] = field(repr=False)

    @staticmethod
    def of(
        counts: PickedCounts,
        kernel: int,
        functions: Functions,
        shapes: Sequence[str],
        commits: Mapping[Place, str],
        trees: Sequence[tuple[int, CallTree]],
    ) -> "CallSites":
        """``commits``: whose lines of this kernel are; ``shapes``: of each place's instruction."""
        chains, found = counts.addresses.chains, counts.functions
        start = chains.offsets.astype(np.int64)
        place = np.repeat(np.arange(len(chains)), np.diff(start))
        # What has no function has a frame that stands for that.
        at = np.arange(len(place)) - start[place] + found.offsets.astype(np.int64)[place]
        numbers = np.array(
            [functions.number(kernel, function) for function in found.functions], np.int64
        )
        names = sorted(set(commits.values()))
        known = {name: number for number, name in enumerate(names)}
        named = zip(chains.frame_file.tolist(), chains.frame_line.tolist(), strict=True)
        lines = [(chains.strings[file], line) for file, line in named]
        whose = np.array([known.get(commits.get(one, ""), -1) for one in lines], np.int64)
        return CallSites(
            count=counts.count,
            trees=trees,
            is_call=np.array([shape.startswith(_CALLS) for shape in shapes], np.bool_),
            place=place,
            start=start,
            function=numbers[found.frames[at]],
            line=chains.frames.astype(np.int64),
            commit=whose[chains.frames],
            lines=lines,
            names=names,
        )

    def calls(self) -> set[int]:
        """The calls, caller and callee as one number each."""
        found = {*np.unique(self._inlined()[1]).tolist()}
        for _, tree in self.trees:
            found |= {*np.unique(self._called(tree)[1]).tolist()}
        return found

    def functions(self) -> dict[Place, set[int]]:
        """The functions that execute each line, or a call on it."""
        found: dict[Place, set[int]] = {}
        pairs = np.unique((self.line << _BITS) | self.function)
        for pair in pairs.tolist():
            found.setdefault(self.lines[pair >> _BITS], set()).add(pair & _MASK)
        return found

    def below(self, calls: Collection[int], others: Mapping[Place, Collection[int]]) -> Below:
        """What ran below those of ``calls``; below several, it is the outermost one's. ``others``:
        of lines that the other kernel executes too, the functions in which it does: code that only
        moved into what is called, or out of it, was neither added nor removed."""
        inside = self._inside(np.array(sorted(calls), np.int64), others)
        rest = self.count.copy()
        sums: dict[tuple[str, int], int] = {}
        for sign, tree in self.trees or [(1, _flat(self.count))]:
            nodes = self._by_node(tree, inside)
            # Unresolved places have no frames, and so no call below which they would stand alone.
            resolved = np.diff(self.start)[tree.place] > 0
            whose = inside.at(tree.place, nodes[tree.node])
            some = np.flatnonzero((whose >= 0) & resolved)
            count = sign * tree.count[some]
            np.subtract.at(rest, tree.place[some], count)
            leaf = self.function[self.start[tree.place[some] + 1] - 1]
            keys, where = np.unique((whose[some] << _BITS) | leaf, return_inverse=True)
            totals = np.zeros(len(keys), np.int64)
            np.add.at(totals, where, count)
            for key, total in zip(keys.tolist(), totals.tolist(), strict=True):
                name = self.names[key >> _BITS], key & _MASK
                sums[name] = sums.get(name, 0) + total
        return Below(rest, sums)

    def _inside(
        self, wanted: NDArray[np.int64], others: Mapping[Place, Collection[int]]
    ) -> "_Inside":
        frames, keys = self._inlined()
        frames = frames[np.isin(keys, wanted)]
        pairs, where = np.unique((self.line << _BITS) | self.function, return_inverse=True)
        moved = [
            pair & _MASK not in others.get(self.lines[pair >> _BITS], (pair & _MASK,))
            for pair in pairs.tolist()
        ]
        resets = np.flatnonzero(np.array(moved, np.bool_)[where])
        last = np.full(len(self.start) - 1, -1, np.int64)
        np.maximum.at(last, self.place[resets], resets)
        frames = frames[frames > last[self.place[frames]]]
        call = np.full(len(last), -1, np.int64)
        places, first = np.unique(self.place[frames], return_index=True)
        call[places] = self.commit[frames[first]]
        return _Inside(wanted, last >= 0, call)

    def _inlined(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The frames that execute a call which is inlined, and which call it is."""
        last = np.zeros(len(self.place), np.bool_)
        last[self.start[1:][np.diff(self.start) > 0] - 1] = True
        frames = np.flatnonzero((self.commit >= 0) & ~last)
        return frames, (self.function[frames] << _BITS) | self.function[frames + 1]

    def _called(self, tree: CallTree) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The nodes that were called from a commit's line, and which call it was. What interrupts
        a line is not called there."""
        resolved = np.append(np.diff(self.start) > 0, False)
        ours = (
            resolved[tree.site] & resolved[tree.target] & np.append(self.is_call, False)[tree.site]
        )
        nodes = np.flatnonzero(ours)
        sites = self.start[tree.site[nodes] + 1] - 1
        nodes, sites = nodes[self.commit[sites] >= 0], sites[self.commit[sites] >= 0]
        callees = self.function[self.start[tree.target[nodes]]]
        return nodes, (self.function[sites] << _BITS) | callees

    def _by_node(self, tree: CallTree, inside: "_Inside") -> NDArray[np.int64]:
        """int64[M]: the commit of the outermost call below which a node is; -1: none."""
        nodes, keys = self._called(tree)
        nodes = nodes[np.isin(keys, inside.wanted)]
        own = np.full(len(tree.parent), -1, np.int64)
        own[nodes] = self.commit[self.start[tree.site[nodes] + 1] - 1]
        call, out = np.append(inside.call, -1)[tree.site], np.append(inside.out, False)[tree.site]
        found: list[int] = []
        columns = (column.tolist() for column in (tree.parent, call, out, own))
        for parent, inlined, moved, called in zip(*columns, strict=True):
            above = found[parent] if parent >= 0 and not moved else -1
            found.append(next((one for one in (above, inlined, called) if one >= 0), -1))
        return np.array(found, np.int64)


@dataclass(frozen=True)
class _Inside:
    """What the frames of each place say about the calls ``wanted``. ``out``: bool[N], some of them
    are in code that moved, and so below no call that is outside of it; ``call``: int64[N], the
    commit of the outermost call among those behind them, -1: none."""

    wanted: NDArray[np.int64]
    out: NDArray[np.bool_]
    call: NDArray[np.int64]

    def at(self, places: NDArray[np.int64], above: NDArray[np.int64]) -> NDArray[np.int64]:
        """Which of some places have a node below a call of ``above``."""
        kept = ~self.out[places] & (above >= 0)
        return np.where(kept, above, self.call[places])


def _flat(count: NDArray[np.int64]) -> CallTree:
    """All in one node, which nobody called."""
    none, places = np.full(1, -1, np.int64), np.arange(len(count))
    zero = np.zeros(len(count), np.int64)
    return CallTree(none, none, none, np.ones(1, np.int64), zero, places, count, 0)
