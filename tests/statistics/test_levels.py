"""The interval of one kernel's boots, against scipy and against what it promises."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, quantile_test
from support import ROOT

from profdiff.evidence.statistics import Rule, level

NUMBERS = st.floats(-1e12, 1e12)


@pytest.mark.parametrize("count", [*range(6, 60), 200, 999, 1000, 1001, 5000])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_ends_are_those_of_scipy(count: int, confidence: float) -> None:
    if 1 - 2 * 0.5**count < confidence:
        return
    values = np.random.default_rng(count).normal(100, 1, count)
    found = level([[value] for value in values], Rule(confidence=confidence))
    expected = quantile_test(values, q=np.median(values), p=0.5).confidence_interval(confidence)
    assert found is not None
    assert (found.low, found.high) == (expected.low, expected.high)
    outside = int((values < found.low).sum())
    assert found.confidence == pytest.approx(1 - 2 * binom.cdf(outside, count, 0.5))
    assert found.confidence >= confidence


def test_few_boots_have_their_range_and_say_what_it_is_worth() -> None:
    for count, worth in ((2, 0.5), (3, 0.75), (4, 0.875), (5, 0.9375), (6, 0.96875)):
        found = level([[float(n)] for n in range(count)])
        assert found is not None
        assert (found.low, found.high) == (0, count - 1)
        assert found.confidence == pytest.approx(worth)


@pytest.mark.parametrize(("count", "promised"), [(3, 0.75), (5, 0.9375), (9, 0.9609375)])
@pytest.mark.parametrize("shape", ["normal", "lognormal"])
def test_it_holds_the_median_as_often_as_it_says(count: int, promised: float, shape: str) -> None:
    random = np.random.default_rng(7)
    drawn = random.normal(size=(4000, count))
    values, truth = (drawn, 0.0) if shape == "normal" else (np.exp(drawn), 1.0)
    held = 0
    for row in values.tolist():
        found = level([[value] for value in row])
        assert found is not None
        assert found.confidence == pytest.approx(promised)
        held += found.low <= truth <= found.high
    # Three standard errors of 4,000.
    assert held / 4000 == pytest.approx(
        promised, abs=3 * math.sqrt(promised * (1 - promised) / 4000)
    )


def test_the_document_has_these_figures() -> None:
    text = (ROOT / "docs/statistics.md").read_text()
    rows = ["| left out at each end |", "| confidence |"]
    for count in range(2, 11):
        found = level([[float(n)] for n in range(count)])
        assert found is not None
        rows[0] += f" {found.low:g} |"
        rows[1] += f" {100 * found.confidence:.1f}% |"
    for row in rows:
        assert f"\n{row}\n" in text


@given(st.lists(st.lists(NUMBERS, max_size=4), max_size=12))
def test_laws(boots: list[list[float]]) -> None:
    found = level(boots)
    filled = [boot for boot in boots if boot]
    if not filled:
        assert found is None
        return
    assert found is not None
    assert found.low <= found.median <= found.high
    assert found == level(list(reversed(boots))) or math.isnan(found.confidence)
    assert math.isnan(found.confidence) == (len(filled) == 1)
