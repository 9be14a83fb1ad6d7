"""What a profile has of what a condition is about, by boot, and what samples tell of it."""

import numpy as np
from numpy.typing import NDArray

from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.statistics.samples import (
    Sampled,
    difference_interval,
    relative_interval,
)
from profdiff.profile.comparison import Comparison
from profdiff.session import points

Rows = NDArray[np.int64]


def stack_rows(comparison: Comparison, condition: Condition) -> Rows:
    """The stacks whose innermost function the condition is about or, of a function with what it
    calls, that have it anywhere."""
    known = [*comparison.functions, *comparison.unnamed]
    if condition.function:
        wanted = [function.name == condition.what for function in comparison.functions]
        wanted += [False] * len(comparison.unnamed)
    else:
        sides = {"kernel": (True,), "user": (False,)}.get(condition.what, (True, False))
        wanted = [function.in_kernel in sides for function in known]
    chosen = np.array(wanted)
    if condition.inclusive:
        return np.flatnonzero(comparison.stacks.containing(chosen))
    return np.flatnonzero(chosen[comparison.stacks.function])


def weights(
    comparison: Comparison, label: str, rows: Rows, condition: Condition
) -> list[list[float]]:
    """The counts of the runs of each boot of a kernel, per op where the bound is."""
    return by_boot(comparison, label, comparison.run_counts[rows].sum(axis=0), condition)


def by_boot(
    comparison: Comparison, label: str, counts: NDArray[np.int64], condition: Condition
) -> list[list[float]]:
    """The counts of each boot of a kernel, from the counts of all runs, int64[R]."""
    ops = (comparison.ops or 1) if condition.unit == "/op" else 1
    columns = _columns(comparison, label)
    totals = counts[columns]
    grouped = points.by_boot([comparison.runs[at] for at in columns])
    return [[float(totals[at]) / ops for at in boot] for boot in grouped]


def sampled_change(
    comparison: Comparison, condition: Condition, label: str
) -> MeasuredChange | None:
    """The change as far as the number of samples tells it; None where nothing was sampled, or by
    an unknown number of samples."""
    if comparison.run_samples is None or label not in comparison.labels:
        return None
    rows = stack_rows(comparison, condition)
    base, other = (
        Sampled(
            [sum(boot) / len(boot) for boot in weights(comparison, one, rows, condition)],
            int(comparison.run_samples[rows][:, _columns(comparison, one)].sum()),
            len(_columns(comparison, one)),
        )
        for one in (comparison.labels[0], label)
    )
    if any(one.weight and not one.samples for one in (base, other)):
        return None
    low, high = relative_interval(base, other)
    alone = min(len(base.weights), len(other.weights)) < 2
    unseen = "; one boot does not show how boots differ" if alone else ""
    return MeasuredChange(
        kernel=label,
        base=base.weight,
        other=other.weight,
        low=low,
        high=high,
        note=f"from {base.samples:,} and {other.samples:,} samples{unseen}",
        difference=difference_interval(base, other),
    )


def _columns(comparison: Comparison, label: str) -> list[int]:
    return [at for at, run in enumerate(comparison.runs) if run.kernel == label]
