"""What samples can tell of a function: whether a difference stands out of chance, and its kind.

How many samples hit a function is random: of n expected ones about sqrt(n) more or less (a Poisson
count, as for any sampling profiler). With a weight W known from n samples its standard error is
W / sqrt(n), and that of a difference sqrt(Wa^2 / na + Wb^2 / nb).
"""

from collections.abc import Collection, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.metric import EventName
from profdiff.profile.comparison import Comparison

# A standard error beyond this part of the larger side can hide a change of a fifth of it.
_FEW = 0.1
# How many standard errors a difference must have to be believed.
_BELIEVED = 3.0
# Instructions that change by less than this part are flat.
_FLAT = 0.02

FEW, FLAT, UP = "?", "=", "+"
LEGEND = {
    FEW: "too few samples to tell",
    FLAT: "instructions flat, cycles up (layout, cache, locks)",
    UP: "instructions up",
}


class Deltas(msgspec.Struct, frozen=True):
    """Weights of F functions on the base and K - 1 others, float64[F, 1] and [F, K - 1], and the
    standard error of their differences. ``believed``: whether a difference is larger than chance
    makes it; ``few``: whether so few samples were taken that nothing can be said."""

    base: NDArray[np.float64]
    other: NDArray[np.float64]
    error: NDArray[np.float64]

    @staticmethod
    def of(comparison: Comparison, rows: NDArray[np.int64]) -> "Deltas":
        """The marks of a sampled metric."""
        weights, squares = comparison.self_[rows].astype(float), errors(comparison, rows) ** 2
        return Deltas(weights[:, :1], weights[:, 1:], np.sqrt(squares[:, :1] + squares[:, 1:]))

    @property
    def believed(self) -> NDArray[np.bool_]:
        """bool[F, K - 1]."""
        return (np.abs(self.other - self.base) >= _BELIEVED * self.error) & (self.error > 0)

    @property
    def few(self) -> NDArray[np.bool_]:
        """bool[F, K - 1]."""
        return (self.error > _FEW * np.maximum(self.base, self.other)) & ~self.believed


def errors(comparison: Comparison, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[F, K]: the standard errors of self counts of a sampled metric. What two lengths
    differ by is known from the samples n of both, each of the same weight w: w sqrt(n)."""
    if comparison.samples is None:
        raise ValueError("an exact metric has no samples")
    roots = np.sqrt(np.maximum(comparison.samples[rows], 1))
    if comparison.sample_weight is not None:
        return np.asarray(comparison.sample_weight * roots)
    return np.asarray(np.abs(comparison.self_[rows]) / roots)


def signs(
    cycles: Comparison, instructions: Comparison | None, rows: NDArray[np.int64]
) -> list[list[str]]:
    """The sign of ``LEGEND`` that holds, or "", of each function and each kernel but the base."""
    time = Deltas.of(cycles, rows)
    found = np.where(time.few, FEW, "")
    if instructions is not None:
        work = Deltas.of(instructions, rows)
        up = work.believed & (work.other > work.base * (1 + _FLAT))
        near = np.maximum(_FLAT * work.base, work.error)
        flat = ~work.few & (np.abs(work.other - work.base) <= near)
        slower = time.believed & (time.other > time.base)
        found = np.where(time.few, FEW, np.where(up, UP, np.where(flat & slower, FLAT, "")))
    told: list[list[str]] = found.tolist()
    return told


def together(texts: Collection[str]) -> str:
    """The signs of what ``LEGEND`` says of all kernels. Too few samples matter only where all have
    too few."""
    found = {sign for sign, text in LEGEND.items() if text in texts}
    return "".join(sorted(found - {FEW} or found))


def instructions_of(group: Sequence[Comparison]) -> Comparison | None:
    """The instructions to set beside the first metric, where that is cycles."""
    name, modifiers = EventName.of(group[0].metric.name)
    if name != "cycles":
        return None
    wanted = f"instructions:{modifiers}" if modifiers else "instructions"
    return next((other for other in group if other.metric.name == wanted), None)
