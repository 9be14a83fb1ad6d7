"""How often functions were called, and what a call costs: more calls, or more in each of them."""

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison
from profdiff.views.record import Counts, Record, by_label


class Calls(Record, frozen=True):
    """How often a function was called, and of its counts those that belong to calls, ``self`` and
    ``total`` (with what it calls). ``no_call``: the rest of its own counts, of copies that were
    inlined into its callers, where there are no calls to count. None: a caller both calls the
    function and has a copy of it, so that what belongs to calls is not known; all of its own counts
    are in ``no_call`` then."""

    calls: Counts
    self: dict[str, int | None]
    total: dict[str, int | None]
    no_call: Counts


def calls(comparison: Comparison, rows: NDArray[np.int64]) -> list[Calls] | None:
    """The calls of functions, by their numbers; None where calls were not counted."""
    if comparison.calls is None:
        return None
    stacks, labels = comparison.stacks, comparison.labels
    every = len(comparison.functions) + len(comparison.unnamed)
    called = comparison.calls > 0
    # A recursive function's total is that of its outermost calls.
    outermost = called & (stacks.outer() < 0)[:, None]
    inclusive = stacks.inclusive(comparison.counts) * outermost
    own, mixed = comparison.counts * called, (called & comparison.inlined).astype(np.int64)
    columns = (comparison.calls, own, inclusive, comparison.counts, mixed)
    tables = [stacks.self_by_function(column, every)[rows].tolist() for column in columns]
    found = []
    for numbers, self_, total, whole, both in zip(*tables, strict=True):
        known = [not number for number in both]
        rest = [all_ - mine * sure for all_, mine, sure in zip(whole, self_, known, strict=True)]
        found.append(
            Calls(
                calls=by_label(labels, numbers),
                self=by_label(labels, _where(known, self_)),
                total=by_label(labels, _where(known, total)),
                no_call=by_label(labels, rest),
            )
        )
    return found


def _where(known: list[bool], values: list[int]) -> list[int | None]:
    return [value if sure else None for sure, value in zip(known, values, strict=True)]
