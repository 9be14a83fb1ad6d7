"""The seats of a setting's changes as a session keeps them: for each kernel against the base and
against the kernel before it."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.seat import Seats


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
