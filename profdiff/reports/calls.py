"""How often functions were called, and what a call costs: more calls, or more in each of them."""

import textwrap
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.profile.comparison import Comparison
from profdiff.reports.columns import Columns
from profdiff.reports.names import function_name
from profdiff.reports.rows import Rows


@dataclass(frozen=True)
class Calls:
    """Of F functions on K kernels, int64[F, K] each: how often one was called, and of its counts
    those that belong to calls, ``self_`` and ``total`` (with what it called). The rest was inlined
    into its callers, where there are no calls to count."""

    calls: NDArray[np.int64]
    self_: NDArray[np.int64]
    total: NDArray[np.int64]

    @staticmethod
    def of(comparison: Comparison) -> "Calls | None":
        """None where calls were not counted."""
        if comparison.calls is None:
            return None
        stacks, count = comparison.stacks, len(comparison.functions)
        every = count + len(comparison.unnamed)
        called = comparison.calls > 0
        # A recursive function's total is that of its outermost calls.
        outermost = called & (stacks.outer() < 0)[:, None]
        inclusive = stacks.inclusive(comparison.counts) * outermost
        return Calls(
            calls=stacks.self_by_function(comparison.calls, every)[:count],
            self_=stacks.self_by_function(comparison.counts * called, every)[:count],
            total=stacks.self_by_function(inclusive, every)[:count],
        )


def render(comparison: Comparison, rows: Rows, ops: int | None, width: int) -> list[str]:
    """The lines of the table of the shown functions that some kernel calls; empty without any.

    What does not fit is left out: totals first, then the last kernels.
    """
    counted = Calls.of(comparison)
    if counted is None:
        return []
    shown = [row for row in rows.shown if counted.calls[row].any()]
    if not shown:
        return []
    labels = comparison.labels
    for kernels, groups in [(n, g) for n in range(len(labels), 0, -1) for g in (3, 2)]:
        header = [f"{name} {text}" for name in _GROUPS[:groups] for text in labels[:kernels]]
        body = [
            (_cells(counted, row, ops, kernels, groups), function_name(comparison, row))
            for row in shown
        ]
        columns = Columns((header, "function"), body, [], width)
        if columns.fits:
            break
    per = f" per op ({ops:,} ops)" if ops else ""
    title = f"calls{per}, and {comparison.metric.title} of one call (total: with what it calls)"
    # No tail: calls of different functions do not add up to anything.
    return [*textwrap.wrap(title, width), *columns.lines()[:-1]]


_GROUPS = ("calls", "self", "total")


def _cells(counted: Calls, row: int, ops: int | None, kernels: int, groups: int) -> list[str]:
    calls = counted.calls[row, :kernels].tolist()
    cells = [
        units.count(number / ops, per_op=True) if ops else units.count(number) for number in calls
    ]
    for table in (counted.self_, counted.total)[: groups - 1]:
        cells += [
            units.count(value / number, per_op=True) if number else "-"
            for value, number in zip(table[row, :kernels].tolist(), calls, strict=True)
        ]
    return cells
