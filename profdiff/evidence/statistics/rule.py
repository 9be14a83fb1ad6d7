"""What counts as what, and the words for it."""

from enum import StrEnum, auto
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
