"""The seat of a change: the deepest function that holds, with all that it calls, at least half of
it; or a function inside that one that holds more, because others call it as well. Where a change
spreads over many functions, no self count says what it is about. A session keeps the seats of each
kernel against the base and against the kernel before it."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.profile.comparison import Comparison, Side
from profdiff.profile.function_identity import Function

# What a total may differ from the change by, as a fraction of that.
_LEFT = 0.5
# What others may change by, in either direction, as a multiple of it.
_ELSEWHERE = 4
# How many times another function's total one is that may have its place under another name.
_ALIKE, _HARDLY = 1.5, 0.1
# Below these everything lies, so that they tell nothing: where programs begin, and how system calls
# enter the kernel, and its threads and children (kernel/kthread.c).
ROOTS = frozenset(
    (
        *("_start", "_start_c", "__libc_start_main", "__libc_start_main_impl"),
        *("__libc_start_call_main", "call_init", "generic_start_main", "main", "start_thread"),
        *("clone3", "__clone3", "clone", "__clone"),
        *("ret_from_fork", "kthread"),
        *(name for architecture in ARCHITECTURES for name in architecture.roots),
    )
)


class Seat(NamedTuple):
    """``function``: a row of the comparison's functions; ``delta``: of its total, of a function of
    user space without what the kernel did for it; ``whole``: of all."""

    function: int
    delta: int
    whole: int

    @property
    def part(self) -> float:
        """What part of the change it holds, from a half to one and a half."""
        return self.delta / self.whole


class Below(NamedTuple):
    """A function that a seat calls itself, or inlines: ``delta`` of its total there."""

    function: int
    delta: int


class Seats:
    """Those of a comparison's kernels against each other, of one side or of both. Without callers
    there are none."""

    def __init__(self, comparison: Comparison, side: Side | None = None) -> None:
        self._comparison = comparison
        self._wholes = comparison.totals(side)
        self._known = callers_known(comparison)
        if not self._known:
            return
        stacks, count = comparison.stacks, len(comparison.functions)
        functions = [*comparison.functions, *comparison.unnamed]
        in_kernel = np.array([function.in_kernel for function in functions], np.bool_)
        user = np.where(in_kernel[stacks.function][:, None], 0, comparison.counts)
        own = stacks.total_by_function(user, len(functions))[:count]
        self._totals = np.where(in_kernel[:count, None], comparison.total, own)
        self._depth = _depth(comparison)
        self._of_side = (
            np.ones(len(functions), np.bool_) if side is None else (in_kernel == (side == "kernel"))
        )
        self._named = np.zeros(count, np.bool_)
        self._named[comparison.rows(side)] = True
        names = (function.name for function in comparison.functions)
        self._named &= np.array([name not in ROOTS for name in names], np.bool_)

    def seat(self, kernel: int, since: int = 0) -> Seat | None:
        """What changed from kernel ``since`` to another one, both by number; None where no function
        but the roots holds as much. If two have one depth, it is the one that holds more, then the
        first name. A function inside it that holds more takes its place. Where far more changed
        elsewhere and offset each other, a function holds as much by chance."""
        whole = int(self._wholes[kernel] - self._wholes[since])
        if not self._known or not whole:
            return None
        delta = self._totals[:, kernel] - self._totals[:, since]
        # More than the change by more than a half is offset elsewhere: it does not explain it.
        fits = self._named & (np.abs(delta - whole) <= _LEFT * abs(whole))
        rows = np.flatnonzero(fits).tolist()
        names = self._comparison.functions
        rows.sort(key=lambda row: (-self._depth[row], -abs(int(delta[row])), names[row]))
        renamed = may_be_renamed(self._totals[:, since], self._totals[:, kernel])

        def is_sound(row: int) -> bool:
            return not renamed[row] and (
                self._elsewhere(row, kernel, since) <= _ELSEWHERE * abs(whole)
            )

        found = next(filter(is_sound, rows), None)
        missing = np.abs(delta - whole)
        while found is not None:
            inner = self._inner(found, kernel, since)
            more = [row for row in rows if inner[row] and missing[row] < missing[found]]
            more.sort(key=lambda row: (int(missing[row]), names[row]))
            better = next(filter(is_sound, more), None)
            if better is None:
                return Seat(found, int(delta[found]), whole)
            found = better
        return None

    def _inner(self, row: int, kernel: int, since: int) -> NDArray[np.bool_]:
        """bool[F]: the functions that a function calls or inlines, directly or not, and that change
        there as it does. Those that call it, where most of its change lies, are not."""
        stacks, outermost = self._comparison.stacks, self._comparison.stacks.outer() < 0
        size = len(self._comparison.functions) + len(self._comparison.unnamed)
        counts = self._comparison.counts
        changed = stacks.inclusive(counts[:, [kernel]] - counts[:, [since]])[:, 0]
        inside = outermost & stacks.containing(np.arange(size) == row)
        below, above = np.zeros(size, np.int64), np.zeros(size, np.int64)
        np.add.at(below, stacks.function[inside], changed[inside])
        own = np.flatnonzero(inside & (stacks.function == row))
        at = stacks.parent[own]
        while len(at):
            own, at = own[at >= 0], at[at >= 0]
            # Of a recursive caller, the outermost call counts.
            once = outermost[at]
            np.add.at(above, stacks.function[at[once]], changed[own[once]])
            at = stacks.parent[at]
        way = np.sign(below[row])
        inner: NDArray[np.bool_] = (way * below > 0) & (2 * way * above < way * below[row])
        return inner

    def _elsewhere(self, row: int, kernel: int, since: int) -> int:
        """By how much the own counts of functions changed outside of what a function calls or
        inlines, in either direction."""
        stacks, counts = self._comparison.stacks, self._comparison.counts
        wanted = np.zeros(len(self._comparison.functions) + len(self._comparison.unnamed), np.bool_)
        wanted[row] = True
        outside = ~stacks.containing(wanted)
        own = np.zeros(len(wanted), np.int64)
        changed = counts[outside, kernel] - counts[outside, since]
        np.add.at(own, stacks.function[outside], changed)
        return int(np.abs(own[self._of_side]).sum())

    def below(self, seat: Seat, kernel: int, since: int = 0) -> list[Below]:
        """What the seat calls or inlines, by the delta of its total there, those first that change
        most as the whole does; others are left out."""
        stacks, counts = self._comparison.stacks, self._comparison.counts
        mine = (stacks.function == seat.function) & (stacks.outer() < 0)
        inside = (stacks.parent >= 0) & mine[stacks.parent] & (stacks.function != seat.function)
        inclusive = stacks.inclusive(counts[:, kernel : kernel + 1] - counts[:, since : since + 1])
        count = len(self._comparison.functions)
        delta = np.zeros(count + len(self._comparison.unnamed), np.int64)
        np.add.at(delta, stacks.function[inside], inclusive[inside, 0])
        way = 1 if seat.whole > 0 else -1
        order = np.argsort(-way * delta[:count], kind="stable").tolist()
        return [Below(row, int(delta[row])) for row in order if way * delta[row] > 0]


def may_be_renamed(before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[F]: of functions that cost hardly anything on one side, whether the other side has one
    of its own with a similar cost: then neither is a change of that size."""
    found = np.zeros(len(before), np.bool_)
    gone, came = after < _HARDLY * before, before < _HARDLY * after
    for mine, here, others in ((gone, before, after[came]), (came, after, before[gone])):
        wanted = here[mine]
        # The least of the others that is not too small must not be too large.
        every = np.append(np.sort(others), np.iinfo(np.int64).max)
        least = np.searchsorted(_ALIKE * every, wanted)
        found[mine] = every[np.minimum(least, len(every) - 1)] <= _ALIKE * wanted
    return found


def callers_known(comparison: Comparison) -> bool:
    """Whether a function stands above another that did not inline it."""
    stacks = comparison.stacks
    called = comparison.counts.any(axis=1) & (stacks.depth > 0) & ~comparison.inlined.any(axis=1)
    return bool(called.any())


def _depth(comparison: Comparison) -> NDArray[np.float64]:
    """float64[F]: how many functions are below each on average, over all kernels; of a recursive
    one below its outermost call."""
    stacks, count = comparison.stacks, len(comparison.functions)
    outermost = (stacks.outer() < 0) & (stacks.function < count)
    # Counts of two lengths can be negative.
    weight = np.abs(stacks.inclusive(comparison.counts)[outermost]).sum(axis=1).astype(np.float64)
    function = stacks.function[outermost]
    weights, depths = np.zeros(count), np.zeros(count)
    np.add.at(weights, function, weight)
    np.add.at(depths, function, weight * stacks.depth[outermost])
    return depths / np.maximum(weights, 1)


class KeptSeat(NamedTuple):
    """``delta``: of the function's total."""

    function: Function
    delta: int


class KeptSeats(msgspec.Struct, frozen=True):
    """The seats of the K kernels of ``labels``, which have a result. ``number``: int64[K, 2], a row
    of ``functions``, -1 where there is no seat, against the base and against the kernel before;
    ``delta``: int64[K, 2]."""

    labels: Sequence[str]
    functions: Sequence[Function]
    number: NDArray[np.int64]
    delta: NDArray[np.int64]

    @staticmethod
    def of(comparison: Comparison) -> "KeptSeats":
        """All of a comparison."""
        seats, kernels = Seats(comparison), len(comparison.labels)
        functions: dict[Function, int] = {}
        number = np.full((kernels, 2), -1, np.int64)
        delta = np.zeros((kernels, 2), np.int64)
        for kernel in range(1, kernels):
            for column, since in enumerate((0, kernel - 1)):
                if found := seats.seat(kernel, since):
                    function = comparison.functions[found.function]
                    number[kernel, column] = functions.setdefault(function, len(functions))
                    delta[kernel, column] = found.delta
        return KeptSeats(comparison.labels, list(functions), number, delta)

    def against_base(self) -> dict[str, KeptSeat]:
        """The seats of the kernels that have one against the base."""
        rows = zip(self.labels, self.number[:, 0].tolist(), self.delta[:, 0].tolist(), strict=True)
        return {
            label: KeptSeat(self.functions[row], delta) for label, row, delta in rows if row >= 0
        }

    def seat(self, label: str, since: str) -> KeptSeat | None:
        """The seat of a kernel against ``since``: the base, or a neighbour of it; None where that
        has none, or it was not kept."""
        labels = list(self.labels)
        if label not in labels or since not in labels:
            return None
        at, before = labels.index(label), labels.index(since)
        way = 1 if at > before else -1
        at, before = max(at, before), min(at, before)
        if at == before or before not in (0, at - 1):
            return None
        column = 0 if before == 0 else 1
        row = int(self.number[at, column])
        if row < 0:
            return None
        return KeptSeat(self.functions[row], way * int(self.delta[at, column]))
