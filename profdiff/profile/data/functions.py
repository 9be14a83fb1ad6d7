"""The functions of a comparison, and those that only single addresses tell: two lengths that
execute a function equally often leave no row of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function


class Functions:
    """``known``: by number, those of the comparison first, then what stands for its unresolved
    ones, then all others. One that several kernels have is one."""

    def __init__(self, comparison: Comparison) -> None:
        self.known: list[Function] = [*comparison.functions, *comparison.unnamed]
        self.namesakes = list(comparison.namesakes)
        self._rows = comparison.numbers
        self._others: dict[Function, int] = {}

    def numbers(self, kernel: int, functions: Sequence[Function]) -> NDArray[np.int64]:
        """Those of a kernel's own functions."""
        own = self._rows[kernel]
        return np.array([self._number(own.get(one), one) for one in functions], np.int64)

    def _number(self, row: int | None, function: Function) -> int:
        if row is not None:
            return row
        number = self._others.setdefault(function, len(self.known))
        if number == len(self.known):
            self.known.append(function)
        return number
