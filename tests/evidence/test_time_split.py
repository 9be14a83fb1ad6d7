"""The split of a change of time: its parts multiply, their logarithms add up."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.evidence.time_split import split

VALUES = st.floats(1e-3, 1e12)


def test_the_example_of_the_issue() -> None:
    found = split((100.0, 114.0), (1000.0, 1010.0))
    assert found is not None and found.share is not None
    assert found.time / found.instructions == pytest.approx(1.129, abs=0.0005)
    assert found.share == pytest.approx(0.076, abs=0.0005)


@given(VALUES, VALUES, VALUES, VALUES)
def test_parts_multiply_and_logarithms_add_up(a: float, b: float, c: float, d: float) -> None:
    found = split((a, b), (c, d))
    assert found is not None
    of_each = (b / d) / (a / c)
    assert found.instructions * of_each == pytest.approx(found.time)
    if found.share is not None and abs(math.log(found.time)) > 1e-6:
        rest = math.log(of_each) / math.log(found.time)
        assert found.share + rest == pytest.approx(1, abs=1e-6)


def test_without_a_change_of_time_nothing_is_shared() -> None:
    found = split((5.0, 5.0), (1.0, 2.0))
    assert found is not None and found.share is None


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_values_that_have_no_ratio(bad: float) -> None:
    assert split((bad, 1.0), (1.0, 1.0)) is None
    assert split((1.0, 1.0), (1.0, bad)) is None
