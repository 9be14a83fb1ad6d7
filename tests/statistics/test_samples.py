"""What samples alone tell: the intervals against simulations, another formula, and laws."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from profdiff.evidence.statistics.samples import (
    ERRORS,
    Sampled,
    difference_interval,
    ratio_interval,
    relative_interval,
)

# Three standard errors of a normal distribution, on both sides.
LEVEL = math.erf(ERRORS / math.sqrt(2))


@given(st.integers(0, 50_000), st.integers(0, 50_000))
def test_the_ratio_is_that_of_an_exact_binomial_test(base: int, other: int) -> None:
    low, high = ratio_interval(base, other)
    if not base + other:
        assert (low, high) == (0, math.inf)
        return
    exact = binomtest(other, base + other).proportion_ci(LEVEL, method="exact")
    assert low / (1 + low) == pytest.approx(exact.low, rel=1e-5, abs=1e-9)
    part = high / (1 + high) if high < math.inf else 1.0
    assert part == pytest.approx(exact.high, rel=1e-5, abs=1e-9)


@pytest.mark.parametrize(("base", "other"), [(6_000, 10_000), (40, 70), (2, 9), (300, 300)])
def test_how_often_the_truth_is_inside(base: int, other: int) -> None:
    drawn = np.random.default_rng(7).poisson([base, other], (2_000, 2))
    missed = 0
    for a, b in drawn.tolist():
        low, high = relative_interval(Sampled([5000.0 * a], a), Sampled([5000.0 * b], b))
        missed += not low <= other / base - 1 <= high
    # 0.27 % of 2,000 are 5.4; 18 or more happen once in 100,000 times.
    assert missed < 18


def test_many_samples_have_the_standard_error() -> None:
    base, other = Sampled([31_055_000.0], 6_211), Sampled([53_495_000.0], 10_699)
    low, high = relative_interval(base, other)
    error = math.sqrt(1 / 6_211 + 1 / 10_699)
    assert math.log(1 + low) == pytest.approx(math.log(10_699 / 6_211) - 3 * error, abs=0.001)
    assert math.log(1 + high) == pytest.approx(math.log(10_699 / 6_211) + 3 * error, abs=0.001)
    # As views.marks has it: W^2 / n of each side.
    half = 3 * math.sqrt(31_055_000**2 / 6_211 + 53_495_000**2 / 10_699)
    assert difference_interval(base, other) == (22_440_000 - half, 22_440_000 + half)


def test_boots_that_scatter_more_than_samples_widen_the_interval() -> None:
    calm = relative_interval(Sampled([1e6, 1e6], 20_000, 2), Sampled([1.2e6, 1.2e6], 24_000, 2))
    wild = relative_interval(Sampled([0.8e6, 1.2e6], 20_000, 2), Sampled([1e6, 1.4e6], 24_000, 2))
    assert wild[0] < 0 < calm[0] < 0.2 < calm[1] < wild[1]


def test_what_is_new_and_what_is_gone() -> None:
    nothing, some = Sampled([0.0], 0), Sampled([20.0], 20)
    low, high = relative_interval(nothing, some)
    assert (0 < low < 20, high) == (True, math.inf)
    low, high = relative_interval(some, nothing)
    assert (low, high < -0.5) == (-1, True)
    assert relative_interval(nothing, nothing) == (-1, math.inf)
    # Twice as many runs make the same samples half as much.
    twice = relative_interval(nothing, Sampled([10.0, 10.0], 20, 2))
    assert 1 + twice[0] == pytest.approx((1 + relative_interval(nothing, some)[0]) / 2)
