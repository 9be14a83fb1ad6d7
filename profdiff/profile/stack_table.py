"""Stacks as a table of parent and function: a tree in columns, parents before their children."""

from collections.abc import Iterator

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import add_to_parents, distinct_stacks, outer_calls


class StackTable(msgspec.Struct, frozen=True):
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
        # Each frame of each chain is a stack, with the frame before it below.
        below = np.arange(-1, len(functions) - 1)
        below[offsets[:-1][np.diff(offsets) > 0]] = -1
        table, where = _distinct(below, functions)
        leaf = np.full(len(offsets) - 1, -1, np.int64)
        ends = offsets[1:]
        some = ends > offsets[:-1]
        leaf[some] = where[ends[some] - 1]
        return table, leaf

    def merged_with(
        self, other: "StackTable"
    ) -> tuple["StackTable", NDArray[np.int64], NDArray[np.int64]]:
        """The stacks of both, and where each of this and of the other's is in the result.

        Functions must be numbered alike in both.
        """
        below = np.where(other.parent < 0, -1, other.parent + len(self))
        functions = np.concatenate([self.function, other.function])
        table, where = _distinct(np.concatenate([self.parent, below]), functions)
        return table, where[: len(self)], where[len(self) :]

    def renumbered(self, functions: NDArray[np.int64]) -> tuple["StackTable", NDArray[np.int64]]:
        """The table with function f numbered ``functions[f]``, and where each stack went: stacks
        that have become equal are one."""
        return _distinct(self.parent, functions[self.function])

    def kept(self, wanted: NDArray[np.bool_]) -> tuple["StackTable", NDArray[np.intp]]:
        """The stacks that are ``wanted``, bool[S], with all that are below them, and which of this
        table they are."""
        needed = np.flatnonzero(self.inclusive(wanted[:, None].astype(np.int64))[:, 0])
        numbers = np.full(len(self) + 1, -1, np.int64)
        numbers[needed] = np.arange(len(needed))
        table = StackTable(numbers[self.parent[needed]], self.function[needed], self.depth[needed])
        return table, needed

    def frames(self, stack: int) -> Iterator[int]:
        """The functions of a stack, the innermost first."""
        while stack >= 0:
            yield int(self.function[stack])
            stack = int(self.parent[stack])

    def self_by_function(self, counts: NDArray[np.int64], functions: int) -> NDArray[np.int64]:
        """Counts [S, R] of stacks, summed by innermost function: [functions, R]."""
        result = np.zeros((functions, counts.shape[1]), np.int64)
        np.add.at(result, self.function, counts)
        return result

    def total_by_function(self, counts: NDArray[np.int64], functions: int) -> NDArray[np.int64]:
        """Counts [S, R] of stacks, summed over the stacks in which a function stands anywhere, once
        each: [functions, R]."""
        result = np.zeros((functions, counts.shape[1]), np.int64)
        outermost = self.outer() < 0
        np.add.at(result, self.function[outermost], self.inclusive(counts)[outermost])
        return result

    def inclusive(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts [S, R] of each stack with all stacks on top of it."""
        inclusive = counts.copy()
        add_to_parents(self.parent, inclusive)
        return inclusive

    def containing(self, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """bool[S]: the stacks in which one of the functions that are ``wanted``, bool[F], stands
        anywhere."""
        inside: NDArray[np.bool_] = wanted[self.function]
        order = np.argsort(self.depth, kind="stable")
        levels = np.flatnonzero(np.diff(self.depth[order])) + 1
        for level in np.split(order, levels)[1:]:
            inside[level] |= inside[self.parent[level]]
        return inside

    def outer(self) -> NDArray[np.int64]:
        """int64[S]: of a stack whose function stands further down in it as well, the nearest stack
        below that has it on top; -1 of the others."""
        return outer_calls(self.parent, self.function, int(self.function.max(initial=-1)) + 1)


def _distinct(
    parent: NDArray[np.int64], function: NDArray[np.int64]
) -> tuple[StackTable, NDArray[np.int64]]:
    """The distinct stacks of a table, level by level, and where each of its stacks is."""
    *columns, where = distinct_stacks(parent, function)
    return StackTable(*columns), where
