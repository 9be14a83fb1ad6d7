"""Straight lines through exact counts, in rational numbers: least squares, and what all lines say
that come as near to the points."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import inf, lcm
from typing import NamedTuple

Ends = tuple[Fraction, Fraction]
# Ends look at pairs of so many points.
_MAX_POINTS = 32
# The weight of the smallest point.
_UNIT = 1 << 24


class Line(NamedTuple):
    """``fixed + slope * x``. ``residual``: the largest distance of a point from it, without a sign;
    ``off``: the largest as a share of the point's own count, at the point ``worst``."""

    fixed: Fraction
    slope: Fraction
    residual: Fraction
    off: float
    worst: int


class Abscissas:
    """The ``x`` of at least two points, distinct and in ascending order. ``sizes``: of points; the
    squares that are least are those of distances as shares of them."""

    def __init__(self, x: Sequence[Fraction], sizes: Sequence[float] = ()) -> None:
        self.x = list(x)
        sizes = [*map(abs, sizes)]
        least = min(filter(None, sizes), default=1)
        # Any weights give a true line through points that have one: these are whole numbers.
        self._weights = [max(1, round(_UNIT * (least / (one or least)) ** 2)) for one in sizes]
        self._weights = self._weights or [1] * len(self.x)
        # All sums are of whole numbers, which is a hundred times faster than of fractions.
        self._scale = lcm(*(one.denominator for one in x))
        self._whole = [int(one * self._scale) for one in x]
        weighted = list(zip(self._weights, self._whole, strict=True))
        self._number, self._sum = sum(self._weights), sum(weight * x for weight, x in weighted)
        squares = sum(weight * x * x for weight, x in weighted)
        self._spread = self._number * squares - self._sum**2

    def line(self, y: Sequence[int]) -> Line:
        """The line of least squares through a count at each ``x``."""
        number, spread = self._number, self._spread
        weighted = [weight * one for weight, one in zip(self._weights, y, strict=True)]
        slope = sum(
            (number * x - self._sum) * one for x, one in zip(self._whole, weighted, strict=True)
        )
        fixed = sum(weighted) * spread - slope * self._sum
        whole = number * spread
        off = [
            abs(one * whole - fixed - slope * number * x)
            for x, one in zip(self._whole, y, strict=True)
        ]
        shares = [
            part / (abs(one) * whole) if one else inf if part else 0.0
            for part, one in zip(off, y, strict=True)
        ]
        return Line(
            Fraction(fixed, whole),
            Fraction(slope * self._scale, spread),
            Fraction(max(off), whole),
            max(shares),
            shares.index(max(shares)),
        )

    def slopes(self, y: Sequence[int], near: Sequence[Fraction]) -> Ends:
        """The least and the largest slope of the lines that come as ``near`` to each point. The
        ends are those of pairs of points, as Fourier-Motzkin elimination leaves them."""
        pairs = list(self._pairs(y, near))
        return (
            max((more - less - room) / width for _, width, less, more, room, *_ in pairs),
            min((more - less + room) / width for _, width, less, more, room, *_ in pairs),
        )

    def values(self, y: Sequence[int], near: Sequence[Fraction], at: Fraction) -> Ends:
        """The least and the largest value ``at`` an x of the lines that come as ``near``."""
        lows, highs = [], []
        for start, width, less, more, _, first, second in self._pairs(y, near):
            part = (at - start) / width
            value = less + (more - less) * part
            room = abs(1 - part) * first + abs(part) * second
            lows.append(value - room)
            highs.append(value + room)
        return max(lows), min(highs)

    def _pairs(
        self, y: Sequence[int], near: Sequence[Fraction]
    ) -> Iterator[tuple[Fraction, Fraction, int, int, Fraction, Fraction, Fraction]]:
        every = list(zip(self.x, y, near, strict=True))
        if len(every) > _MAX_POINTS:
            # Fewer points leave more lines: the ends lie farther out.
            every = every[: _MAX_POINTS // 2] + every[-_MAX_POINTS // 2 :]
        for number, (start, less, first) in enumerate(every):
            for end, more, second in every[number + 1 :]:
                yield start, end - start, less, more, first + second, first, second
