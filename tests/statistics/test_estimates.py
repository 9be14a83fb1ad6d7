"""Verdicts: what they need, when they are refused, and the laws that they keep."""

import warnings

import numpy as np
import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from profdiff.base.errors import InputError
from profdiff.evidence.statistics import Boots, Estimate, Rule, estimate, noise_floor, spread
from profdiff.evidence.statistics.estimates import welch

QUICK = Rule(resamples=500)


def column(values: object) -> list[list[float]]:
    """One run in each boot."""
    return np.asarray(values, float)[:, None].tolist()  # type: ignore[no-any-return]


BASE = column([100.0, 100.2, 99.9, 100.1, 99.8, 100.3, 100.05, 99.95, 100.15])


def times(boots: Boots, factor: float) -> list[list[float]]:
    return [[factor * value for value in boot] for boot in boots]


def test_a_clear_change() -> None:
    found = estimate(BASE, times(BASE[::-1], 1.05), planned=9)
    assert (found.verdict, found.quality, found.reason) == ("changed", "reliable", "")
    assert found.median.estimate == pytest.approx(0.05)
    assert found.mean.estimate == pytest.approx(0.05)
    assert found.median.low < 0.05 < found.median.high
    assert found.boots == (9, 9)
    assert found.medians == pytest.approx((100.05, 105.0525))
    values = np.ravel(BASE)
    assert found.means == pytest.approx((values.mean(), 1.05 * values.mean()))
    assert spread(values[None]) == pytest.approx([values.std(ddof=1) / values.mean()])
    assert found.mann_whitney == pytest.approx(found.smallest_p)
    assert found.welch == pytest.approx(stats.ttest_ind(values, 1.05 * values, equal_var=False)[1])


def test_no_change_and_a_small_one_are_unchanged() -> None:
    assert estimate(BASE, BASE).verdict == "unchanged"
    small = estimate(BASE, times(BASE, 1.005))
    # Significant, and not relevant.
    assert small.mann_whitney < 0.05
    assert small.verdict == "unchanged"
    assert estimate(BASE, times(BASE, 1.005), Rule(relevance=0.001)).verdict == "changed"


def test_too_few_boots_have_no_verdict() -> None:
    found = estimate(BASE[:3], times(BASE[:3], 2.0), planned=9)
    assert (found.verdict, found.quality) == ("unsure", "partial")
    assert found.reason == "with 3 boots against 3, p cannot be below 0.1"
    # Not even of what is equal.
    assert estimate(BASE[:3], BASE[:3]).verdict == "unsure"
    assert estimate(BASE[:4], times(BASE[:4], 2.0)).verdict == "changed"
    assert estimate(BASE[:4], times(BASE[:4], 2.0), Rule(alpha=0.02)).verdict == "unsure"


def test_noise_is_unsure_and_says_what_is_possible() -> None:
    found = estimate(column([90, 100, 110, 95, 105]), column([92, 99, 113, 97, 104]))
    assert found.verdict == "unsure"
    assert found.reason.startswith("not significant, but -1")


def test_p_and_interval_must_agree() -> None:
    base, other = column([100, 101, 102, 103, 109]), column([106, 108, 110, 111, 112])
    found = estimate(base, other)
    assert found.mann_whitney == pytest.approx(8 / 252)
    assert found.median.low < 0 < found.median.high
    assert (found.verdict, found.reason) == ("unsure", "p = 0.032, but the interval contains 0")
    found = estimate(base, column([99, 104, 105, 106, 107]), Rule(confidence=0.5))
    assert found.median.low > 0.01
    assert found.mann_whitney > 0.05
    assert found.verdict == "unsure"
    assert found.reason.startswith("the interval excludes 0, but p = ")


def test_mean_and_median_may_differ_in_size_only() -> None:
    found = estimate(BASE, column([105, 105.1, 105.2, 105.3, 105.4, 115, 115.1, 115.2, 115.3]))
    assert (found.verdict, found.quality) == ("changed", "robust-only")
    assert found.welch < 0.05
    assert found.mean.low > 0.01
    assert found.mean.estimate - found.median.estimate > 0.03


def test_an_outlier_is_for_robust_statistics_only() -> None:
    other = times(BASE, 1.05)
    other[4] = [400.0]
    found = estimate(BASE, other)
    assert (found.verdict, found.quality) == ("changed", "robust-only")
    assert found.median.estimate == pytest.approx(0.05, abs=0.002)
    assert found.mean.estimate > 0.3
    assert found.reason == (
        f"the median says +{100 * found.median.estimate:.3g}%, "
        f"the mean +{100 * found.mean.estimate:.3g}%"
    )


def test_missing_boots_are_partial() -> None:
    found = estimate(BASE, [*times(BASE[:7], 1.05), [], []], planned=9)
    assert (found.boots, found.verdict, found.quality) == ((9, 7), "changed", "partial")
    assert found.reason == "9 and 7 of 9 planned boots"


def test_a_boot_counts_once_however_many_runs_it_has() -> None:
    many = [[value + step for step in (-1e-3, 0, 1e-3)] for boot in BASE[:3] for value in boot]
    found = estimate(many, times(many, 1.5))
    assert found.boots == (3, 3)
    assert found.verdict == "unsure"
    assert found.medians[0] == pytest.approx(100.0)


def test_deterministic_counts_need_no_statistics() -> None:
    found = estimate([[1000]], [[1001]], deterministic=True)
    assert (found.verdict, found.quality, found.reason) == ("exact", "reliable", "")
    assert found.median.low == found.median.high == found.median.estimate == pytest.approx(0.001)
    assert estimate([[1000]], [[1001]], deterministic=True, planned=2).quality == "partial"
    # They were said to be, and are not.
    assert estimate([[1000], [1002]], [[1001]], deterministic=True).verdict == "unsure"
    assert estimate([[1000, 1002]], [[1001]], deterministic=True).verdict == "unsure"


def test_zeros() -> None:
    none, some = column([0] * 5), column([7] * 5)
    both, appeared, vanished = (
        estimate(*sides) for sides in ((none, none), (none, some), (some, none))
    )
    assert (both.verdict, appeared.verdict, vanished.verdict) == ("unchanged", "changed", "changed")
    assert np.isnan([both.median.estimate, appeared.median.estimate, appeared.median.low]).all()
    assert vanished.median.estimate == vanished.median.high == -1
    near = estimate(column([0, 0, 1, 2, 1]), column([1, 2, 0, 1, 1]))
    assert near.median.estimate == 0
    assert np.isnan(near.median.low)
    assert near.reason == "the base is or may be 0, so a ratio has no bounds"


def test_one_boot_has_no_interval() -> None:
    found = estimate([[3.0, 4.0]], BASE)
    assert np.isnan([found.median.low, found.mean.high, *spread(np.ones((1, 1)))]).all()
    assert np.isnan([found.mann_whitney, found.welch]).all()
    assert found.median.estimate == pytest.approx(100.05 / 3.5 - 1)
    # 1 against 39 boots could reach p = 0.05.
    assert estimate([[3.0]], column(np.arange(1, 40))).reason == "one boot gives no interval"


@pytest.mark.parametrize(
    "bad", [[], [[], []], [[float("nan")]], [[1.0], [float("inf")]], [[1.0], [10**400, 1.0]]]
)
def test_what_is_no_number_is_refused(bad: list[list[float]]) -> None:
    for sides in ((bad, BASE), (BASE, bad)):
        with pytest.raises(InputError):
            estimate(*sides)
        with pytest.raises(InputError):
            noise_floor(*sides)


@pytest.mark.parametrize(
    "wrong", [{"confidence": 1.0}, {"alpha": 0}, {"relevance": -0.1}, {"resamples": 5}]
)
def test_a_rule_without_meaning_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError):
        Rule(**wrong)  # type: ignore[arg-type]


def test_the_noise_floor_is_the_far_end() -> None:
    change = estimate(BASE, BASE[::-1]).median
    assert change.estimate == 0
    assert noise_floor(BASE, BASE[::-1]) == max(-change.low, change.high) > 0
    # A bias raises it, at least by as much.
    assert noise_floor(BASE, times(BASE, 0.99)) > 0.01
    assert np.isnan(noise_floor(BASE[:1], BASE))
    assert noise_floor(column([5] * 4), column([5] * 4)) == 0


def test_the_order_of_boots_with_runs_matters_little() -> None:
    random = np.random.default_rng(2)
    base, other = (100 + random.standard_normal((7, 1)) + random.random((7, 4)) for _ in "ab")
    first = estimate(base.tolist(), other.tolist())
    second = estimate(base[::-1].tolist(), other[random.permutation(7)].tolist(), seed=1)
    assert first.mann_whitney == second.mann_whitney
    assert first.median.estimate == second.median.estimate
    width = first.median.high - first.median.low
    assert first.median.low == pytest.approx(second.median.low, abs=width / 15)
    assert first.median.high == pytest.approx(second.median.high, abs=width / 15)


def test_welch_is_scipys_where_values_scatter() -> None:
    random = np.random.default_rng(4)
    base, other = random.standard_normal((20, 5)), 0.5 + 3 * random.standard_normal((20, 8))
    oracle = stats.ttest_ind(base, other, axis=1, equal_var=False).pvalue
    assert welch(base, other) == pytest.approx(oracle)
    equal = np.full((1, 4), 0.1)
    assert welch(equal, equal)[0] == 1
    assert welch(equal, equal + 1)[0] == 0


values = st.floats(0.001, 1e6)
boots_of = st.lists(st.lists(values, min_size=1, max_size=3), min_size=1, max_size=6)
anything = st.lists(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3), min_size=1, max_size=6
).filter(any)


def figures(found: Estimate) -> tuple[object, ...]:
    """All that has no unit; nan equals itself in text."""
    return tuple(
        repr(part)
        for part in (
            *(found.boots, found.median, found.mean, found.mann_whitney),
            *(found.welch, found.verdict, found.quality, found.reason),
        )
    )


@given(boots_of, boots_of, st.integers(-40, 40))
@settings(max_examples=examples(60))
def test_units_do_not_matter(base: Boots, other: Boots, power: int) -> None:
    """By a power of 2, which rounds nothing."""
    factor = 2.0**power
    plain = estimate(base, other, QUICK)
    scaled = estimate(times(base, factor), times(other, factor), QUICK)
    assert figures(plain) == figures(scaled)
    assert scaled.medians == tuple(factor * median for median in plain.medians)


@given(boots_of)
@settings(max_examples=examples(60))
def test_a_kernel_is_never_changed_against_itself(base: Boots) -> None:
    found = estimate(base, base, QUICK)
    assert found.verdict != "changed"
    assert found.median.estimate == 0
    assert estimate(base, base, Rule(relevance=0, resamples=500)).verdict != "changed"


@given(
    st.lists(values, min_size=2, max_size=8), st.lists(values, min_size=2, max_size=8), st.data()
)
@settings(max_examples=examples(60))
def test_the_order_of_boots_does_not_matter(
    base: list[float], other: list[float], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(base)), data.draw(st.permutations(other))
    first = estimate(column(base), column(other), QUICK)
    second = estimate(column(shuffled[0]), column(shuffled[1]), QUICK)
    assert first.median == second.median or np.isnan(first.median.low)
    assert first.verdict == second.verdict
    assert first.mann_whitney == second.mann_whitney


@given(anything, anything)
@settings(max_examples=examples(150))
def test_any_numbers_have_an_answer(base: Boots, other: Boots) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = estimate(base, other, QUICK)
        noise_floor(base, other, QUICK)
    for interval in (found.median, found.mean):
        assert np.isnan(interval.low) or interval.low <= interval.high
        assert not np.isinf([interval.estimate, interval.low, interval.high]).any()
    assert np.isfinite([found.medians, found.means]).all()
    assert (found.reason != "") == (found.verdict == "unsure" or found.quality != "reliable")
    if found.smallest_p > 0.05:
        assert found.verdict == "unsure"


@given(boots_of, boots_of)
@settings(max_examples=examples(60))
def test_swapped_sides_have_the_same_p(base: Boots, other: Boots) -> None:
    there, back = estimate(base, other, QUICK), estimate(other, base, QUICK)
    assert there.mann_whitney == pytest.approx(back.mann_whitney, nan_ok=True)
    assert there.welch == pytest.approx(back.welch, nan_ok=True)
    assert 1 + there.median.estimate == pytest.approx(1 / (1 + back.median.estimate))
