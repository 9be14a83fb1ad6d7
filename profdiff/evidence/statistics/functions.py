"""Many functions on two kernels: which of them changed?"""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.evidence.statistics.boots import Floats
from profdiff.evidence.statistics.rank_test import mann_whitney, shift_interval, smallest_p
from profdiff.evidence.statistics.rule import Rule, Verdict

# A part of the pooled total; a function below it is not tested.
LEAST_SHARE = 0.0005
_DEFAULT = Rule()


class FunctionTests(msgspec.Struct, frozen=True):
    """Columns over F functions. ``tested``: bool[F], in the family that is corrected for. ``p``:
    Mann-Whitney, and ``adjusted``: Benjamini-Hochberg over the family; float64[F], nan where not
    tested. ``low`` and ``high``: interval of the difference other - base in counts, not adjusted;
    nan where the boots are too few for one. ``smallest_p``: that ``p`` can reach."""

    tested: NDArray[np.bool_]
    p: Floats
    adjusted: Floats
    low: Floats
    high: Floats
    verdicts: list[Verdict]
    smallest_p: float


def function_tests(
    base: Floats,
    other: Floats,
    totals: tuple[float, float],
    rule: Rule = _DEFAULT,
    *,
    deterministic: bool = False,
) -> FunctionTests:
    """Tests every function with ``LEAST_SHARE`` of the counts of both sides together.

    ``base``: float64[F, n] and ``other``: float64[F, m], counts of each function in each boot;
    ``totals``: counts of a boot of base and of other, all functions, on average. The family is
    chosen by the pooled mean alone, which does not look at the difference, so that the correction
    holds (Bourgon, Gentleman and Huber 2010). ``deterministic``: a function whose counts are equal
    on each side is *exact* and not tested.

    Raises InputError where shapes do not fit, or a count is not finite.
    """
    if base.ndim != 2 or other.ndim != 2 or len(base) != len(other):
        raise InputError(
            f"counts of shape {base.shape} and {other.shape}: give functions × boots, twice"
        )
    n, m = base.shape[1], other.shape[1]
    if not n or not m:
        raise InputError("a side has no boot: record a run of it")
    if not (np.isfinite(base).all() and np.isfinite(other).all()):
        raise InputError("a count is not a finite number: leave that run out")

    exact = np.zeros(len(base), np.bool_)
    if deterministic:
        exact = (base == base[:, :1]).all(axis=1) & (other == other[:, :1]).all(axis=1)
    pooled = (base.sum(axis=1) + other.sum(axis=1)) / (n + m)
    least = LEAST_SHARE * (n * totals[0] + m * totals[1]) / (n + m)
    tested = ~exact & (pooled >= least) & (pooled > 0) & (min(n, m) > 1)

    p = np.full(len(base), np.nan)
    adjusted = p.copy()
    if tested.any():
        from scipy.stats import false_discovery_control

        p[tested] = mann_whitney(base[tested], other[tested])
        adjusted[tested] = false_discovery_control(p[tested], method="bh")
    difference, low, high = shift_interval(base, other, rule.confidence)
    low, high = (np.where(exact, difference, end) for end in (low, high))

    bound = rule.relevance * np.abs(np.median(base, axis=1))
    can = tested & (smallest_p(n, m) <= rule.alpha)
    unchanged = can & (-bound <= low) & (high <= bound)
    relevant = (np.abs(difference) >= bound) & (difference != 0)
    changed = can & (adjusted <= rule.alpha) & ((low > 0) | (high < 0)) & relevant
    words = [Verdict.EXACT, Verdict.UNCHANGED, Verdict.CHANGED, Verdict.UNSURE]
    codes = np.select([exact, unchanged, changed], [0, 1, 2], 3)
    return FunctionTests(
        tested=tested,
        p=p,
        adjusted=adjusted,
        low=low,
        high=high,
        verdicts=[words[code] for code in codes],
        smallest_p=smallest_p(n, m),
    )
