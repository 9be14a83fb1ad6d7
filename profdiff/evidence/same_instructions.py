"""Kernels that execute the same instructions as the base while a time differs: what lies elsewhere,
code or data, is left to explain it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base import guest_clock
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Estimate, Rule, Verdict, estimate
from profdiff.evidence.tick_floor import above_ticks
from profdiff.profile.code.classes import instruction_classes
from profdiff.profile.comparison import Comparison
from profdiff.session.points import by_boot

_RULE = Rule()


class SameInstructions(NamedTuple):
    """``time``: the result that changed on the kernel with the label."""

    label: str
    time: Result
    change: Estimate


def same_instructions(findings: Findings) -> list[SameInstructions]:
    """For each such kernel the first time that changed, at the setting."""
    times = list(_changed_times(findings))
    # Classes are sums over all addresses: not for reports that have no time.
    if not times:
        return []
    alike = set(_alike(findings))
    return list({one.label: one for one in reversed(times) if one.label in alike}.values())[::-1]


def _changed_times(findings: Findings) -> Iterator[SameInstructions]:
    """Times that hardware took; a guest's clock that counts instructions has none."""
    results = findings.results
    for one in results.at(findings.setting):
        hardware = one.metric.kind.times_work and not one.virtual and not one.deterministic
        if not hardware or not guest_clock.has_time(one.metric.unit):
            continue
        for label, change in zip(results.labels[1:], one.changes[1:], strict=True):
            if change is not None and change.verdict is Verdict.CHANGED:
                yield SameInstructions(label, one, change)


def _alike(findings: Findings) -> Iterator[str]:
    """The kernels whose instructions, and whose numbers of each class, are the base's."""
    comparison = next((one for one in findings.comparisons if one.metric.exact), None)
    classes = instruction_classes(comparison) if comparison else None
    result = _result(findings, comparison) if comparison else None
    if comparison is None or classes is None or result is None:
        return
    for label in comparison.labels[1:]:
        change = findings.results.change(result, label)
        if change is None or not _unchanged(change):
            continue
        floor = (change.tick_floor or 0.0) * (result.ops or 1)
        # Two lengths may have an equal number of a function: its rows are among these, too.
        counts = classes.run_counts.sum(axis=0)
        if all(_unchanged(_class(comparison, label, one, floor)) for one in counts):
            yield label


def _result(findings: Findings, comparison: Comparison) -> Result | None:
    """What tables judge of a comparison's metric."""
    mine = (comparison.runs[0].collector, comparison.metric.name)
    every = findings.results.at(findings.setting)
    return next((one for one in every if (one.collector, one.metric.name) == mine), None)


def _class(comparison: Comparison, label: str, counts: NDArray[np.int64], floor: float) -> Estimate:
    """How a kernel changes a class, of which int64[R] executed in each run."""
    base, other = (_boots(comparison, one, counts) for one in (comparison.labels[0], label))
    found = estimate(
        base,
        other,
        planned=comparison.manifest.repeat,
        deterministic=comparison.metric.deterministic,
        seed=comparison.manifest.order.seed,
    )
    return above_ticks(found, floor, _RULE)


def _boots(comparison: Comparison, label: str, counts: NDArray[np.int64]) -> list[list[float]]:
    columns = [at for at, run in enumerate(comparison.runs) if run.kernel == label]
    grouped = by_boot([comparison.runs[at] for at in columns])
    return [[float(counts[columns[at]]) for at in boot] for boot in grouped]


def _unchanged(change: Estimate) -> bool:
    """Whether nothing changed, as far as is known: timer ticks can make a small difference."""
    base, other = change.medians
    if base == other and change.verdict is Verdict.EXACT:
        return True
    if change.counted and change.verdict is not Verdict.DEPENDS:
        return abs(other - base) <= (change.tick_floor or 0.0)
    return change.verdict is Verdict.UNCHANGED
