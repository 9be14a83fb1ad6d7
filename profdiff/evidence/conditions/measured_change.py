"""What a condition is about, measured: a metric, a side or a function on each kernel."""

import math
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence.conditions.condition import TOO_FEW, Condition, MeasuredChange
from profdiff.evidence.findings import Findings
from profdiff.evidence.iterations import Iterated, of_picked
from profdiff.evidence.outside_workload import above_ticks
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Estimate, Rule, Verdict, estimate
from profdiff.evidence.statistics.samples import (
    Sampled,
    difference_interval,
    relative_interval,
)
from profdiff.profile.comparison import Comparison
from profdiff.session import points

_RULE = Rule()


def function_names(findings: Findings) -> set[str]:
    """All functions that a condition can name."""
    return {function.name for one in findings.comparisons for function in one.functions}


def changes(findings: Findings, condition: Condition) -> Iterator[MeasuredChange]:
    """The change on every kernel but the base, at the setting. A function's counts are its own, or
    with what it calls; namesakes add up. Nothing for a metric that was not measured there.

    If there are too few boots to tell, the number of samples tells what it can.
    """
    results = findings.results.at(findings.setting)
    result = next((r for r in results if r.metric.name == condition.metric), None)
    comparison: Comparison | None = None
    if result is not None and condition.what == "total" and not condition.function:
        found = _of_result(findings, result, condition)
    elif (comparison := _profiled(findings, condition)) is not None:
        found = _of_profile(comparison, condition, result)
    else:
        return
    # A bound that is a plain number is of the whole, and so are the counts beside it.
    ops = (result.ops if result else comparison and comparison.ops) or None
    ops = ops if condition.unit == "%" else None
    measured = result or comparison
    unit = measured.metric.unit if measured else ""
    # What two lengths differ by has no number of samples.
    countable = findings.setting.short is None
    for change, enough in found:
        sampled = None
        if countable and not enough:
            comparison = comparison or _profiled(findings, condition)
            sampled = comparison and sampled_change(comparison, condition, change.kernel)
        yield replace(sampled or change, ops=ops, unit=unit)


def _profiled(findings: Findings, condition: Condition) -> Comparison | None:
    """The first comparison of a condition's metric."""
    metric = condition.metric
    return next((one for one in findings.comparisons if one.metric.name == metric), None)


def _of_result(
    findings: Findings, result: Result, condition: Condition
) -> Iterator[tuple[MeasuredChange, bool]]:
    # Whole counts, as those of functions, but for a bound per op.
    factor = 1 if condition.unit == "/op" else result.ops or 1
    for label, change in zip(findings.results.labels, result.changes, strict=True):
        if change is not None:
            noise = result.noise
            lost = noise is not None and abs(change.median.estimate) <= noise
            found = _change(label, change, factor, lost_in_noise=lost)
            # A program's name for its metric may say nanoseconds.
            note = f"in {result.metric.unit}" if result.virtual else ""
            found = replace(found, note="; ".join(filter(None, [found.note, note])))
            # Samples do not know by how much an A/A pair differs.
            yield found, lost or _enough(change)


def _of_profile(
    comparison: Comparison, condition: Condition, result: Result | None
) -> Iterator[tuple[MeasuredChange, bool]]:
    rows = stack_rows(comparison, condition)
    note = ""
    if condition.inclusive and comparison.metric.exact and comparison.calls is None:
        note = "without what it calls: no call tree was recorded"
    counts = comparison.run_counts[rows].sum(axis=0)
    floors = dict[str, float | None]()
    if result is not None and condition.what == "kernel" and not condition.function:
        whole = 1 if condition.unit == "/op" else result.ops or 1
        for label, of_all in zip(comparison.labels, result.changes, strict=False):
            if of_all is not None and of_all.tick_floor:
                floors[label] = of_all.tick_floor * whole
    extra = None
    if comparison.metric == INSTRUCTIONS and not condition.inclusive:
        extra = _extra(comparison, condition)
    for change, enough in of_counts(comparison, counts, condition, floors, extra):
        told = "; ".join(filter(None, [change.note, note]))
        yield replace(change, note=told), enough


def _extra(comparison: Comparison, condition: Condition) -> list[float] | None:
    """How many iterations the counts of each kernel leave out, of what a condition is about; None
    where that is not known."""
    side = {"kernel": True, "user": False}.get("" if condition.function else condition.what)
    function = condition.what if condition.function else ""
    ops = (comparison.ops or 1) if condition.unit == "/op" else 1
    told = of_picked(comparison, range(len(comparison.labels)), side, function)
    return None if told is None else [one / ops for one in told]


def of_counts(
    comparison: Comparison,
    counts: NDArray[np.int64],
    condition: Condition,
    floors: Mapping[str, float | None] = MappingProxyType({}),
    extra: Sequence[float] | None = None,
) -> Iterator[tuple[MeasuredChange, bool]]:
    """The change of what each run has, int64[R], on every kernel but the base, and whether there
    are enough boots for a verdict. ``floors``: the tick floor of some labels. ``extra``: of each
    kernel, the iterations of repeated string instructions that are left out."""
    base = by_boot(comparison, comparison.labels[0], counts, condition)
    for number, label in enumerate(comparison.labels[1:], 1):
        found = estimate(
            base,
            by_boot(comparison, label, counts, condition),
            _RULE,
            planned=comparison.manifest.repeat,
            deterministic=comparison.metric.deterministic,
            seed=comparison.manifest.order.seed,
        )
        found = above_ticks(found, floors.get(label, 0.0), _RULE)
        if extra is not None:
            before, after = found.medians
            found = replace(found, iterated=(before + extra[0], after + extra[number]))
        ops = comparison.ops if condition.unit == "%" else None
        yield replace(_change(label, found, 1), ops=ops), _enough(found)


def _enough(found: Estimate) -> bool:
    """Whether there are enough boots for a verdict."""
    return found.counted or found.smallest_p <= _RULE.alpha


def _change(
    label: str, found: Estimate, factor: float, *, lost_in_noise: bool = False
) -> MeasuredChange:
    iterated = Iterated.of(found)
    each = None
    if iterated and not iterated.alike:
        each = factor * iterated.each.base, factor * iterated.each.other
    exact, floor = found.counted, factor * (found.tick_floor or 0)
    base, other = (factor * one for one in found.medians)
    low, high = found.median.low, found.median.high
    difference = found.deltas and (factor * found.deltas[0], factor * found.deltas[1])
    if exact and found.states == 1:
        difference = (other - base - floor, other - base + floor) if floor else None
        low, high = (
            (one / base if base else math.nan) for one in difference or (other - base,) * 2
        )
    note = "" if found.verdict in (Verdict.EXACT, Verdict.DEPENDS) else found.reason
    if floor and not note:
        most = units.percent(floor / base, ".2f") if base else units.digits(floor)
        note = f"give or take {most} for timer ticks"
    if found.states > 1:
        note = f"{found.verdict}, {found.states:,} states"
    note = "; ".join(filter(None, [note, iterated.told if iterated else ""]))
    # Without a ratio in some state, only the deltas are known.
    known = found.verdict is not Verdict.DEPENDS or not math.isnan(low)
    return MeasuredChange(
        kernel=label,
        base=base,
        other=other,
        low=low,
        high=high,
        decided=known and (exact or (_enough(found) and not lost_in_noise)),
        note=note,
        difference=difference,
        undecided=TOO_FEW if known else str(Verdict.DEPENDS),
        each=each,
    )


def stack_rows(comparison: Comparison, condition: Condition) -> NDArray[np.int64]:
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
    counts = comparison.run_counts[rows].sum(axis=0)
    base, other = (
        Sampled(
            [sum(boot) / len(boot) for boot in by_boot(comparison, one, counts, condition)],
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
