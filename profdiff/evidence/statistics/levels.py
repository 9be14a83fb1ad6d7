"""The level of one kernel's boots: their median and the interval that it lies in."""

from collections.abc import Sequence
from functools import lru_cache
from statistics import median

import msgspec

from profdiff.evidence.statistics.rule import Rule

_DEFAULT = Rule()


class Level(msgspec.Struct, frozen=True):
    """``median`` over boots; ``low`` and ``high``: two boots' values, in the metric's unit.
    ``confidence``: how often an interval that is made like this holds the median of all boots that
    could be, a fraction; nan for one boot, which has no interval (``low`` and ``high`` are it)."""

    median: float
    low: float
    high: float
    confidence: float


def level(boots: Sequence[Sequence[float]], rule: Rule = _DEFAULT) -> Level | None:
    """The level of the boots' medians. A boot without a run is omitted; None if no other exists.

    The interval between order statistics (Thompson 1936; David and Nagaraja 2003, section 7.1): it
    asks nothing of the distribution but that boots are independent. It is the narrowest, equally
    far from both ends, that reaches the rule's confidence. Fewer boots than can reach it have their
    whole range, and ``confidence`` says what that is worth.
    """
    values = sorted(median(boot) for boot in boots if len(boot))
    if not values:
        return None
    count = len(values)
    if count == 1:
        return Level(values[0], values[0], values[0], float("nan"))
    outside, confidence = _ends(count, rule.confidence)
    return Level(median(values), values[outside], values[count - 1 - outside], confidence)


@lru_cache(maxsize=256)
def _ends(count: int, wanted: float) -> tuple[int, float]:
    """How many values are left out at each end, and the confidence that is then reached: of n boots
    as many lie below the median as heads fall in n throws."""
    from scipy.stats import binom

    outside = max(int(binom.ppf((1 - wanted) / 2, count, 0.5)) - 1, 0)
    return outside, float(1 - 2 * binom.cdf(outside, count, 0.5))
