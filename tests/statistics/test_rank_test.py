"""Mann and Whitney's test and Moses' interval against scipy, published values, and their laws."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import stats

from profdiff.evidence.statistics import rank_test
from profdiff.evidence.statistics.rank_test import mann_whitney, shift_interval, smallest_p

# Hollander and Wolfe 1973, page 69: permeability of the human chorioamnion at term, and before.
TERM = np.array([[0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]])
EARLY = np.array([[1.15, 0.88, 0.90, 0.74, 1.21]])


def whole(
    random: np.random.Generator, low: int, high: int, shape: tuple[int, int]
) -> NDArray[np.float64]:
    return random.integers(low, high, shape).astype(np.float64)


def test_the_smallest_p_is_what_is_published() -> None:
    # benchstat's documentation rounds these.
    assert [round(smallest_p(n, n), 3) for n in (3, 4, 5, 6)] == [0.1, 0.029, 0.008, 0.002]
    assert smallest_p(1, 1) == 1


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 5), (5, 5), (9, 9), (2, 40)])
def test_complete_separation_reaches_the_smallest_p(n: int, m: int) -> None:
    low, high = np.arange(n, dtype=float)[None], 100 + np.arange(m, dtype=float)[None]
    assert mann_whitney(low, high)[0] == pytest.approx(smallest_p(n, m))
    # Ties within the sides take another way to the same end.
    assert mann_whitney(0 * low, 0 * high + 1)[0] == pytest.approx(smallest_p(n, m))


def test_a_published_example() -> None:
    assert mann_whitney(EARLY, TERM)[0] == pytest.approx(0.2544, abs=5e-5)
    estimate, low, high = shift_interval(EARLY, TERM, 0.95)
    assert (estimate[0], low[0], high[0]) == pytest.approx((0.305, -0.15, 0.76))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "m"), [(3, 4), (5, 5), (6, 9), (9, 9)])
def test_p_with_ties_is_that_of_all_permutations(n: int, m: int) -> None:
    random = np.random.default_rng(n * m)
    base, other = whole(random, 0, 5, (4, n)), whole(random, 1, 6, (4, m))

    def rank_sum(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        ranks = stats.rankdata(np.concatenate([x, y], axis=axis), axis=axis)
        return np.asarray(np.take(ranks, range(x.shape[axis]), axis=axis).sum(axis=axis))

    for row, p in enumerate(mann_whitney(base, other)):
        oracle = stats.permutation_test(
            (base[row], other[row]),
            rank_sum,
            vectorized=True,
            n_resamples=comb(n + m, n),
            batch=4000,
        )
        assert p == pytest.approx(oracle.pvalue)


def test_blocks_do_not_change_p(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(9)
    base, other = whole(random, 0, 5, (50, 6)), whole(random, 1, 6, (50, 5))
    at_once = mann_whitney(base, other)
    monkeypatch.setattr(rank_test, "_BLOCK", 1)
    assert (mann_whitney(base, other) == at_once).all()


def test_large_samples_use_the_normal_approximation() -> None:
    random = np.random.default_rng(3)
    base, other = whole(random, 0, 9, (4, 60)), whole(random, 0, 9, (4, 70))
    oracle = stats.mannwhitneyu(base, other, axis=1, method="asymptotic").pvalue
    assert mann_whitney(base, other) == pytest.approx(oracle)


def test_too_few_and_constant_values() -> None:
    assert np.isnan(mann_whitney(np.zeros((1, 1)), np.ones((1, 9))))[0]
    assert mann_whitney(np.ones((1, 30)), np.ones((1, 30)))[0] == 1


@pytest.mark.parametrize(("n", "m"), [(4, 4), (5, 9), (9, 9), (12, 3)])
def test_the_null_distribution_is_scipys(n: int, m: int) -> None:
    """By the p of an arrangement with each U that there is."""
    ways = rank_test._arrangements(n, m)
    assert sum(ways) == comb(n + m, n)
    base = np.arange(n) * 1.0
    for u in range(n * m // 2):
        # U pairs in which the other is lower: whole columns, then a part of one.
        full, rest = divmod(u, n)
        other = np.full(m, n + 1.0) + np.arange(m)
        other[:full] = -1.0 - np.arange(full)
        if rest:
            other[full] = n - rest - 0.5
        p = stats.mannwhitneyu(base, other, method="exact").pvalue
        assert 2 * sum(ways[: u + 1]) / comb(n + m, n) == pytest.approx(p)


def test_the_approximate_interval_meets_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = rank_test._outside(40, 40, 0.025)
    rank_test._outside.cache_clear()
    monkeypatch.setattr(rank_test, "MOST_PAIRS", 0)
    assert abs(rank_test._outside(40, 40, 0.025) - exact) <= 1
    rank_test._outside.cache_clear()


def test_too_few_values_have_no_interval() -> None:
    estimate, low, high = shift_interval(np.array([[1.0, 2, 3]]), np.array([[7.0, 8, 9]]), 0.95)
    assert estimate[0] == 6
    assert np.isnan(low[0])
    assert np.isnan(high[0])


counts = st.integers(0, 12).map(float)


@st.composite
def pairs(draw: st.DrawFn, distinct: bool = False) -> tuple[np.ndarray, np.ndarray]:
    n, m = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    elements = st.integers(-1000, 1000).map(float) if distinct else counts
    pooled = draw(arrays(float, (1, n + m), elements=elements, unique=distinct))
    return pooled[:, :n], pooled[:, n:]


@given(pairs())
def test_sides_may_be_swapped(sides: tuple[np.ndarray, np.ndarray]) -> None:
    base, other = sides
    assert mann_whitney(base, other) == pytest.approx(mann_whitney(other, base))
    estimate, low, high = shift_interval(base, other, 0.9)
    back, back_low, back_high = shift_interval(other, base, 0.9)
    assert (estimate[0], low[0], high[0]) == pytest.approx(
        (-back[0], -back_high[0], -back_low[0]), nan_ok=True
    )


@given(pairs())
def test_p_is_at_least_the_smallest(sides: tuple[np.ndarray, np.ndarray]) -> None:
    base, other = sides
    p = mann_whitney(base, other)[0]
    assert smallest_p(base.shape[1], other.shape[1]) * (1 - 1e-12) <= p <= 1


@given(pairs(distinct=True), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_the_interval_holds_what_the_test_does_not_reject(
    sides: tuple[np.ndarray, np.ndarray], confidence: float
) -> None:
    base, other = sides
    _, low, high = shift_interval(base, other, confidence)
    rejected = mann_whitney(base, other)[0] <= (1 - confidence) * (1 + 1e-12)
    assert rejected == bool(low[0] > 0 or high[0] < 0)
