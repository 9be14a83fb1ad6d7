"""What decides how sure a change is: the rule, verdicts and intervals; and the level of one
kernel's boots."""

from collections.abc import Sequence
from enum import StrEnum, auto
from functools import lru_cache
from statistics import median
from typing import Literal

import msgspec

from profdiff.base.errors import InputError

Quality = Literal["reliable", "robust-only", "partial"]


class Verdict(StrEnum):
    """What may be said of a change; *exact*: every boot counted the same, and so did every state,
    or nearly so; *depends on state*: they did not (``session.states``); *depends on the schedule*:
    it is one number only if the vCPUs take the same turns."""

    EXACT = auto()
    CHANGED = auto()
    UNCHANGED = auto()
    UNSURE = auto()
    DEPENDS = "depends on state"
    SCHEDULE = "depends on the schedule"

    @property
    def is_sure(self) -> bool:
        """Whether a difference is one, and not due to chance."""
        return self in (Verdict.CHANGED, Verdict.EXACT)


class Rule(msgspec.Struct, frozen=True):
    """All are fractions but ``resamples``, the number of bootstrap resamples.

    Raises InputError where a value has no meaning.
    """

    confidence: float = 0.95
    alpha: float = 0.05
    relevance: float = 0.01
    resamples: int = 10_000

    def __post_init__(self) -> None:
        for name, value in (("confidence", self.confidence), ("alpha", self.alpha)):
            if not 0 < value < 1:
                raise InputError(f"{name} is {value}: give a fraction between 0 and 1")
        if not 0 <= self.relevance < float("inf"):
            raise InputError(f"relevance is {self.relevance}: give a fraction, 0 or more")
        if not 100 <= self.resamples <= 1_000_000:
            raise InputError(f"resamples is {self.resamples}: give 100 to 1,000,000")


class Interval(msgspec.Struct, frozen=True):
    """An interval of the change to base: the ratio minus 1, as a fraction.

    All are nan where base is 0; ``low`` and ``high`` also where a resampled base is 0 or changes
    its sign, since a ratio then has no bounds, and where a side has one boot.
    """

    estimate: float
    low: float
    high: float


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
