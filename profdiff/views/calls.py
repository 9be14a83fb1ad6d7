"""How often functions were called, and what a call costs: more calls, or more in each of them."""

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison
from profdiff.views.record import Counts, Record, by_label


class Calls(Record, frozen=True):
    """How often a function was called, and of its counts those that belong to calls, ``self`` and
    ``total`` (with what it calls). The rest was inlined into its callers, where there are no calls
    to count."""

    calls: Counts
    self: Counts
    total: Counts


def calls(comparison: Comparison, rows: NDArray[np.int64]) -> list[Calls] | None:
    """Of functions by their numbers; None where calls were not counted."""
    if comparison.calls is None:
        return None
    stacks, labels = comparison.stacks, comparison.labels
    every = len(comparison.functions) + len(comparison.unnamed)
    called = comparison.calls > 0
    # A recursive function's total is that of its outermost calls.
    outermost = called & (stacks.outer() < 0)[:, None]
    inclusive = stacks.inclusive(comparison.counts) * outermost
    columns = (comparison.calls, comparison.counts * called, inclusive)
    tables = [stacks.self_by_function(column, every)[rows].tolist() for column in columns]
    return [
        Calls(
            calls=by_label(labels, numbers),
            self=by_label(labels, self_),
            total=by_label(labels, total),
        )
        for numbers, self_, total in zip(*tables, strict=True)
    ]
