"""What samples alone tell of a change: how many were taken is a Poisson count.

Given both counts, the base's part of their sum is binomial (Przyborowski and Wilenski 1940), so the
interval of the ratio is Clopper and Pearson's of that part (1934): exact, also for a count of 0.
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

import msgspec

# How many standard errors around a change are doubted, as those that marks believe in tables.
ERRORS = 3.0
# What of a normal distribution lies beyond them on one side.
_TAIL = math.erfc(ERRORS / math.sqrt(2)) / 2


class Sampled(msgspec.Struct, frozen=True):
    """What was sampled of something on one kernel. ``weights``: of each boot, in the metric's unit;
    ``samples``: of
    all ``runs`` of all boots."""

    weights: Sequence[float]
    samples: int
    runs: int = 1

    @property
    def weight(self) -> float:
        """The mean over boots."""
        return fmean(self.weights)

    @property
    def error(self) -> float:
        """The standard error of ``weight``: of no sample, it is not known."""
        chance = self.weight / math.sqrt(max(self.samples, 1))
        if len(self.weights) < 2:
            return chance
        return max(chance, stdev(self.weights) / math.sqrt(len(self.weights)))


def ratio_interval(base: int, other: int) -> tuple[float, float]:
    """The interval of the ratio of two expected counts, other to base, from the counts; as wide as
    ``ERRORS`` standard errors to either side of many samples are."""
    from scipy.special import betaincinv

    # The other's part of all samples.
    low = float(betaincinv(other, base + 1, _TAIL)) if other else 0.0
    high = float(betaincinv(other + 1, base, 1 - _TAIL)) if base else 1.0
    return low / (1 - low), high / (1 - high) if high < 1 else math.inf


def relative_interval(base: Sampled, other: Sampled) -> tuple[float, float]:
    """The interval of the relative change, as fractions of the base. Where boots scatter by more
    than chance, the interval is as much wider."""
    low, high = ratio_interval(base.samples, other.samples)
    if not base.samples or not other.samples:
        # A sample is taken to stand for as much on both kernels.
        scale = base.runs / other.runs
        return low * scale - 1, high * scale - 1
    counted = other.samples / base.samples
    ratio = other.weight / base.weight
    wider = math.hypot(base.error / base.weight, other.error / other.weight) / math.sqrt(
        1 / base.samples + 1 / other.samples
    )
    low, high = (ratio * (end / counted) ** wider for end in (low, high))
    return low - 1, high - 1


def difference_interval(base: Sampled, other: Sampled) -> tuple[float, float]:
    """The interval of other minus base, in the metric's unit."""
    half = ERRORS * math.hypot(base.error, other.error)
    difference = other.weight - base.weight
    return difference - half, difference + half
