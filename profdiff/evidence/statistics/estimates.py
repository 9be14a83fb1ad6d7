"""One metric on two kernels: how large is the change, and is it one?"""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.evidence.statistics.boots import Boots, Experiments, Floats, Sample, read, read_all
from profdiff.evidence.statistics.bootstrap import Changes, changes
from profdiff.evidence.statistics.rank_test import mann_whitney, smallest_p
from profdiff.evidence.statistics.rule import Interval, Quality, Rule, Verdict

_DEFAULT = Rule()
# Resamples at a time, of all experiments together.
_BLOCK = 1_000_000


class Estimate(msgspec.Struct, frozen=True):
    """Pairs are of base and other. ``boots``: that have a value. ``medians`` and ``means``: over
    boots of the boots' own, in the metric's unit. ``median`` and ``mean``: change of these.

    ``mann_whitney`` and ``welch``: two-sided p over the boots' medians and means, nan where a side
    has one boot. ``smallest_p``: that Mann-Whitney can reach with so many boots. ``reason``: one
    clause why ``verdict`` is *unsure* or ``quality`` not *reliable*, else empty. ``states``: in how
    many it was seen; of several, ``median`` of exact counts is the shown state's change, and goes
    from the lowest of all to the highest, and ``deltas`` are those in the metric's unit.
    ``tick_floor``: of an exact change in one state, how much of it timer ticks can be, in the
    metric's unit; None where that is not known. ``iterated``: ``medians`` with each iteration of
    repeated string instructions counted, None where they are not of instructions, or unknown.
    ``alone``: it is exact and was seen in one state, though guests have others.
    """

    boots: tuple[int, int]
    medians: tuple[float, float]
    means: tuple[float, float]
    median: Interval
    mean: Interval
    mann_whitney: float
    welch: float
    smallest_p: float
    verdict: Verdict
    quality: Quality
    reason: str
    states: int = 1
    deltas: tuple[float, float] | None = None
    tick_floor: float | None = 0.0
    iterated: tuple[float, float] | None = None
    alone: bool = False

    @property
    def counted(self) -> bool:
        """Whether it is of counts that every boot repeats, so that no statistics judge it."""
        return self.verdict in (Verdict.EXACT, Verdict.DEPENDS) or bool(self.tick_floor)


class Tests(msgspec.Struct, frozen=True):
    """What is computed for E experiments at once; columns [E], verdicts by median and by mean."""

    median: Changes
    mean: Changes
    mann_whitney: Floats
    welch: Floats
    smallest_p: float
    verdicts: NDArray[np.str_]
    mean_verdicts: NDArray[np.str_]


def find(base: Sample, other: Sample, rule: Rule, seed: int) -> Tests:
    """Everything that needs no words. ``estimate`` has one experiment, the calibration thousands,
    so that what is calibrated is what runs."""
    median, mean = changes(base, other, rule, seed)
    by_rank = mann_whitney(base.medians(), other.medians())
    by_mean = welch(base.means(), other.means())
    smallest = smallest_p(base.boots, other.boots)
    return Tests(
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
    Raises InputError for a side without a value, and for a value that is not a finite number.
    """
    (found,) = estimates(
        [(base, other)], rule, planned=planned, deterministic=deterministic, seed=seed
    )
    return found


def estimates(
    pairs: Sequence[tuple[Boots, Boots]],
    rule: Rule = _DEFAULT,
    *,
    planned: int | None = None,
    deterministic: bool = False,
    seed: int = 0,
) -> list[Estimate]:
    """What ``estimate`` says of each pair of base and other. Those that are shaped alike share the
    draws of the seed, as they do one by one. Raises what ``estimate`` does."""
    result: dict[int, Estimate] = {}
    for group in read_all(pairs):
        exact = np.zeros(len(group.rows), np.bool_)
        if deterministic:
            exact = _constant(group.base) & _constant(group.other)
        statistical = np.flatnonzero(~exact)
        step = max(1, _BLOCK // rule.resamples)
        if exact.any():
            part = group.part(np.flatnonzero(exact))
            result.update(zip(part.rows, _exact(part, planned), strict=True))
        for start in range(0, len(statistical), step):
            part = group.part(statistical[start : start + step])
            result.update(zip(part.rows, _estimated(part, rule, planned, seed), strict=True))
    return [result[row] for row in range(len(pairs))]


def noise_floor(base: Boots, twin: Boots, rule: Rule = _DEFAULT, *, seed: int = 0) -> float:
    """What a difference must exceed to be more than what the same kernel shows against itself: a
    fraction, nan where a side has one boot, or around 0.

    It is the end of the interval of the median's change that is further from 0, not the estimate:
    two medians of the same kernel may meet by luck, their interval still tells how far apart such
    medians can be. A constant bias between the two (an order effect) moves the interval, and so
    raises the floor. Raises what ``estimate`` does.
    """
    first, second, _ = read(base, twin)
    change = changes(first, second, rule, seed)[0]
    return max(abs(float(change.low[0])), abs(float(change.high[0])))


def _estimated(part: Experiments, rule: Rule, planned: int | None, seed: int) -> list[Estimate]:
    """The estimates of experiments that are estimated together."""
    both = (part.base, part.other)
    found = find(*both, rule, seed)
    boots = (part.base.boots, part.other.boots)
    medians, means = (
        list(zip(*columns, strict=True))
        for columns in (
            [_unscaled(np.median(side.medians(), axis=1), part) for side in both],
            [_unscaled(np.mean(side.means(), axis=1), part) for side in both],
        )
    )
    made = []
    for at in range(len(part.rows)):
        verdict = Verdict(found.verdicts[at])
        quality: Quality = "reliable"
        if planned is not None and min(boots) < planned:
            quality = "partial"
        elif not _agree(found, at, rule):
            quality = "robust-only"
        made.append(
            Estimate(
                boots=boots,
                medians=medians[at],
                means=means[at],
                median=_interval(found.median, at),
                mean=_interval(found.mean, at),
                mann_whitney=float(found.mann_whitney[at]),
                welch=float(found.welch[at]),
                smallest_p=found.smallest_p,
                verdict=verdict,
                quality=quality,
                reason=_reason(found, at, verdict, quality, boots, planned, rule),
            )
        )
    return made


def _exact(part: Experiments, planned: int | None) -> list[Estimate]:
    """Estimates of sides whose values are all equal, without resampling, tests or loading scipy."""
    both = (part.base, part.other)
    bases, others = (_unscaled(side.medians()[:, 0], part) for side in both)
    boots = (part.base.boots, part.other.boots)
    partial = planned is not None and min(boots) < planned
    smallest = smallest_p(*boots)
    made = []
    for base, other in zip(bases, others, strict=True):
        change = other / base - 1 if base else math.nan
        interval = Interval(change, change, change)
        made.append(
            Estimate(
                boots=boots,
                medians=(base, other),
                means=(base, other),
                median=interval,
                mean=interval,
                mann_whitney=math.nan,
                welch=math.nan,
                smallest_p=smallest,
                verdict=Verdict.EXACT,
                quality="partial" if partial else "reliable",
                reason=_few(boots, planned) if partial else "",
            )
        )
    return made


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


def _interval(change: Changes, at: int) -> Interval:
    return Interval(float(change.estimate[at]), float(change.low[at]), float(change.high[at]))


def _verdicts(change: Changes, p: Floats, smallest: float, rule: Rule) -> NDArray[np.str_]:
    if smallest > rule.alpha:
        return np.full(len(p), Verdict.UNSURE)
    # Where there is no ratio, any difference is relevant.
    relevant = ~(np.abs(change.estimate) < rule.relevance) & (change.difference != 0)
    changed = (p <= rule.alpha) & change.apart & relevant
    words = [Verdict.UNCHANGED, Verdict.CHANGED]
    return np.select([change.inside, changed], words, Verdict.UNSURE)


def _agree(found: Tests, at: int, rule: Rule) -> bool:
    """Whether mean and median say the same: the verdict, and the change within the relevance."""
    apart = abs(found.mean.estimate[at] - found.median.estimate[at])
    return bool(found.verdicts[at] == found.mean_verdicts[at]) and not apart > rule.relevance


def _constant(side: Sample) -> NDArray[np.bool_]:
    lowest, highest = (end(side.values, axis=(1, 2)) for end in (np.nanmin, np.nanmax))
    return np.asarray(lowest == highest)


def _unscaled(values: Floats, part: Experiments) -> list[float]:
    """In the metric's unit again."""
    unscaled: list[float] = np.ldexp(values, part.exponents).tolist()
    return unscaled


def _reason(
    found: Tests,
    at: int,
    verdict: Verdict,
    quality: Quality,
    boots: tuple[int, int],
    planned: int | None,
    rule: Rule,
) -> str:
    if verdict is Verdict.UNSURE:
        return _why_unsure(found, at, boots, rule)
    if quality == "partial":
        return _few(boots, planned)
    if quality == "robust-only":
        median, mean = float(found.median.estimate[at]), float(found.mean.estimate[at])
        return f"the median says {_percent(median)}, the mean {_percent(mean)}"
    return ""


def _why_unsure(found: Tests, at: int, boots: tuple[int, int], rule: Rule) -> str:
    change, p = found.median, float(found.mann_whitney[at])
    low, high = float(change.low[at]), float(change.high[at])
    if found.smallest_p > rule.alpha:
        some = units.counted(boots[0], "boot")
        return f"with {some} against {boots[1]}, p cannot be below {found.smallest_p:.2g}"
    if min(boots) < 2:
        return "one boot gives no interval"
    if p <= rule.alpha and change.apart[at]:
        return f"significant, but {_percent(float(change.estimate[at]))} is not relevant"
    if p <= rule.alpha:
        return f"p = {p:.2g}, but the interval contains 0"
    if change.apart[at]:
        return f"the interval excludes 0, but p = {p:.2g}"
    if np.isnan(low):
        return "the base is or may be 0, so a ratio has no bounds"
    return f"not significant, but {_percent(low)} to {_percent(high)} are possible"


def _percent(fraction: float) -> str:
    return "no ratio" if np.isnan(fraction) else units.percent(fraction, "+.3g")
