"""What a condition is about, measured: a metric, a side or a function on each kernel."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from profdiff.evidence.condition import Condition, MeasuredChange
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Boots, Estimate, Rule, Verdict, estimate
from profdiff.profile.comparison import Comparison
from profdiff.session import points

_RULE = Rule()


def metric_names(findings: Sequence[Findings]) -> list[str]:
    """All metrics that a condition can name; ``findings`` are of one session."""
    profiled = [comparison.metric.name for one in findings for comparison in one.comparisons]
    measured = [metric.name for _, metric in findings[0].results.metrics()]
    return list(dict.fromkeys([*profiled, *measured]))


def function_names(findings: Findings) -> set[str]:
    """All functions that a condition can name."""
    return {function.name for one in findings.comparisons for function in one.functions}


def changes(findings: Findings, condition: Condition) -> Iterator[MeasuredChange]:
    """Of every kernel but the base, at the setting. A function's counts are its own, without what
    it calls; namesakes add up. Nothing for a metric that was not measured there."""
    comparison = next((c for c in findings.comparisons if c.metric.name == condition.metric), None)
    results = findings.results.at(findings.setting)
    result = next((r for r in results if r.metric.name == condition.metric), None)
    at = findings.setting.title
    if result is not None and condition.what == "total" and not condition.function:
        yield from _of_result(findings, result, condition, at)
    elif comparison is not None:
        yield from _of_profile(comparison, condition, at)


def _of_result(
    findings: Findings, result: Result, condition: Condition, at: str
) -> Iterator[MeasuredChange]:
    # Whole counts where the bound is one.
    factor = (findings.setting.ops or 1) if result.per_op and condition.unit == "" else 1
    for label, change in zip(findings.results.labels, result.changes, strict=True):
        if change is not None:
            noise = result.noise
            lost = noise is not None and abs(change.median.estimate) <= noise
            yield _change(label, change, factor, at, lost_in_noise=lost)


def _of_profile(comparison: Comparison, condition: Condition, at: str) -> Iterator[MeasuredChange]:
    rows = _stack_rows(comparison, condition)
    totals = comparison.run_counts[rows].sum(axis=0)
    ops = (comparison.ops or 1) if condition.unit == "/op" else 1
    by_kernel: list[Boots] = []
    for label in comparison.labels:
        columns = [at for at, run in enumerate(comparison.runs) if run.kernel == label]
        grouped = points.by_boot([comparison.runs[at] for at in columns])
        by_kernel.append([[float(totals[columns[at]]) / ops for at in boot] for boot in grouped])
    for label, boots in zip(comparison.labels[1:], by_kernel[1:], strict=True):
        found = estimate(
            by_kernel[0],
            boots,
            _RULE,
            planned=comparison.manifest.repeat,
            deterministic=comparison.metric.exact,
            seed=comparison.manifest.order.seed,
        )
        yield _change(label, found, 1, at)


def _stack_rows(comparison: Comparison, condition: Condition) -> Sequence[int]:
    """The stacks whose innermost function the condition is about."""
    known = [*comparison.functions, *comparison.unnamed]
    if condition.function:
        wanted = [function.name == condition.what for function in comparison.functions]
        wanted += [False] * len(comparison.unnamed)
    else:
        sides = {"kernel": (True,), "user": (False,)}.get(condition.what, (True, False))
        wanted = [function.in_kernel in sides for function in known]
    return np.flatnonzero(np.array(wanted)[comparison.stacks.function]).tolist()


def _change(
    label: str, found: Estimate, factor: float, at: str, *, lost_in_noise: bool = False
) -> MeasuredChange:
    exact = found.verdict is Verdict.EXACT
    base, other = (factor * one for one in found.medians)
    low, high = found.median.low, found.median.high
    if exact:
        low = high = (other - base) / base if base else math.nan
    enough = found.smallest_p <= _RULE.alpha and not lost_in_noise
    return MeasuredChange(
        kernel=label,
        base=base,
        other=other,
        low=low,
        high=high,
        decided=exact or enough,
        note="" if exact else found.reason,
        at=at,
    )
