"""The noise floor: what a comparison of a kernel with itself shows."""

from dataclasses import dataclass

from profdiff.evidence.statistics.boots import Boots, read
from profdiff.evidence.statistics.bootstrap import changes
from profdiff.evidence.statistics.estimates import interval
from profdiff.evidence.statistics.rule import Interval, Rule

_DEFAULT = Rule()


@dataclass(frozen=True)
class NoiseFloor:
    """``change``: of the median, twin against base, which are the same kernel. ``floor``: the end
    of its interval that is further from 0, a fraction; nan where that has no ends. ``boots``: of
    base and twin."""

    change: Interval
    floor: float
    boots: tuple[int, int]


def noise_floor(base: Boots, twin: Boots, rule: Rule = _DEFAULT, *, seed: int = 0) -> NoiseFloor:
    """What a difference must exceed to be more than what the same kernel shows against itself.

    The interval's far end, not its estimate: two medians of the same kernel may meet by luck, their
    interval still tells how far apart such medians can be. A constant bias between the two (an
    order effect) moves the interval, and so raises the floor. Raises InputError as ``estimate``
    does.
    """
    first, second, _ = read(base, twin)
    change = interval(changes(first, second, rule, seed)[0])
    floor = max(abs(change.low), abs(change.high))
    return NoiseFloor(change, floor, (first.boots, second.boots))
