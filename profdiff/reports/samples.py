"""What samples can tell of a function: whether a difference stands out of chance, and its kind.

How many samples hit a function is random: of n expected ones about sqrt(n) more or less (a Poisson
count, as for any sampling profiler). With a weight W known from n samples its standard error is
W / sqrt(n), and that of a difference sqrt(Wa^2 / na + Wb^2 / nb).
"""

from typing import NamedTuple

import numpy as np

from profdiff.profile.comparison import Comparison

# A standard error beyond this part of the larger side can hide a change of a fifth of it.
_FEW = 0.1
# How many standard errors a difference must have to be believed.
_BELIEVED = 3.0
# Instructions that change by less than this part are flat.
_FLAT = 0.02

FEW = "?"
FLAT = "="
UP = "+"
LEGEND = {
    FEW: "too few samples to say anything",
    FLAT: "instructions flat, cycles up (layout, cache, locks)",
    UP: "instructions up",
}


class Difference(NamedTuple):
    """A function's weight on two kernels, and the standard error of their difference."""

    base: int
    other: int
    error: float

    @property
    def few(self) -> bool:
        """Whether so few samples were taken that nothing can be said."""
        larger = max(self.base, self.other)
        return self.error > _FEW * larger and not self.believed

    @property
    def believed(self) -> bool:
        """Whether the difference is larger than chance makes it."""
        return abs(self.other - self.base) >= _BELIEVED * self.error and self.error > 0


def difference(comparison: Comparison, row: int, kernel: int) -> Difference:
    """Of one function, ``kernel`` against the base, of a sampled metric."""
    if comparison.samples is None:
        raise ValueError("an exact metric has no samples")
    weights = comparison.self_[row, [0, kernel]]
    samples = np.maximum(comparison.samples[row, [0, kernel]], 1)
    error = float(np.sqrt((weights.astype(float) ** 2 / samples).sum()))
    return Difference(int(weights[0]), int(weights[1]), error)


def marks(cycles: Comparison, instructions: Comparison | None, row: int, kernel: int) -> str:
    """The signs of ``LEGEND`` that hold for a function."""
    time = difference(cycles, row, kernel)
    if time.few:
        return FEW
    if instructions is None:
        return ""
    work = difference(instructions, row, kernel)
    if work.believed and work.other > work.base * (1 + _FLAT):
        return UP
    flat = not work.few and abs(work.other - work.base) <= max(_FLAT * work.base, work.error)
    return FLAT if flat and time.believed and time.other > time.base else ""


def instructions_of(group: list[Comparison]) -> Comparison | None:
    """The instructions to set beside the first metric, where that is cycles."""
    if group[0].metric.name.partition(":")[0] != "cycles":
        return None
    modifiers = group[0].metric.name.partition(":")[2]
    wanted = f"instructions:{modifiers}" if modifiers else "instructions"
    return next((other for other in group if other.metric.name == wanted), None)


def cycles_per_instruction(
    cycles: Comparison, instructions: Comparison, row: int, kernel: int
) -> float | None:
    """None where no instruction was sampled."""
    below = int(instructions.self_[row, kernel])
    return int(cycles.self_[row, kernel]) / below if below else None
