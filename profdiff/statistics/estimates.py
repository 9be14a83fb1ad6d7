"""One metric on two kernels: how large is the change, and is it one?"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profdiff.statistics.boots import Boots, Floats, Sample, read
from profdiff.statistics.bootstrap import Change, changes, spread
from profdiff.statistics.rank_test import mann_whitney, smallest_p
from profdiff.statistics.rule import Interval, Quality, Rule, Verdict

_DEFAULT = Rule()


@dataclass(frozen=True)
class Estimate:
    """Pairs are of base and other. ``boots``: that have a value. ``medians`` and ``means``: over
    boots of the boots' own, in the metric's unit. ``spread``: coefficient of variation over the
    boots' means (n - 1), nan for one boot. ``median`` and ``mean``: change of these.

    ``mann_whitney`` and ``welch``: two-sided p over the boots' medians and means, nan where a side
    has one boot. ``smallest_p``: that Mann-Whitney can reach with so many boots. ``reason``: one
    clause why ``verdict`` is *unsure* or ``quality`` not *reliable*, else empty.
    """

    boots: tuple[int, int]
    medians: tuple[float, float]
    means: tuple[float, float]
    spread: tuple[float, float]
    median: Interval
    mean: Interval
    mann_whitney: float
    welch: float
    smallest_p: float
    verdict: Verdict
    quality: Quality
    reason: str


@dataclass(frozen=True)
class Findings:
    """What is computed for E experiments at once; columns [E], verdicts by median and by mean."""

    median: Change
    mean: Change
    mann_whitney: Floats
    welch: Floats
    smallest_p: float
    verdicts: NDArray[np.str_]
    mean_verdicts: NDArray[np.str_]


def find(base: Sample, other: Sample, rule: Rule, seed: int) -> Findings:
    """Everything that needs no words. ``estimate`` has one experiment, the calibration thousands,
    so that what is calibrated is what runs."""
    median, mean = changes(base, other, rule, seed)
    by_rank = mann_whitney(base.medians(), other.medians())
    by_mean = welch(base.means(), other.means())
    smallest = smallest_p(base.boots, other.boots)
    return Findings(
        median=median,
        mean=mean,
        mann_whitney=by_rank,
        welch=by_mean,
        smallest_p=smallest,
        verdicts=_verdicts(median, by_rank, smallest, rule),
        mean_verdicts=_verdicts(mean, by_mean, smallest, rule),
    )


def estimate(
    base: Boots,
    other: Boots,
    rule: Rule = _DEFAULT,
    *,
    planned: int | None = None,
    deterministic: bool = False,
    seed: int = 0,
) -> Estimate:
    """The change of a metric from ``base`` to ``other``, and what may be said of it.

    ``planned``: boots wanted on each side. ``deterministic``: the collector counts exactly; where
    all values of each side are equal no statistics are needed. Boots without a run are left out.
    Raises InputError for a side without a value, and for a value that is no finite number.
    """
    first, second, exponent = read(base, other)
    if deterministic and _constant(first) and _constant(second):
        return _exact(first, second, exponent, planned)
    found = find(first, second, rule, seed)
    verdict = _VERDICTS[str(found.verdicts[0])]
    boots = (first.boots, second.boots)
    quality: Quality = "reliable"
    if planned is not None and min(boots) < planned:
        quality = "partial"
    elif not _agree(found, rule):
        quality = "robust-only"
    return Estimate(
        boots=boots,
        medians=_pair(exponent, *(np.median(side.medians()) for side in (first, second))),
        means=_pair(exponent, *(np.mean(side.means()) for side in (first, second))),
        spread=_pair(0, *(spread(side.means())[0] for side in (first, second))),
        median=interval(found.median),
        mean=interval(found.mean),
        mann_whitney=float(found.mann_whitney[0]),
        welch=float(found.welch[0]),
        smallest_p=found.smallest_p,
        verdict=verdict,
        quality=quality,
        reason=_reason(found, verdict, quality, boots, planned, rule),
    )


def _exact(first: Sample, second: Sample, exponent: int, planned: int | None) -> Estimate:
    """Of sides whose values are all equal: nothing is resampled or tested, and nothing loaded."""
    values = _pair(exponent, *(np.median(side.medians()) for side in (first, second)))
    change = values[1] / values[0] - 1 if values[0] else math.nan
    boots = (first.boots, second.boots)
    partial = planned is not None and min(boots) < planned
    known = zip(boots, values, strict=True)
    some = [0.0 if count > 1 and value else math.nan for count, value in known]
    return Estimate(
        boots=boots,
        medians=values,
        means=values,
        spread=(some[0], some[1]),
        median=Interval(change, change, change),
        mean=Interval(change, change, change),
        mann_whitney=math.nan,
        welch=math.nan,
        smallest_p=smallest_p(*boots),
        verdict="exact",
        quality="partial" if partial else "reliable",
        reason=_few(boots, planned) if partial else "",
    )


def _few(boots: tuple[int, int], planned: int | None) -> str:
    return f"{boots[0]} and {boots[1]} of {planned} planned boots"


def welch(base: Floats, other: Floats) -> Floats:
    """Welch's two-sided p of each row (Welch 1947). nan where a side has one value; where neither
    side scatters, the limit: 1 if they are equal, else 0."""
    if base.shape[1] < 2 or other.shape[1] < 2:
        return np.full(len(base), np.nan)
    from scipy.stats import ttest_ind_from_stats

    constant = np.ones(len(base), np.bool_)
    for side in (base, other):
        constant &= side.min(axis=1) == side.max(axis=1)
    moments = [
        argument
        for side in (base, other)
        for argument in (side.mean(axis=1), side.std(axis=1, ddof=1), side.shape[1])
    ]
    with np.errstate(all="ignore"):
        p = ttest_ind_from_stats(*moments, equal_var=False).pvalue
    return np.where(constant, np.where(base[:, 0] == other[:, 0], 1.0, 0.0), p)


def interval(change: Change) -> Interval:
    """Of the first experiment."""
    return Interval(float(change.estimate[0]), float(change.low[0]), float(change.high[0]))


def _verdicts(change: Change, p: Floats, smallest: float, rule: Rule) -> NDArray[np.str_]:
    if smallest > rule.alpha:
        return np.full(len(p), "unsure")
    # Where there is no ratio, any difference is relevant.
    relevant = ~(np.abs(change.estimate) < rule.relevance) & (change.difference != 0)
    changed = (p <= rule.alpha) & change.apart & relevant
    return np.select([change.inside, changed], ["unchanged", "changed"], "unsure")


_VERDICTS: dict[str, Verdict] = {
    "changed": "changed",
    "unchanged": "unchanged",
    "unsure": "unsure",
}


def _agree(found: Findings, rule: Rule) -> bool:
    """Whether mean and median say the same: the verdict, and the change within the relevance."""
    apart = abs(found.mean.estimate[0] - found.median.estimate[0])
    return bool(found.verdicts[0] == found.mean_verdicts[0]) and not apart > rule.relevance


def _constant(side: Sample) -> bool:
    return bool(np.nanmin(side.values) == np.nanmax(side.values))


def _pair(exponent: int, base: np.floating, other: np.floating) -> tuple[float, float]:
    return float(np.ldexp(base, exponent)), float(np.ldexp(other, exponent))


def _reason(
    found: Findings,
    verdict: Verdict,
    quality: Quality,
    boots: tuple[int, int],
    planned: int | None,
    rule: Rule,
) -> str:
    if verdict == "unsure":
        return _why_unsure(found, boots, rule)
    if quality == "partial":
        return _few(boots, planned)
    if quality == "robust-only":
        median, mean = float(found.median.estimate[0]), float(found.mean.estimate[0])
        return f"the median says {_percent(median)}, the mean {_percent(mean)}"
    return ""


def _why_unsure(found: Findings, boots: tuple[int, int], rule: Rule) -> str:
    change, p = found.median, float(found.mann_whitney[0])
    low, high = float(change.low[0]), float(change.high[0])
    if found.smallest_p > rule.alpha:
        smallest = f"{found.smallest_p:.2g}"
        return f"{boots[0]} against {boots[1]} boots reach p = {smallest} at the smallest"
    if min(boots) < 2:
        return "one boot has no interval"
    if p <= rule.alpha and change.apart[0]:
        return f"significant, but {_percent(float(change.estimate[0]))} is not relevant"
    if p <= rule.alpha:
        return f"p = {p:.2g}, but the interval holds 0"
    if change.apart[0]:
        return f"the interval excludes 0, but p = {p:.2g}"
    if np.isnan(low):
        return "base is 0 or may be, so that a ratio has no bounds"
    return f"not significant, but {_percent(low)} to {_percent(high)} are possible"


def _percent(fraction: float) -> str:
    return "no ratio" if np.isnan(fraction) else f"{100 * fraction:+.3g} %"
