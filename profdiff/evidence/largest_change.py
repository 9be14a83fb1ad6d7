"""Which change a report begins with: the largest one of the metric that says most."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from profdiff.base.metric import TIMED
from profdiff.collectors import registry
from profdiff.evidence.results import Result, Results, is_time
from profdiff.evidence.statistics import Estimate, Rule
from profdiff.session.bisection import CULPRIT
from profdiff.session.points import Setting


class LargestChange(NamedTuple):
    """``kernel``: the number of the kernel that changed, relative to the base."""

    result: Result
    kernel: int
    change: Estimate


def largest_change(results: Results, setting: Setting | None = None) -> LargestChange | None:
    """The largest change at a setting, or of all settings; None where nothing can be compared.

    The metric that says most is looked at: a time on hardware comes before counts, and what the
    workload says of itself before the time of the whole command. Changes that are certain come
    before others, and changes for the worse before those for the better, unless they are
    irrelevantly small. Sizes are compared as ratios; of equal ones the later setting counts. For a
    bisection's last session, it is the culprit's.
    """
    if results.manifest.workload.kind == "imported" and not results.repeated:
        return None  # One recording of each kernel: no boots to judge by, only its samples.
    some = results.every if setting is None else results.at(setting)
    usable = [one for one in some if any(one.changes)]
    if not usable:
        return None
    first = min(map(_rank, usable))
    metric = next((one.collector, one.metric) for one in usable if _rank(one) == first)
    found = [
        LargestChange(one, kernel, change)
        for one in usable
        if (one.collector, one.metric) == metric
        for kernel, change in enumerate(one.changes)
        if change
    ]
    if results.manifest.bisection:
        # Beside its parent, whatever else bad has.
        own = [one for one in found if results.kernels[one.kernel].label == CULPRIT]
        found = own or found
    return largest(found, results.rule)


def largest(found: Sequence[LargestChange], rule: Rule) -> LargestChange:
    """The largest of changes of one metric, of which there is one at least: those that are certain
    first, and those for the worse; of equal ones the last."""
    some = [one for one in found if one.change.verdict.is_sure] or found
    least = math.log1p(rule.relevance)
    worse = [one for one in some if _worsening(one) >= least]
    return max(reversed(worse or some), key=lambda one: abs(_worsening(one)))


def _rank(result: Result) -> tuple[int, bool]:
    if registry.collector(result.collector).profiles:
        return 1, False
    timed = result.metric.kind == TIMED
    of_work = result.metric.kind.times_work and is_time(result.metric)
    if not timed and (result.deterministic or not of_work):
        return 3, False
    # Timed runs are deterministic where an emulated clock counts instructions. What has start-up
    # in it says less than counts that have not.
    return 2 if result.deterministic or result.of_whole else 0, result.is_wall_time or not timed


def _worsening(one: LargestChange) -> float:
    """The logarithm of the ratio, above 0 for the worse; without a ratio, any change from nothing
    counts as endless, and others as none."""
    base, other = one.change.medians
    sign = 1 if one.result.metric.better == "lower" else -1
    if base > 0 and other > 0:
        return sign * (math.log(other) - math.log(base))
    return 0.0 if base == other or base < 0 or other < 0 else sign * math.inf * (other - base)
