"""Stacks as a table of parent and function: a tree in columns, parents before their children."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class StackTable:
    """S stacks. Stack i is stack ``parent[i]`` (-1: none) with ``function[i]`` on top, ``depth[i]``
    frames below it. A parent's number is lower than its children's."""

    parent: NDArray[np.int64]
    function: NDArray[np.int64]
    depth: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.parent)

    @staticmethod
    def intern(
        offsets: NDArray[np.int64], functions: NDArray[np.int64]
    ) -> tuple["StackTable", NDArray[np.int64]]:
        """The distinct stacks of N chains, and the stack of each chain (-1 for an empty one).

        Chain i is ``functions[offsets[i]:offsets[i + 1]]``, root first.
        """
        lengths = np.diff(offsets)
        leaf = np.full(len(lengths), -1, np.int64)
        levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        made = 0
        for depth in range(int(lengths.max(initial=0))):
            longer = np.flatnonzero(lengths > depth)
            parent, function, which = distinct_pairs(
                leaf[longer], functions[offsets[longer] + depth]
            )
            leaf[longer] = made + which
            levels.append((parent, function))
            made += len(parent)
        return _from_levels(levels), leaf

    def merged_with(
        self, other: "StackTable"
    ) -> tuple["StackTable", NDArray[np.int64], NDArray[np.int64]]:
        """The stacks of both, and where each of this and of the other's is in the result.

        Functions must be numbered alike in both.
        """
        maps = [np.full(len(table), -1, np.int64) for table in (self, other)]
        levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
        made = 0
        for depth in range(int(max(self.depth.max(initial=-1), other.depth.max(initial=-1))) + 1):
            rows = [np.flatnonzero(table.depth == depth) for table in (self, other)]
            above = []
            for table, where, row in zip((self, other), maps, rows, strict=True):
                parent = table.parent[row]
                # where[-1] would be the last stack: roots have no parent to look up.
                above.append(np.where(parent < 0, -1, where[parent]) if len(where) else parent)
            functions = [
                table.function[row] for table, row in zip((self, other), rows, strict=True)
            ]
            parent, function, which = distinct_pairs(
                np.concatenate(above), np.concatenate(functions)
            )
            which += made
            maps[0][rows[0]], maps[1][rows[1]] = which[: len(rows[0])], which[len(rows[0]) :]
            levels.append((parent, function))
            made += len(parent)
        return _from_levels(levels), maps[0], maps[1]

    def renumbered(self, functions: NDArray[np.int64]) -> tuple["StackTable", NDArray[np.int64]]:
        """The table with function f numbered ``functions[f]``, and where each stack went: stacks
        that have become equal are one."""
        renamed = StackTable(self.parent, functions[self.function], self.depth)
        empty = StackTable(*(np.empty(0, np.int64) for _ in range(3)))
        table, where, _ = renamed.merged_with(empty)
        return table, where

    def self_by_function(self, counts: NDArray[np.int64], functions: int) -> NDArray[np.int64]:
        """Counts [S, R] of stacks, summed by innermost function: [functions, R]."""
        result = np.zeros((functions, counts.shape[1]), np.int64)
        np.add.at(result, self.function, counts)
        return result

    def total_by_function(self, counts: NDArray[np.int64], functions: int) -> NDArray[np.int64]:
        """Counts [S, R] of stacks, summed over the stacks in which a function stands anywhere, once
        each: [functions, R]."""
        inclusive = self.inclusive(counts)
        result = np.zeros((functions, counts.shape[1]), np.int64)
        outermost = ~self.recurs()
        np.add.at(result, self.function[outermost], inclusive[outermost])
        return result

    def inclusive(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts [S, R] of each stack with all stacks on top of it."""
        inclusive = counts.copy()
        for depth in range(int(self.depth.max(initial=0)), 0, -1):
            rows = np.flatnonzero(self.depth == depth)
            np.add.at(inclusive, self.parent[rows], inclusive[rows])
        return inclusive

    def recurs(self) -> NDArray[np.bool_]:
        """bool[S]: whether the stack's function stands further down in it as well."""
        recurs = np.zeros(len(self), np.bool_)
        above = self.parent.copy()
        while (alive := np.flatnonzero(above >= 0)).size:
            recurs[alive] |= self.function[above[alive]] == self.function[alive]
            above[alive] = self.parent[above[alive]]
        return recurs


def distinct_pairs(
    parent: NDArray[np.int64], function: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct pairs of int64[N] and int64[N], sorted, and where each pair is among them.

    ``parent`` is -1 or more, ``function`` 0 or more. A pair is one number while it is sorted: far
    faster than rows, and stacks times functions stay far below 2**63.
    """
    radix = int(function.max(initial=0)) + 1
    keys, which = np.unique((parent + 1) * radix + function, return_inverse=True)
    return keys // radix - 1, keys % radix, which.reshape(-1)


def _from_levels(levels: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> StackTable:
    if not levels:
        return StackTable(*(np.empty(0, np.int64) for _ in range(3)))
    depth = np.repeat(np.arange(len(levels)), [len(parent) for parent, _ in levels])
    parent, function = (np.concatenate(column) for column in zip(*levels, strict=True))
    return StackTable(parent, function, depth)
