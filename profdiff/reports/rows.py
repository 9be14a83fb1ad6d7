"""Which rows of the function table a reader asked for, and in which order."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison, Side

Sort = Literal["delta", "total-delta", "self", "total", "name"]


@dataclass(frozen=True)
class Selection:
    """``top``: at most that many rows; ``min_delta``: rows with a smaller absolute self delta (of
    the metric, on every kernel) are left out."""

    sort: Sort = "delta"
    top: int | None = None
    min_delta: int = 0
    side: Side | None = None

    def limited(self, top: int) -> "Selection":
        """The same with at most ``top`` rows."""
        return replace(self, top=top)


@dataclass(frozen=True)
class Rows:
    """``shown``: functions in order; ``hidden``: those that the selection left out."""

    shown: NDArray[np.int64]
    hidden: NDArray[np.int64]


def select(comparison: Comparison, selection: Selection) -> Rows:
    """Sort, then cut."""
    rows = comparison.rows(selection.side)
    names = [comparison.functions[row] for row in rows]
    rows = rows[sorted(range(len(rows)), key=lambda i: names[i])]
    self_, total = comparison.self_[rows], comparison.total[rows]
    delta = np.abs(self_ - self_[:, :1]).max(axis=1, initial=0)
    keys = {
        "delta": delta,
        "total-delta": np.abs(total - total[:, :1]).max(axis=1, initial=0),
        "self": self_.max(axis=1, initial=0),
        "total": total.max(axis=1, initial=0),
        "name": -np.arange(len(rows)),
    }
    # Equal keys: the function that executes more first.
    order = np.lexsort((-self_.max(axis=1, initial=0), -keys[selection.sort]))
    wanted = delta[order] >= selection.min_delta
    if selection.top is not None:
        wanted &= np.cumsum(wanted) <= selection.top
    return Rows(rows[order[wanted]], rows[order[~wanted]])
