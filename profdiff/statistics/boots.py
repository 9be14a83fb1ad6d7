"""Values of one metric, by boot and by run within the boot."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from profdiff.errors import InputError

Boots = Sequence[Sequence[float]]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """E experiments of n boots with up to k runs, equally shaped. ``values``: float64[E, n, k],
    nan behind the last run of a boot; ``runs``: int64[n]."""

    values: Floats
    runs: NDArray[np.int64]

    @property
    def boots(self) -> int:
        return len(self.runs)

    def medians(self) -> Floats:
        """Of each boot: float64[E, n]."""
        return median(np.sort(self.values, axis=-1), self.runs)

    def means(self) -> Floats:
        """Of each boot: float64[E, n]."""
        return np.asarray(np.nansum(self.values, axis=-1) / self.runs)


def median(ascending: Floats, lengths: NDArray[np.int64]) -> Floats:
    """Median along the last axis, which ascends and holds ``lengths`` values, then nan."""
    lower, upper = (
        np.take_along_axis(
            ascending, np.broadcast_to(at[..., None], (*ascending.shape[:-1], 1)), axis=-1
        )[..., 0]
        for at in ((lengths - 1) // 2, lengths // 2)
    )
    # Halved first: the sum of two finite numbers may be none.
    return np.where(lower == upper, lower, lower / 2 + upper / 2)


def read(base: Boots, other: Boots) -> tuple[Sample, Sample, int]:
    """Both sides as one experiment, divided by a power of 2 (its exponent is the third) so that
    squares of huge values stay finite. A boot without a run is left out.

    Raises InputError for a side without a value, and for a value that is not finite.
    """
    sides = []
    for name, boots in (("base", base), ("the other side", other)):
        filled = [boot for boot in boots if len(boot)]
        if not filled:
            raise InputError(f"{name} has no value: record a run of it")
        runs = np.array([len(boot) for boot in filled], np.int64)
        values = np.full((1, len(filled), runs.max()), np.nan)
        # A whole number may be too large for a float.
        with suppress(OverflowError):
            for at, boot in enumerate(filled):
                values[0, at, : len(boot)] = boot
        if np.isfinite(values).sum() < runs.sum():
            raise InputError(f"{name} has a value that is no finite number: leave that run out")
        sides.append((values, runs))
    largest = max(float(np.nanmax(np.abs(values))) for values, _ in sides)
    exponent = int(np.frexp(largest)[1])
    first, second = (Sample(np.ldexp(values, -exponent), runs) for values, runs in sides)
    return first, second, exponent
