"""Whether a change rests on how a repeated string instruction (``rep stosb``) counts: once, as
hardware retires it and as all counts here are, or with each of its iterations."""

import math
from collections.abc import Iterable

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.evidence.statistics import Estimate, Rule
from profdiff.profile.comparison import Comparison, Side
from profdiff.session.manifest import Run
from profdiff.session.states import StateChange, holds

COUNTED = "with each iteration of repeated string instructions counted"
_RELEVANCE = Rule().relevance


class Iterated(msgspec.Struct, frozen=True):
    """A change of instructions as it is shown, and ``each``: with each iteration counted."""

    once: StateChange
    each: StateChange

    @staticmethod
    def known(found: Estimate) -> "Iterated | None":
        """None where only one is known."""
        if found.iterated is None:
            return None
        return Iterated(StateChange(*found.medians), StateChange(*found.iterated))

    @staticmethod
    def of(found: Estimate, least: float = _RELEVANCE) -> "Iterated | None":
        """None where both say the same, too."""
        said = Iterated.known(found)
        return said if said and said.differ(least) else None

    def differ(self, least: float = _RELEVANCE) -> bool:
        """Whether the changes differ in sign, as they are shown, or by at least ``least`` of the
        base."""
        one, other = self.once.relative, self.each.relative
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) != math.isnan(other)
        signs = {float(np.sign(round(change, 3))) for change in (one, other)}
        return len(signs) > 1 or abs(one - other) >= least

    @property
    def alike(self) -> bool:
        """Whether the kernels differ by about as many instructions, or by the same fraction,
        however they count: iterations that both execute only make the base larger."""
        return holds([self.once, self.each])

    @property
    def told(self) -> str:
        """``-7.6% with each iteration of repeated string instructions counted``."""
        return f"{self.change} {COUNTED}"

    @property
    def change(self) -> str:
        """``-7.6%``: with each iteration."""
        return units.change(*self.each)

    @property
    def briefly(self) -> str:
        """``-7.6% with each rep iteration``."""
        return f"{self.change} with each rep iteration"


def extra(run: Run) -> int | None:
    """How many iterations of a run its count leaves out; None where no instructions are counted."""
    told = run.instructions
    if told is None:
        return None
    return told.each_iteration - told.kernel - told.user


def on_side(
    comparison: Comparison, label: str, side: Side | None, found: Estimate
) -> Iterated | None:
    """What ``Iterated.of`` says of a kernel's change, or of its counts on one side alone, of the
    runs that stand for the kernels."""
    if side is None:
        return Iterated.of(found)
    number = comparison.labels.index(label)
    told = of_picked(comparison, (0, number), side == "kernel")
    if told is None:
        return None
    totals = comparison.totals(side).tolist()
    pair = totals[0], totals[number]
    each = StateChange(*(count + more for count, more in zip(pair, told, strict=True)))
    said = Iterated(StateChange(*pair), each)
    return said if said.differ() else None


def of_picked(
    comparison: Comparison, kernels: Iterable[int], side: bool | None = None, function: str = ""
) -> list[int] | None:
    """What ``left_out`` says of the run that stands for each of the kernels; None where a recording
    of one does not say."""
    told = []
    for kernel in kernels:
        found = left_out(comparison, kernel, side, function)
        if found is None:
            return None
        told.append(int(found[comparison.picked[kernel]]))
    return told


def left_out(
    comparison: Comparison, kernel: int, side: bool | None = None, function: str = ""
) -> NDArray[np.int64] | None:
    """int64[R]: how many iterations the counts of a kernel's runs leave out, on one ``side`` (the
    kernel's, or not), of functions of one name themselves; None where a recording does not say."""
    if not comparison.addresses:
        return None
    found: NDArray[np.int64] | None = None
    for one in comparison.addresses[kernel]:
        if one.iterations is None:
            return None
        chosen = np.ones(len(one.places.address), np.bool_)
        if side is not None:
            chosen = one.places.in_kernel == side
        if function:
            named = np.array([each.name == function for each in one.functions.functions], np.bool_)
            frames = one.functions.frames
            chosen &= named[frames[one.functions.offsets[1:].astype(np.int64) - 1]]
        sums: NDArray[np.int64] = one.iterations[chosen].sum(axis=0)
        found = sums if found is None else found + sums
    return found
