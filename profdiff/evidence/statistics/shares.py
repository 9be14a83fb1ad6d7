"""The interval of a quotient of logarithms: which part of one metric's change another one is.

Boots are resampled as for the change of one metric, and the quotient is taken of each resample, so
that a change of time that is hardly known makes a wide interval, as it should (Fieller 1954).
Percentiles lie as far out as those of the change of time (``tails``).
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from profdiff.evidence.statistics.boots import Floats, Sample, read
from profdiff.evidence.statistics.bootstrap import (
    Counts,
    drawn_boots,
    interval,
    of_boots,
    tails,
)
from profdiff.evidence.statistics.rule import Interval, Rule

if TYPE_CHECKING:
    from numpy.random import Generator

_DEFAULT = Rule()


class Side(NamedTuple):
    """One kernel's value in each boot, of the whole and of its factor. ``paired``: value k of both
    is of the same boot."""

    whole: Sequence[float]
    factor: Sequence[float]
    paired: bool


def share(base: Side, other: Side, rule: Rule = _DEFAULT, *, seed: int = 0) -> Interval:
    """The share of the factor's change in the whole's: ln(factor) / ln(whole), both as multiples of
    the base's medians. ``low`` and ``high`` are nan where a side has one boot of the whole, or
    where some resample has no change at all. Raises InputError for a side without a value.
    """
    wholes = _samples(base.whole, other.whole)
    factors = _samples(base.factor, other.factor)
    medians = [np.median(one.medians(), axis=1) for one in (*wholes, *factors)]
    estimate = float(_share(*medians)[0])
    if min(one.boots for one in wholes) < 2:
        return Interval(estimate, math.nan, math.nan)
    random = np.random.default_rng(seed)
    drawn = [
        _resampled(whole, factor, side.paired, rule.resamples, random)
        for whole, factor, side in zip(wholes, factors, (base, other), strict=True)
    ]
    (base_whole, base_factor), (other_whole, other_factor) = drawn
    shares = _share(base_whole, other_whole, base_factor, other_factor)
    if not np.isfinite(shares).all():
        return Interval(estimate, math.nan, math.nan)
    low, high = interval(shares, None, tails(*wholes, rule.confidence))
    return Interval(estimate, float(low[0]), float(high[0]))


def _samples(base: Sequence[float], other: Sequence[float]) -> tuple[Sample, Sample]:
    """Both divided by the same number, which no ratio shows."""
    first, second, _ = read([[one] for one in base], [[one] for one in other])
    return first, second


def _resampled(
    whole: Sample, factor: Sample, paired: bool, resamples: int, random: "Generator"
) -> tuple[Floats, Floats]:
    """Medians of the whole and of the factor: float64[1, B] each."""
    drawn = of_factor = drawn_boots(whole.boots, resamples, random)
    if not (paired and whole.boots == factor.boots):
        of_factor = drawn_boots(factor.boots, resamples, random)
    return _medians(whole, drawn), _medians(factor, of_factor)


def _medians(side: Sample, drawn: Counts) -> Floats:
    """float64[1, B], of resamples in which boot k is as often as column k of ``drawn`` says."""
    order = np.argsort(side.medians()[0], kind="stable")
    return of_boots(side, np.ascontiguousarray(drawn[:, order]))[0]


def _share(base: Floats, other: Floats, base_factor: Floats, other_factor: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(np.log(other_factor / base_factor) / np.log(other / base))
