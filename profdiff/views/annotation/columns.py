"""A kernel's instructions of a function as lists, which are quicker to read one by one."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.code.alignment import KernelSide
from profdiff.views.annotation.access import Access


class Columns:
    """N instructions. ``accesses``: by row, what each accesses. ``taken``: None for what is no
    conditional branch, and where it is not known of all executions."""

    def __init__(self, side: KernelSide, accesses: Sequence[list[Access]]) -> None:
        code, dis = side.code, side.decoded
        self.accesses = accesses
        self.address: list[int] = code.address.tolist()
        self.count: list[int] = code.count.tolist()
        self.samples = _list(code.samples)
        self.text, self.key, self.classes = dis.text, dis.key, dis.classes
        self.target: list[int] = dis.target.tolist()
        self.taken: list[int | None] = [None] * len(code)
        if code.taken is not None:
            known = dis.conditional if code.untold is None else dis.conditional & (code.untold == 0)
            for row in np.flatnonzero(known).tolist():
                self.taken[row] = int(code.taken[row])


def _list(column: NDArray[np.int64] | None) -> list[int] | None:
    return None if column is None else column.tolist()
