"""Many functions at once: the family, the correction, the verdicts, and how long it takes."""

import time
import warnings

import numpy as np
import pytest
from extent import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from profdiff.base.errors import InputError
from profdiff.evidence.statistics import Rule, function_tests, smallest_p


def poisson(means: object, boots: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.poisson(np.asarray(means, float)[:, None], (len(means), boots)) * 1.0  # type: ignore[arg-type]


def adjusted_by_definition(p: np.ndarray) -> np.ndarray:
    """Benjamini and Hochberg 1995: the least rate at which a hypothesis would be rejected."""
    ascending = np.sort(p)
    return np.array(
        [
            min(
                1.0, *(len(p) * q / (rank + 1) for rank, q in enumerate(ascending) if q >= own), 1.0
            )
            for own in p
        ]
    )


def test_each_p_is_scipys_and_the_correction_is_the_definition() -> None:
    random = np.random.default_rng(1)
    base, other = random.random((30, 9)), random.random((30, 8))
    other[:6] += 0.7
    tests = function_tests(base, other, (15.0, 15.0))
    assert tests.tested.all()
    for row, p in enumerate(tests.p):
        assert p == pytest.approx(stats.mannwhitneyu(base[row], other[row], method="exact").pvalue)
    assert tests.adjusted == pytest.approx(adjusted_by_definition(tests.p))
    assert tests.smallest_p == smallest_p(9, 8)


def test_verdicts() -> None:
    base = np.array([[1000.0 + step for step in range(9)]] * 5)
    other = base.copy()
    other[1] += 300  # changed
    other[2] += 4  # less than 1%
    other[3, ::2] += 150  # noise
    base[4] = 0
    other[4] = 50  # new
    tests = function_tests(base, other, (5e3, 5e3))
    assert tests.verdicts == ["unchanged", "changed", "unchanged", "unsure", "changed"]
    assert (tests.low[1], tests.high[1]) == (297, 303)
    assert tests.low[4] == tests.high[4] == 50


def test_what_one_function_shows_by_chance_is_not_found_among_many() -> None:
    random = np.random.default_rng(3)
    base, other = 1000 + random.random((40, 6)), 1000 + random.random((40, 6))
    base[0], other[0] = [990, 991, 992, 993, 994, 1100], [1101, 1102, 1103, 1104, 1105, 1099]
    tests = function_tests(base, other, (4e4, 4e4))
    assert tests.p[0] < 0.05 < tests.adjusted[0]
    assert tests.verdicts[0] == "unsure"
    assert function_tests(base[:1], other[:1], (1e3, 1e3)).verdicts == ["changed"]
    # The interval has its own confidence.
    strict = function_tests(base[:1], other[:1], (1e3, 1e3), Rule(confidence=0.999))
    assert strict.adjusted[0] < 0.05
    assert strict.verdicts == ["unsure"]
    assert not strict.low[0] > 0


def test_the_family_is_chosen_without_a_look_at_the_difference() -> None:
    base, other = np.zeros((4, 5)), np.zeros((4, 7))
    base[0], other[0] = 1000, 1000
    # 12 boots with 10,000 each: 60 counts are 0.05% of them, wherever they are.
    base[1, 0] = 60
    other[2, 3] = 60
    other[3, 3] = 59
    tests = function_tests(base, other, (10_000.0, 10_000.0))
    assert tests.tested.tolist() == [True, True, True, False]
    assert np.isnan(tests.p).tolist() == [False, False, False, True]
    assert np.isnan(tests.adjusted[3])
    assert tests.verdicts[3] == "unsure"


def test_the_total_is_pooled_by_boots() -> None:
    base, other = np.full((1, 2), 1.0), np.full((1, 6), 1.0)
    assert function_tests(base, other, (5000.0, 1000.0)).tested.tolist() == [True]
    assert function_tests(base, other, (1000.0, 5000.0)).tested.tolist() == [False]


def test_exact_functions_are_not_in_the_family() -> None:
    base, other = np.full((3, 5), 100.0), np.full((3, 5), 101.0)
    other[2, 0] = 500
    tests = function_tests(base, other, (300.0, 300.0), deterministic=True)
    assert tests.verdicts == ["exact", "exact", "changed"]
    assert tests.tested.tolist() == [False, False, True]
    assert tests.low[0] == tests.high[0] == 1
    one = function_tests(base[:, :1], other[:, :1], (300.0, 300.0), deterministic=True)
    assert one.verdicts == ["exact"] * 3


def test_few_boots_have_no_verdicts() -> None:
    base, other = poisson([1e3, 1e5], 3, 1), poisson([1e4, 1e5], 3, 2)
    tests = function_tests(base, other, (1e5, 1e5))
    assert tests.verdicts == ["unsure", "unsure"]
    assert tests.p[0] == pytest.approx(tests.smallest_p) == pytest.approx(0.1)
    assert np.isnan(tests.low).all()


def test_one_boot_of_a_side_is_not_tested() -> None:
    tests = function_tests(np.ones((2, 1)), np.ones((2, 50)), (2.0, 2.0))
    assert not tests.tested.any()
    assert tests.verdicts == ["unsure", "unsure"]


def test_no_function_at_all() -> None:
    tests = function_tests(np.zeros((0, 5)), np.zeros((0, 5)), (0.0, 0.0))
    assert (len(tests.p), tests.verdicts) == (0, [])
    nothing = function_tests(np.zeros((2, 5)), np.zeros((2, 5)), (0.0, 0.0))
    assert nothing.verdicts == ["unsure", "unsure"]


@pytest.mark.parametrize(
    ("base", "other"),
    [
        (np.zeros((2, 5)), np.zeros((3, 5))),
        (np.zeros(5), np.zeros(5)),
        (np.zeros((2, 0)), np.zeros((2, 5))),
        (np.full((1, 2), np.nan), np.zeros((1, 2))),
    ],
)
def test_what_does_not_fit_is_refused(base: np.ndarray, other: np.ndarray) -> None:
    with pytest.raises(InputError):
        function_tests(base, other, (1.0, 1.0))


@pytest.mark.parametrize("mean", [6.0, 5e5], ids=["all tied", "hardly tied"])
def test_five_thousand_functions_take_less_than_a_second(mean: float) -> None:
    base, other = poisson([mean] * 5000, 9, 1), poisson([mean] * 5000, 9, 2)
    function_tests(base[:2], other[:2], (1.0, 1.0))  # imports
    # Processor time, since other work may share the machine.
    start = time.process_time()
    tests = function_tests(base, other, (1.0, 1.0))
    assert tests.tested.all()
    assert time.process_time() - start < 1


tables = arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.floats(0, 50))


@given(tables, st.integers(1, 6), st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_the_correction_keeps_the_order(base: np.ndarray, boots: int, seed: int) -> None:
    other = np.random.default_rng(seed).choice(base.ravel(), (len(base), boots))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tests = function_tests(base, other, (1.0, 1.0), Rule(relevance=0))
    p, adjusted = tests.p[tests.tested], tests.adjusted[tests.tested]
    assert (adjusted >= p).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p)]) >= 0).all()
    assert np.isnan(tests.p[~tests.tested]).all()
    assert len(tests.verdicts) == len(base)
