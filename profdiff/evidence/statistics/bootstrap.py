"""Intervals of the change of medians and means, from resampled boots and runs.

Two levels are resampled with replacement: boots, then runs within each drawn boot (Kalibera and
Jones 2012; Davison and Hinkley 1997, section 3.8). Percentile intervals of few values are too
narrow; Hesterberg 2015 takes percentiles further out, so that they reach as far as Student's t
would. Here that is done for two samples: see ``tails``.
"""

from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.evidence.statistics.boots import Floats, Sample, median
from profdiff.evidence.statistics.rule import Rule

if TYPE_CHECKING:
    from numpy.random import Generator

# With more runs in a boot only boots are resampled: how runs scatter is in the boots' scatter too.
MOST_RUNS = 100
_BLOCK = 4_000_000

Counts = NDArray[np.int64]


class Changes(msgspec.Struct, frozen=True):
    """Changes of one statistic in E experiments; each column [E]. ``estimate``, ``low``, ``high``:
    ratio minus 1, nan as in ``Interval``. ``difference``: other - base. ``apart``: whether its
    interval excludes 0. ``inside``: whether the ratio's lies within the relevance bound."""

    estimate: Floats
    low: Floats
    high: Floats
    difference: Floats
    apart: NDArray[np.bool_]
    inside: NDArray[np.bool_]


def changes(base: Sample, other: Sample, rule: Rule, seed: int) -> tuple[Changes, Changes]:
    """The changes of the median over boots of the boots' medians, and of the mean of their
    means."""
    few = min(base.boots, other.boots) < 2
    medians = [np.median(side.medians(), axis=1) for side in (base, other)]
    means = [side.means().mean(axis=1) for side in (base, other)]
    tail = tails(base, other, rule.confidence)
    times = None
    if few:
        # There is no interval: nothing is drawn.
        resampled = [(a[:, None], b[:, None]) for a, b in zip(medians, means, strict=True)]
    elif _resamples_runs(base) or _resamples_runs(other):
        random = np.random.default_rng(seed)
        resampled = [_resampled(side, rule.resamples, random) for side in (base, other)]
    else:
        drawn, times = _distinct_draws(base.boots, other.boots, rule.resamples, seed)
        resampled = [of_boots(side, one) for side, one in zip((base, other), drawn, strict=True)]
    return (
        _change(medians[0], medians[1], resampled[0][0], resampled[1][0], times, tail, few, rule),
        _change(means[0], means[1], resampled[0][1], resampled[1][1], times, tail, few, rule),
    )


def tails(base: Sample, other: Sample, confidence: float) -> Floats:
    """Part of the resamples beyond each end of the interval: float64[E].

    The bootstrap's standard error divides by n where Welch's divides by n - 1, counts the scatter
    within boots twice (it is in the scatter of boots), and its percentiles reach z of them where
    Welch's interval reaches t. So z is chosen such that both reach equally far:
    z * bootstrap's error = t(nu) * Welch's error, with Welch's degrees of freedom nu. Errors are
    those of means, relative, as they add up in a ratio. For one sample and one run in each boot
    this is Hesterberg's formula.
    """
    n, m = base.boots, other.boots
    least = min(n, m)
    if least < 2:
        return np.full(len(base.values), (1 - confidence) / 2)
    from scipy.special import ndtr, stdtrit

    with np.errstate(all="ignore"):
        a, b = (np.square(spread(side.means())) / side.boots for side in (base, other))
        freedom = np.square(a + b) / (a**2 / (n - 1) + b**2 / (m - 1))
        resampled = a * (n - 1) / n + b * (m - 1) / m + _within(base) + _within(other)
        wider = np.sqrt((a + b) / resampled)
    # Where nothing scatters, or around 0: as for the smaller sample alone.
    freedom = np.where(np.isfinite(freedom), freedom, least - 1)
    wider = np.where(np.isfinite(wider), wider, np.sqrt(least / (least - 1)))
    # Twice is all that scatter can count; means of boots may be equal where their medians are not.
    wider = np.maximum(wider, np.sqrt(1 / 2))
    return np.asarray(ndtr(stdtrit(freedom, (1 - confidence) / 2) * wider))


def _within(side: Sample) -> Floats:
    """What resampling the runs adds to the square of the relative error of the mean: float64[E]."""
    if not _resamples_runs(side):
        return np.zeros(len(side.values))
    of_boots = np.nanvar(side.values, axis=-1) / side.runs
    return np.asarray(of_boots.mean(axis=1) / side.boots / np.square(side.means().mean(axis=1)))


def _resamples_runs(side: Sample) -> bool:
    most: int = side.values.shape[2]
    return 1 < most <= MOST_RUNS


def spread(values: Floats) -> Floats:
    """Coefficient of variation of each row (n - 1): nan for one value, and where the mean is 0 and
    the values are not."""
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    constant = values.min(axis=1) == values.max(axis=1)
    with np.errstate(all="ignore"):
        # The squares of huge values are none.
        values = values / np.abs(values).max(axis=1, keepdims=True)
        deviation, mean = values.std(axis=1, ddof=1), np.abs(values.mean(axis=1))
        return np.where(constant, 0.0, np.where(mean > 0, deviation / mean, np.nan))


def _change(
    base: Floats,
    other: Floats,
    bases: Floats,
    others: Floats,
    times: Counts | None,
    tail: Floats,
    few: bool,
    rule: Rule,
) -> Changes:
    """``base`` and ``other``: [E]; resampled ``bases`` and ``others``: [E, B], each so many
    ``times`` (None: once)."""
    with np.errstate(all="ignore"):
        ratio = other / base - 1
        estimate = np.where(np.isfinite(ratio), ratio, np.nan)
        bounded = (bases > 0).all(axis=1) | (bases < 0).all(axis=1)
        bounded &= np.isfinite(estimate)
        spreads = np.where(bounded[:, None], others / bases - 1, others - bases)
    low, high = interval(spreads, times, tail)
    inside = (-rule.relevance <= low) & (high <= rule.relevance)
    shown = bounded & np.isfinite(low) & np.isfinite(high) & (not few)
    return Changes(
        estimate=estimate,
        low=np.where(shown, low, np.nan),
        high=np.where(shown, high, np.nan),
        difference=other - base,
        apart=((low > 0) | (high < 0)) & (not few),
        inside=np.where(bounded, inside, (low == 0) & (high == 0)) & (not few),
    )


def interval(spreads: Floats, times: Counts | None, tail: Floats) -> tuple[Floats, Floats]:
    """Both ends of each row's interval: float64[E]. ``spreads``: float64[E, B], each so many
    ``times`` (None: once); ``tail``, float64[E]: the part of them beyond each end."""
    count = spreads.shape[1] if times is None else int(times.sum())
    # The (B + 1) * tail-th value (Davison and Hinkley 1997), rounded outwards.
    at = np.maximum((tail * (count + 1)).astype(np.intp) - 1, 0)
    return _values_at(spreads, times, (at, count - 1 - at))


def _values_at(
    spreads: Floats, times: Counts | None, places: tuple[NDArray[np.intp], NDArray[np.intp]]
) -> tuple[Floats, Floats]:
    """The values of each row at two places in ascending order."""
    rows = np.arange(len(spreads))
    low, high = places
    if times is None:
        ascending = np.sort(spreads, axis=1)
        return ascending[rows, low], ascending[rows, high]
    order = np.argsort(spreads, axis=1)
    behind = np.cumsum(times[order], axis=1)
    first, last = ((behind <= at[:, None]).sum(axis=1) for at in (low, high))
    return spreads[rows, order[rows, first]], spreads[rows, order[rows, last]]


def _resampled(side: Sample, resamples: int, random: "Generator") -> tuple[Floats, Floats]:
    """Medians and means of each resample: float64[E, B]. All experiments share the draws."""
    if _resamples_runs(side):
        return _two_levels(side, resamples, random)
    return of_boots(side, drawn_boots(side.boots, resamples, random))


def drawn_boots(boots: int, resamples: int, random: "Generator") -> Counts:
    """How often each of some boots is drawn, which says all: int64[B, n]."""
    return random.multinomial(boots, np.full(boots, 1 / boots), size=resamples)


# Experiments that are estimated one after the other mostly have as many boots.
@lru_cache(maxsize=1)
def _distinct_draws(
    base: int, other: int, resamples: int, seed: int
) -> tuple[tuple[Counts, Counts], Counts | None]:
    """What is drawn of both sides, and how often: of few boots there are few resamples, and the
    distinct ones tell all. None where there may be about as many as are drawn."""
    random = np.random.default_rng(seed)
    first, second = (drawn_boots(boots, resamples, random) for boots in (base, other))
    if 4 * comb(2 * base - 1, base) * comb(2 * other - 1, other) > resamples:
        return (first, second), None
    # Both as one number, digit by digit.
    digits = np.concatenate([first, second], axis=1)
    places = (max(base, other) + 1) ** np.arange(base + other)
    _, rows, times = np.unique(digits @ places, return_index=True, return_counts=True)
    return (first[rows], second[rows]), times


def of_boots(side: Sample, drawn: Counts) -> tuple[Floats, Floats]:
    """Medians and means of resamples of boots: float64[E, B]. Column k of ``drawn`` is of the boot
    with the k-th smallest value."""
    # Sorted, the median is where half of the boots are counted.
    boots = side.boots
    below = np.cumsum(drawn, axis=1)
    lower, upper = ((below <= at).sum(axis=1) for at in ((boots - 1) // 2, boots // 2))
    medians = np.sort(side.medians(), axis=1)
    # Not by matmul: so small a product takes longer where its threads wait for each other.
    weights = np.ascontiguousarray(drawn.T / boots)
    means = np.einsum("en,nb->eb", np.sort(side.means(), axis=1), weights)
    return medians[:, lower] / 2 + medians[:, upper] / 2, means


def _two_levels(side: Sample, resamples: int, random: "Generator") -> tuple[Floats, Floats]:
    experiments, boots, most = side.values.shape
    medians, means = np.empty((2, experiments, resamples))
    step = max(1, _BLOCK // (experiments * boots * most))
    for start in range(0, resamples, step):
        block = slice(start, min(start + step, resamples))
        count = block.stop - start
        boot = random.integers(0, boots, (count, boots))
        runs = side.runs[boot]
        run = (random.random((count, boots, most)) * runs[..., None]).astype(np.intp)
        drawn = side.values[:, boot[..., None], run]
        drawn[:, np.arange(most) >= runs[..., None]] = np.nan
        means[:, block] = (np.nansum(drawn, axis=-1) / runs).mean(axis=-1)
        drawn.sort(axis=-1)
        medians[:, block] = np.median(median(drawn, runs), axis=-1)
    return medians, means
