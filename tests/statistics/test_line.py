"""Lines through exact counts: what is made by a line comes back as that line."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from profdiff.evidence.statistics.line import Abscissas

_X = st.lists(
    st.fractions(-1000, 1000, max_denominator=8), min_size=2, max_size=7, unique=True
).map(sorted)
_SMALL = st.integers(-(10**6), 10**6)


@given(_X, _SMALL, _SMALL, st.lists(st.floats(-1e170, 1e170), min_size=7, max_size=7))
def test_counts_made_by_a_line_give_that_line(
    x: list[Fraction], fixed: int, slope: int, sizes: list[float]
) -> None:
    scale = 840  # of denominators up to 8
    y = [int((fixed + slope * one) * scale) for one in x]
    found = Abscissas(x).line(y)
    assert Abscissas(x, sizes[: len(x)]).line(y) == found
    assert (found.fixed, found.slope) == (fixed * scale, slope * scale)
    assert (found.residual, found.off) == (0, 0.0)


@given(_X, st.data())
def test_it_is_the_line_of_least_squares(x: list[Fraction], data: st.DataObject) -> None:
    y = data.draw(st.lists(_SMALL, min_size=len(x), max_size=len(x)))
    found = Abscissas(x).line(y)
    rest = [one - found.fixed - found.slope * at for at, one in zip(x, y, strict=True)]
    # The normal equations, and no other line fulfils both.
    assert sum(rest) == 0
    assert sum(one * at for one, at in zip(rest, x, strict=True)) == 0
    assert found.residual == max(map(abs, rest))
    if all(y):
        shares = [abs(one) / abs(count) for one, count in zip(rest, y, strict=True)]
        assert found.off == pytest.approx(float(max(shares)))
        assert float(shares[found.worst]) == pytest.approx(found.off)


@given(_X, st.data())
def test_a_line_of_differences_is_the_difference_of_lines(
    x: list[Fraction], data: st.DataObject
) -> None:
    counts = st.lists(_SMALL, min_size=len(x), max_size=len(x))
    base, other = data.draw(counts), data.draw(counts)
    first, second = (Abscissas(x).line(y) for y in (base, other))
    found = Abscissas(x).line([more - less for less, more in zip(base, other, strict=True)])
    assert found.slope == second.slope - first.slope
    assert found.fixed == second.fixed - first.fixed


@given(st.lists(st.integers(0, 500), min_size=3, max_size=5, unique=True).map(sorted), st.data())
def test_the_ends_are_those_of_all_lines_as_near(x: list[int], data: st.DataObject) -> None:
    """Against linear programming's answer: the corners of what the points leave."""
    y = data.draw(st.lists(st.integers(-1000, 1000), min_size=len(x), max_size=len(x)))
    points = Abscissas([Fraction(one) for one in x])
    near = [points.line(y).residual + data.draw(st.integers(0, 9)) for _ in x]
    at = Fraction(data.draw(st.integers(-100, 600)))
    bounds = [
        (Fraction(n), one + sign * room)
        for n, one, room in zip(x, y, near, strict=True)
        for sign in (-1, 1)
    ]
    corners = []
    for number, (first, low) in enumerate(bounds):
        for second, high in bounds[number + 1 :]:
            if first == second:
                continue
            slope = (high - low) / (second - first)
            fixed = low - slope * first
            off = (abs(one - fixed - slope * n) for n, one in zip(x, y, strict=True))
            if all(part <= room for part, room in zip(off, near, strict=True)):
                corners.append((slope, fixed + slope * at))
    slopes, values = zip(*corners, strict=True)
    assert points.slopes(y, near) == (min(slopes), max(slopes))
    assert points.values(y, near, at) == (min(values), max(values))


def test_numpy_says_the_same() -> None:
    x, y = [4, 16, 64, 256, 1024], [24_500, 82_700, 315_500, 1_245_400, 4_973_516]
    found = Abscissas([Fraction(one) for one in x]).line(y)
    weighted = Abscissas([Fraction(one) for one in x], [*map(float, y)]).line(y)
    shares = np.polyfit(x, y, 1, w=1 / np.array(y))
    assert shares == pytest.approx([float(weighted.slope), float(weighted.fixed)], rel=1e-4)
    assert np.polyfit(x, y, 1) == pytest.approx([float(found.slope), float(found.fixed)])
