"""Whether a change holds in varied states: the rule of ``docs/statistics.md``, which decides what a
report calls *exact* and whether ``record`` repeats a cell."""

import math
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

# How many times the median a change is at most where it holds, and where more states would tell
# nothing.
_HOLDS, _SETTLED = 2.0, 1.2
_STATES = 3

RELEVANT = 0.05
"""Where nothing else is asked for, a change of at least this fraction is relevant: a row of a
suite, and repeated in other states."""


class StateChange(NamedTuple):
    """Two values of one metric in one state: the base's, or that of the kernel before, and
    another kernel's."""

    base: float
    other: float

    @property
    def delta(self) -> float:
        """How much more the other kernel has."""
        return self.other - self.base

    @property
    def relative(self) -> float:
        """The delta as a fraction of the base; nan for a change from nothing, or from less."""
        if self.base > 0:
            return self.delta / self.base
        return math.nan if self.delta else 0.0


def holds(changes: Sequence[StateChange]) -> bool:
    """Whether a change is the same in every state, in any order and the plain one among them: all
    have one direction, and none is less than half or more than twice the median. It is enough that
    this is true of the deltas or of the relative changes: what a kernel adds to each call is the
    same delta however dear a state makes the call, and what it adds to each mapping is the same
    fraction however many a state has. No change in any state holds, and a change that was seen in
    one state alone."""
    return _alike(changes, _HOLDS)


def settled(changes: Sequence[StateChange]) -> bool:
    """Whether a change that holds was seen in states enough: in three that differ by less than a
    fifth."""
    return len(changes) >= _STATES and _alike(changes, _SETTLED)


def _alike(changes: Sequence[StateChange], factor: float) -> bool:
    deltas, fractions = (
        [change.delta for change in changes],
        [change.relative for change in changes],
    )
    return _near(deltas, factor) or _near(fractions, factor)


def _near(changes: Sequence[float], factor: float) -> bool:
    if any(map(math.isnan, changes)):
        return False
    middle = median(changes) if changes else 0.0
    if middle == 0:
        return not any(changes)
    parts = [change / middle for change in changes]
    return all(1 / factor <= part <= factor for part in parts)
