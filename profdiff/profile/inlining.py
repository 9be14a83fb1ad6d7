"""Which functions a kernel executed inlined into their callers, where, and which by themselves."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison
from profdiff.profile.copies import Copies
from profdiff.profile.picked_counts import picked_counts


class Inlining(msgspec.Struct, frozen=True):
    """The inlining of F functions, as far as they executed in the runs that stand for kernels.
    ``copies``: int64[F, K], in how many places each is inlined, as far as call sites tell them
    apart; ``called``: bool[F, K], whether code of its own executed, which is not inlined;
    ``known``: bool[K], whether inlined functions are visible at all. ``callers``: by kernel, for
    each function the numbers of those into which it is inlined."""

    copies: NDArray[np.int64]
    called: NDArray[np.bool_]
    known: NDArray[np.bool_]
    callers: list[dict[int, list[int]]]

    def way(self, function: int, kernel: int) -> str:
        """How a function ran: ``called``, ``inlined N``, ``both N``, or not at all."""
        if not self.known[kernel]:
            return "unknown"
        copies, called = int(self.copies[function, kernel]), self.called[function, kernel]
        if copies:
            return f"{'both' if called else 'inlined'} {copies}"
        return "called" if called else "not executed"


def inlining(comparison: Comparison) -> Inlining:
    """What the executed places of all kernels show."""
    shape = len(comparison.functions), len(comparison.kernels)
    copies, called = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
    callers: list[dict[int, list[int]]] = []
    for kernel in range(shape[1]):
        into: dict[int, set[int]] = {}
        # The longer run, if there are two lengths.
        for one in picked_counts(comparison, kernel)[:1]:
            found = Copies.of(one.addresses.chains, one.functions, one.number)
            ran = (found.inclusive((one.count != 0).astype(np.int64)) > 0) & (found.row >= 0)
            called[found.row[ran & ~found.inlined], kernel] = True
            inside = np.flatnonzero(ran & found.inlined)
            below = found.row[found.tree.parent[inside]]
            columns = found.copy[inside], found.row[inside], below
            for _, function, caller in set(zip(*(one.tolist() for one in columns), strict=True)):
                copies[function, kernel] += 1
                into.setdefault(function, set()).add(caller)
        callers.append({function: sorted(rows - {-1}) for function, rows in into.items()})
    return Inlining(copies, called, np.array(comparison.inlines_visible, np.bool_), callers)
