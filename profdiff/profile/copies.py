"""Where functions are in a kernel's code: by themselves, and inlined into others."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.stack_table import StackTable
from profdiff.symbolization.chains import Chains


class Copies(msgspec.Struct, frozen=True):
    """The frames of N chains as a tree of S nodes. Below the outermost frame is one for its ELF
    symbol, since clones of a function have its call sites. ``row``: int64[S], the row of each
    frame's function in a comparison, -1 for none; ``inlined``: bool[S]; ``leaf``: int64[N], the
    node of each chain's innermost frame. ``copy``: int64[S], a number for each function and all
    that lies below it, call sites too: lines of the function itself tell no copies apart.
    """

    tree: StackTable
    row: NDArray[np.int64]
    inlined: NDArray[np.bool_]
    leaf: NDArray[np.int64]
    copy: NDArray[np.int64]

    @staticmethod
    def of(chains: Chains, functions: ChainFunctions, number: NDArray[np.int64]) -> "Copies":
        """``functions`` are made of ``chains``; ``number``: int64 per function of those, its row in
        the comparison."""
        offsets, sites = chains.offsets.astype(np.int64), chains.frames.astype(np.int64)
        starts = functions.offsets.astype(np.int64)
        lengths: NDArray[np.int64] = starts[1:] - starts[:-1]
        frames, symbols = len(chains.frame_function), len(chains.strings)
        row = np.full(frames + symbols, -1, np.int64)
        row[sites] = number[functions.frames[np.repeat(functions.resolved, lengths)]]
        inlined = np.append(chains.frame_inlined, np.zeros(symbols, np.bool_))
        whole = np.insert(sites, offsets[:-1], frames + chains.symbol.astype(np.int64))
        tree, leaf = StackTable.intern(offsets + np.arange(len(offsets)), whole)
        rows = row[tree.function]
        key = (tree.parent + 1) * (int(rows.max(initial=0)) + 2) + rows + 1
        _, copy = np.unique(key, return_inverse=True)
        return Copies(tree, rows, inlined[tree.function], leaf, copy.astype(np.int64))

    def inclusive(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """int64[S]: the sums of what N chains have, int64[N], over those that have each node."""
        own = np.zeros((len(self.tree), 1), np.int64)
        np.add.at(own, self.leaf, values[:, None])
        return self.tree.inclusive(own)[:, 0]

    def of_copies(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each node, the sum of ``values``, int64[S], over the nodes of its copy."""
        sums = np.zeros(int(self.copy.max(initial=-1)) + 1, np.int64)
        np.add.at(sums, self.copy, values)
        return sums[self.copy]

    @property
    def nested(self) -> NDArray[np.bool_]:
        """bool[S]: whether the node's function stands below it, too."""
        return StackTable(self.tree.parent, self.row + 1, self.tree.depth).outer() >= 0
