"""A change of time as the product of a change of instructions and one of the time of each.

time = instructions × time per instruction, so the ratios multiply and their logarithms add up:
ln(time) = ln(instructions) + ln(time per instruction). The share of instructions is their part of
that sum. (The identity is that of Hennessy and Patterson, Computer Architecture, "the processor
performance equation", with cycles per instruction and cycle time taken together.)
"""

import math
from typing import NamedTuple


class Split(NamedTuple):
    """``time`` and ``instructions`` of one operation on the other kernel, as multiples of the
    base's; both are finite and above 0."""

    time: float
    instructions: float

    @property
    def share(self) -> float | None:
        """Which part of the change of time instructions are: above 1 where they explain more than
        all of it, below 0 where they changed the other way; None where time did not change."""
        whole = math.log(self.time)
        return math.log(self.instructions) / whole if whole else None


def split(time: tuple[float, float], instructions: tuple[float, float]) -> Split | None:
    """From the values of the base and of the other kernel; None unless each is above 0."""
    values = (*time, *instructions)
    if not all(value > 0 and math.isfinite(value) for value in values):
        return None
    return Split(time[1] / time[0], instructions[1] / instructions[0])
