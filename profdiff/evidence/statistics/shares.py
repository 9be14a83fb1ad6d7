"""The interval of a quotient of logarithms: which part of one metric's change another one is.

Boots are resampled with replacement (Efron and Tibshirani 1993, chapter 8), and the quotient is
taken of each resample, so that a change of time that is hardly known makes a wide interval, as it
should (Fieller 1954). Percentiles lie as far out as those of the change of time (``tails``).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from profdiff.evidence.statistics.boots import Floats, read
from profdiff.evidence.statistics.bootstrap import tails
from profdiff.evidence.statistics.rule import Interval, Rule

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
    first, second, _ = read([[one] for one in base.whole], [[one] for one in other.whole])
    estimate = _share(*(np.median([values], axis=1) for one in (base, other) for values in one[:2]))
    if min(len(base.whole), len(other.whole)) < 2:
        return Interval(float(estimate[0]), math.nan, math.nan)
    random = np.random.default_rng(seed)
    drawn = [values for one in (base, other) for values in _resampled(one, rule, random)]
    shares = np.sort(_share(*drawn))
    if not np.isfinite(shares).all():
        return Interval(float(estimate[0]), math.nan, math.nan)
    tail = float(tails(first, second, rule.confidence)[0])
    # The (B + 1) * tail-th value (Davison and Hinkley 1997), rounded outwards.
    at = max(int(tail * (len(shares) + 1)) - 1, 0)
    return Interval(float(estimate[0]), float(shares[at]), float(shares[len(shares) - 1 - at]))


def _resampled(side: Side, rule: Rule, random: np.random.Generator) -> tuple[Floats, Floats]:
    """Medians of the whole and of the factor: float64[B] each."""
    whole, factor = np.asarray(side.whole, np.float64), np.asarray(side.factor, np.float64)
    drawn = random.integers(0, len(whole), (rule.resamples, len(whole)))
    if not (side.paired and len(whole) == len(factor)):
        return _medians(whole, drawn), _medians(
            factor, random.integers(0, len(factor), (rule.resamples, len(factor)))
        )
    return _medians(whole, drawn), _medians(factor, drawn)


def _medians(values: Floats, drawn: np.ndarray) -> Floats:
    return np.asarray(np.median(values[drawn], axis=1))


def _share(base: Floats, base_factor: Floats, other: Floats, other_factor: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(np.log(other_factor / base_factor) / np.log(other / base))
