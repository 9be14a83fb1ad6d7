"""Functions over all cells of a suite: which of them make the change of a cell, and of all."""

from collections.abc import Mapping, Sequence, Set
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.function_identity import Function
from profdiff.profile.kept_functions import SelfCounts

LARGEST = 3
"""So many functions are named of each cell."""
# More reasons and sides of unresolved addresses than there are.
_UNRESOLVED = 16


class FunctionKey(NamedTuple):
    """What a function is known by in all cells. Namesakes of one object are one: from cell to cell,
    nothing else tells them apart."""

    name: str
    object: str
    in_kernel: bool
    reason: str = ""

    @staticmethod
    def of(function: Function) -> "FunctionKey":
        """That of a function."""
        return FunctionKey(function.name, function.object, function.in_kernel, function.reason)


class CellFunction(NamedTuple):
    """``delta``: of its own count; ``share``: of the delta of all functions, None where that is
    0."""

    function: FunctionKey
    delta: float
    share: float | None


class FunctionSum(NamedTuple):
    """A function over all cells, by label of the kernels but the base."""

    function: FunctionKey
    up: Mapping[str, int]
    down: Mapping[str, int]
    points: Mapping[str, float]


class FunctionSums:
    """Sums over cells, for the kernels of ``labels``, the base first: how often a function's own
    count grew (``up``) or fell (``down``), and by how many percentage points of the cells' base."""

    def __init__(self) -> None:
        self._labels: dict[str, int] = {}
        self._numbers: dict[FunctionKey, int] = {}
        self._up = np.zeros((0, 0), np.int32)
        self._down = np.zeros((0, 0), np.int32)
        self._points = np.zeros((0, 0), np.float64)

    def add(self, cell: SelfCounts, base: str, unsure: Set[str] = frozenset()) -> None:
        """The functions of one cell. Without a result of the base, or where that executed nothing,
        there is nothing to compare. ``unsure``: the labels whose change may be chance; they add
        nothing."""
        if base not in cell.labels:
            return
        counts, rows = self._summed(cell)
        first = counts[:, list(cell.labels).index(base)]
        whole = int(first.sum())
        if whole <= 0:
            return
        columns = [self._labels.setdefault(one, len(self._labels)) for one in cell.labels]
        self._grow()
        delta = counts - first[:, None]
        delta[:, [label in unsure for label in cell.labels]] = 0
        if columns == list(range(len(columns))):
            # The usual case, every kernel in order: whole rows are added, which is far faster.
            where: Any = (rows, slice(0, len(columns)))
        else:
            where = np.ix_(rows, np.array(columns))
        self._up[where] += delta > 0
        self._down[where] += delta < 0
        self._points[where] += delta * (100 / whole)

    def largest(self, label: str, number: int) -> list[FunctionSum]:
        """Those with the most points of a kernel, either way, then those that only others have; of
        all its kernels the sums."""
        column = self._labels.get(label)
        if column is None:
            return []
        every = np.abs(self._points[: len(self._numbers), : len(self._labels)])
        most = every.max(axis=1, initial=0)
        order = np.lexsort((-most, -every[:, column]))[:number]
        return [
            FunctionSum(
                self._keys[row],
                *(
                    dict(zip(self._labels, table[row, : len(self._labels)].tolist(), strict=True))
                    for table in (self._up, self._down, self._points)
                ),
            )
            for row in order.tolist()
            if most[row] > 0
        ]

    def names(self, label: str, number: int, *, up: bool) -> list[str]:
        """Those with the most points of a kernel one way, without what is unresolved."""
        column = self._labels.get(label)
        if column is None:
            return []
        points = self._points[: len(self._numbers), column] * (1 if up else -1)
        most = min(len(points), number + _UNRESOLVED)
        order = np.argpartition(-points, most - 1)[:most]
        order = order[np.argsort(-points[order], kind="stable")]
        keys = (self._keys[row] for row in order.tolist() if points[row] > 0)
        return [key.name for key in keys if not key.reason][:number]

    @cached_property
    def _keys(self) -> list[FunctionKey]:
        """Once all cells are added."""
        return list(self._numbers)

    def _summed(self, cell: SelfCounts) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts with one row for each key, and its number here."""
        rows = [
            self._numbers.setdefault(FunctionKey.of(function), len(self._numbers))
            for function in cell.functions
        ]
        distinct, where = np.unique(np.array(rows, np.int64), return_inverse=True)
        if len(distinct) == len(rows):
            return cell.counts[np.argsort(where)], distinct
        summed = np.zeros((len(distinct), cell.counts.shape[1]), np.int64)
        np.add.at(summed, where, cell.counts)
        return summed, distinct

    def _grow(self) -> None:
        wanted = len(self._numbers), len(self._labels)
        have = self._points.shape
        if wanted[0] <= have[0] and wanted[1] <= have[1]:
            return
        shape = max(2 * have[0], wanted[0]) if wanted[0] > have[0] else have[0], wanted[1]
        for name in ("_up", "_down", "_points"):
            old = getattr(self, name)
            new = np.zeros(shape, old.dtype)
            new[: have[0], : have[1]] = old
            setattr(self, name, new)


def largest(cell: SelfCounts, base: str, ops: int) -> dict[str, list[CellFunction]]:
    """For each kernel but the base the functions that make most of its delta: those whose own delta
    goes the same way, the largest first; where the whole is 0, the largest ones. Deltas are divided
    by ``ops``. Nothing without a result of the base."""
    if base not in cell.labels or not cell.functions:
        return {}
    at = list(cell.labels).index(base)
    # A row for each kernel, so that what is sorted lies together.
    delta = np.ascontiguousarray((cell.counts - cell.counts[:, [at]]).T)
    whole = delta.sum(axis=1)
    sign = np.sign(whole)[:, None]
    score = np.where(sign == 0, np.abs(delta), delta * sign)
    number = min(LARGEST, len(cell.functions))
    some = np.argpartition(-score, number - 1, axis=1)[:, :number]
    kept = np.take_along_axis(score, some, axis=1)
    rows = np.take_along_axis(some, np.argsort(-kept, axis=1, kind="stable"), axis=1)
    deltas = np.take_along_axis(delta, rows, axis=1).tolist()
    keys = _Keys(cell.functions)
    return {
        label: [
            CellFunction(keys[row], one / ops, one / all_ if all_ else None)
            for row, one in zip(chosen, few, strict=True)
            if one and (not all_ or (one > 0) == (all_ > 0))
        ]
        for label, chosen, few, all_ in zip(
            cell.labels, rows.tolist(), deltas, whole.tolist(), strict=True
        )
        if label != base
    }


def seats(cell: SelfCounts, base: str, ops: int) -> dict[str, CellFunction]:
    """For each kernel but the base the seat of its change, where one is known: its total delta."""
    if cell.seats is None or list(cell.seats.labels[:1]) != [base]:
        return {}
    known = cell.seats.against_base()
    whole = cell.counts.sum(axis=0)
    whole -= whole[list(cell.labels).index(base)]
    deltas = dict(zip(cell.labels, whole.tolist(), strict=True))
    return {
        label: CellFunction(
            FunctionKey.of(one.function), one.delta / ops, one.delta / deltas[label]
        )
        for label, one in known.items()
        if deltas[label]
    }


class _Keys:
    """Keys of functions by number, each made once."""

    def __init__(self, functions: Sequence[Function]) -> None:
        self._functions = functions
        self._made: dict[int, FunctionKey] = {}

    def __getitem__(self, row: int) -> FunctionKey:
        found = self._made.get(row)
        if found is None:
            found = self._made[row] = FunctionKey.of(self._functions[row])
        return found
