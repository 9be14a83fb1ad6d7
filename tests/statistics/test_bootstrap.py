"""Resampling against distributions that are known, and against scipy's bootstrap."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from profdiff.evidence.statistics import bootstrap
from profdiff.evidence.statistics.boots import Sample, read
from profdiff.evidence.statistics.bootstrap import changes, spread, tails
from profdiff.evidence.statistics.rule import Rule


def side(values: list[list[float]]) -> Sample:
    return read(values, values)[0]


def resampled(sample: Sample, count: int) -> tuple[np.ndarray, np.ndarray]:
    medians, means = bootstrap._resampled(sample, count, np.random.default_rng(1))
    return medians[0], means[0]


@pytest.mark.parametrize("boots", [5, 9])
def test_medians_are_distributed_as_efron_derived(boots: int) -> None:
    """Efron 1979, section 3: the median of a resample is at most the k-th of n values with the
    probability that at least half of n draws are."""
    sample = side([[float(k)] for k in range(1, boots + 1)])
    order = np.sort(sample.values.ravel())
    medians, means = resampled(sample, 40_000)
    for k in range(1, boots + 1):
        expected = stats.binom.sf(boots // 2, boots, k / boots)
        assert (medians <= order[k - 1]).mean() == pytest.approx(expected, abs=0.01)
    assert means.mean() == pytest.approx(order.mean(), rel=0.005)
    assert means.std() == pytest.approx(order.std() / np.sqrt(boots), rel=0.02)


@pytest.mark.parametrize("boots", [[[1, 4], [2, 16]], [[1], [2, 16]], [[1, 4, 9], [3]]])
def test_two_levels_are_distributed_as_counted(boots: list[list[float]]) -> None:
    """Every way to draw two boots, and the runs of each of them, equally likely at each level."""
    sample = side(boots)
    scale = max(max(boot) for boot in boots) / np.nanmax(sample.values)
    expected: dict[tuple[float, float], float] = {}
    for first, second in product(boots, repeat=2):
        for draws in product(
            product(first, repeat=len(first)), product(second, repeat=len(second))
        ):
            key = (
                round(float(np.mean([np.median(runs) for runs in draws])), 9),
                round(float(np.mean([np.mean(runs) for runs in draws])), 9),
            )
            chance = 0.25 / len(first) ** len(first) / len(second) ** len(second)
            expected[key] = expected.get(key, 0.0) + chance
    medians, means = resampled(sample, 40_000)
    keys = np.round(np.stack([medians, means], axis=1) * scale, 9)
    found, counts = np.unique(keys, axis=0, return_counts=True)
    assert {tuple(key) for key in found.tolist()} == set(expected)
    for key, count in zip(found.tolist(), counts, strict=True):
        assert count / 40_000 == pytest.approx(expected[tuple(key)], abs=0.012)


def test_blocks_do_not_change_the_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = side([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    monkeypatch.setattr(bootstrap, "_BLOCK", 9 * 7)
    medians, means = resampled(sample, 1000)
    assert np.isfinite(medians).all()
    assert np.isfinite(means).all()
    assert means.mean() * 16 == pytest.approx(5, rel=0.05)


def test_many_runs_are_summarised_by_boot() -> None:
    random = np.random.default_rng(5)
    boots = 100 + random.standard_normal((6, 1)) + random.standard_normal((6, 2000))
    many = side(boots.tolist())
    few = side([[float(np.median(boot))] for boot in boots])
    medians, _ = resampled(many, 20_000)
    oracle, _ = resampled(few, 20_000)
    assert medians.std() / medians.mean() == pytest.approx(oracle.std() / oracle.mean(), rel=0.05)


@pytest.mark.parametrize("boots", [4, 5, 9, 40])
def test_one_scattering_sample_has_hesterbergs_tail(boots: int) -> None:
    random = np.random.default_rng(boots)
    base = side(np.ones((boots, 1)).tolist())
    other = side((1 + 0.1 * random.random((boots, 1))).tolist())
    reach = stats.t.ppf(0.025, boots - 1) * np.sqrt(boots / (boots - 1))
    assert tails(base, other, 0.95)[0] == pytest.approx(stats.norm.cdf(reach))


def test_equal_samples_have_the_pooled_degrees_of_freedom() -> None:
    sample = side([[1.0], [2.0], [3.0], [4.0], [6.0]])
    reach = stats.t.ppf(0.05, 8) * np.sqrt(5 / 4)
    assert tails(sample, sample, 0.9)[0] == pytest.approx(stats.norm.cdf(reach))


def test_the_interval_of_the_mean_reaches_as_far_as_welchs() -> None:
    """By normal values, many and narrow, where the bootstrap's own errors are small."""
    random = np.random.default_rng(11)
    base, other = 100 + random.standard_normal(25), 100 + 2 * random.standard_normal(12)
    first, second, _ = read(base[:, None].tolist(), other[:, None].tolist())
    mean = changes(first, second, Rule(resamples=100_000), 0)[1]
    welch = stats.ttest_ind(other, base, equal_var=False).confidence_interval(0.95)
    width = (welch.high - welch.low) / base.mean()
    assert mean.high[0] - mean.low[0] == pytest.approx(width, rel=0.05)


def test_scatter_within_boots_is_not_counted_twice() -> None:
    """Where only runs scatter the interval reaches as far as Welch's over the boots' means."""
    random = np.random.default_rng(12)
    base, other = (100 + random.standard_normal((30, 3)) for _ in range(2))
    first, second, _ = read(base.tolist(), other.tolist())
    mean = changes(first, second, Rule(), 0)[1]
    welch = stats.ttest_ind(
        other.mean(axis=1), base.mean(axis=1), equal_var=False
    ).confidence_interval(0.95)
    width = (welch.high - welch.low) / base.mean()
    assert mean.high[0] - mean.low[0] == pytest.approx(width, rel=0.08)


def test_boots_with_equal_means_and_unequal_medians_have_an_interval() -> None:
    boots = [
        [0.5, 0.5, 2.0],
        [1.0, 1.0, 1.0],
        [0.5, 1.0, 1.5],
        [0.75, 0.75, 1.5],
        [1.25, 1.25, 0.5],
    ]
    first, second, _ = read(boots, boots)
    median = changes(first, second, Rule(), 0)[0]
    assert median.low[0] < -0.2
    assert median.high[0] > 0.2


@pytest.mark.parametrize(("statistic", "at"), [(np.median, 0), (np.mean, 1)])
def test_the_interval_is_scipys_at_the_same_percentiles(statistic: object, at: int) -> None:
    random = np.random.default_rng(7)
    base, other = 100 + random.gamma(2, 1, 9), 103 + random.gamma(2, 1, 8)
    first, second, _ = read(base[:, None].tolist(), other[:, None].tolist())
    change = changes(first, second, Rule(resamples=50_000), 0)[at]
    tail = tails(first, second, 0.95)[0]

    def ratio(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
        return statistic(y, axis=axis) / statistic(x, axis=axis) - 1  # type: ignore[operator,no-any-return]

    oracle = stats.bootstrap(
        (base, other),
        ratio,
        n_resamples=50_000,
        batch=5000,
        confidence_level=1 - 2 * tail,
        method="percentile",
        rng=np.random.default_rng(8),
    ).confidence_interval
    assert change.low[0] == pytest.approx(oracle.low, abs=0.001)
    assert change.high[0] == pytest.approx(oracle.high, abs=0.001)


def test_spread() -> None:
    rows = np.array([[1.0, 2, 3], [0.1, 0.1, 0.1], [0, 0, 0], [-1, 0, 1], [-1, -2, -3]])
    assert spread(rows) == pytest.approx([0.5, 0, 0, np.nan, 0.5], nan_ok=True)
    assert np.isnan(spread(np.ones((1, 1)))[0])
