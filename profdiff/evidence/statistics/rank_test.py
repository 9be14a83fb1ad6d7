"""Mann and Whitney's test and the interval that belongs to it, for many pairs of samples at once.

Sources: Mann and Whitney 1947 (the statistic and its null distribution); Lehmann 1975 (ties: the
permutation distribution of the midranks); Hodges and Lehmann 1963, Moses 1965 (estimate, interval).
"""

from functools import lru_cache
from itertools import combinations
from math import comb, floor, sqrt

import numpy as np
from numpy.typing import NDArray

from profdiff.evidence.statistics.boots import Floats

# Ties: exact while there are at most so many splits; 10 against 10 have 184,756.
MOST_SPLITS = 200_000
# No ties: the exact distribution is computed up to so many pairs of values.
MOST_PAIRS = 2_500
# Sums at a time, of one part of the ranks.
_BLOCK = 2_000_000


def smallest_p(base: int, other: int) -> float:
    """The two-sided p of complete separation, below which no data can go: 2 / C(n + m, n)."""
    return min(1.0, 2 / comb(base + other, base))


def mann_whitney(base: Floats, other: Floats) -> Floats:
    """Two-sided p of each row: float64[E] of float64[E, n] and float64[E, m].

    Exact without ties up to ``MOST_PAIRS``, exact with ties up to ``MOST_SPLITS`` splits; beyond,
    the normal approximation with corrections for ties and continuity. nan where a side has fewer
    than two values.
    """
    n, m = base.shape[1], other.shape[1]
    p = np.full(len(base), np.nan)
    if n < 2 or m < 2:
        return p
    pooled = np.sort(np.concatenate([base, other], axis=1), axis=1)
    tied = (pooled[:, 1:] == pooled[:, :-1]).any(axis=1)
    constant = pooled[:, 0] == pooled[:, -1]
    p[constant] = 1.0
    enumerated = tied & ~constant if comb(n + m, n) <= MOST_SPLITS else np.zeros_like(tied)
    part = (n + m + 1) // 2
    step = max(1, _BLOCK // comb(part, min(n, part // 2)))
    indices = np.flatnonzero(enumerated)
    for start in range(0, len(indices), step):
        block = indices[start : start + step]
        p[block] = _by_splits(base[block], other[block])
    for rows, method in (
        (~tied, "exact" if n * m <= MOST_PAIRS else "asymptotic"),
        (tied & ~enumerated & ~constant, "asymptotic"),
    ):
        if rows.any():
            from scipy.stats import mannwhitneyu

            p[rows] = mannwhitneyu(base[rows], other[rows], axis=1, method=method).pvalue
    return p


def _by_splits(base: Floats, other: Floats) -> Floats:
    """Part of all splits of the pooled midranks that lie as far out as the data's, on the side
    where that are fewer, twice.

    Splits are counted, not made: the ranks are cut in two, and for each sum of some of the first
    part a search tells how many sums of the second part complete it (Horowitz and Sahni 1974).
    """
    from scipy.stats import rankdata

    n, count = base.shape[1], base.shape[1] + other.shape[1]
    # Doubled and from the middle, so that they are whole numbers around 0.
    doubled = 2 * rankdata(np.concatenate([base, other], axis=1), axis=1)
    ranks = (doubled - (count + 1)).astype(np.int64)
    observed = ranks[:, :n].sum(axis=1, keepdims=True)
    symmetric = 2 * n == count
    if symmetric:
        observed = np.abs(observed)
    # One search for all rows, which are held apart by more than any sum.
    row = np.arange(len(ranks))[:, None]
    apart = row * (4 * count * count)
    above = np.zeros(len(ranks), np.int64)
    below = above.copy()
    half = count // 2
    for taken in range(max(0, n - (count - half)), min(n, half) + 1):
        seconds = np.sort(_sums(ranks[:, half:], n - taken), axis=1)
        lower, size = row * seconds.shape[1], seconds.shape[1]
        ordered = (seconds + apart).ravel()
        wanted = observed - _sums(ranks[:, :half], taken) + apart
        above += (lower + size - np.searchsorted(ordered, wanted, "left")).sum(axis=1)
        if not symmetric:
            below += (np.searchsorted(ordered, wanted, "right") - lower).sum(axis=1)
    fewer = above if symmetric else np.minimum(above, below)
    return np.minimum(1.0, 2 * fewer / comb(count, n))


def _sums(ranks: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """For each choice of ``size`` columns: int64[E, C(columns, size)]."""
    choices = np.array(list(combinations(range(ranks.shape[1]), size)), np.intp)
    return np.asarray(ranks[:, choices].sum(axis=2))


def shift_interval(base: Floats, other: Floats, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Hodges and Lehmann's estimate of other - base, and the low and high end of Moses' interval:
    each float64[E]. It is the set of shifts that Mann and Whitney's test does not reject. The ends
    are nan where so few values cannot reach the confidence."""
    n, m = base.shape[1], other.shape[1]
    differences = (other[:, :, None] - base[:, None, :]).reshape(len(base), n * m)
    differences.sort(axis=1)
    estimate = np.median(differences, axis=1)
    outside = _outside(n, m, (1 - confidence) / 2)
    if outside < 1:
        return estimate, np.full(len(base), np.nan), np.full(len(base), np.nan)
    return estimate, differences[:, outside - 1], differences[:, n * m - outside]


@lru_cache(maxsize=64)
def _outside(n: int, m: int, tail: float) -> int:
    """The largest c for which P(U < c) <= tail."""
    if n * m > MOST_PAIRS:
        from scipy.special import ndtri

        middle, deviation = n * m / 2, sqrt(n * m * (n + m + 1) / 12)
        return max(0, floor(middle + float(ndtri(tail)) * deviation))
    # The tail is a decimal fraction, rounded: an equal number of arrangements is within it.
    below, limit = 0, tail * comb(n + m, n) * (1 + 1e-9)
    for value, ways in enumerate(_arrangements(n, m)):
        below += ways
        if below > limit:
            return value
    return 0


def _arrangements(n: int, m: int) -> list[int]:
    """In how many orders of n and m values U is 0, 1, ...: the Gaussian binomial coefficient, whose
    factors (1 - q^(m+i)) / (1 - q^i) are multiplied in whole numbers."""
    ways = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for at in range(n * m, m + i - 1, -1):
            ways[at] -= ways[at - m - i]
        for at in range(i, n * m + 1):
            ways[at] += ways[at - i]
    return ways
