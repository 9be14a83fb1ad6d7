"""Values of one metric, by boot and by run within the boot."""

from collections.abc import Sequence
from contextlib import suppress

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError

Boots = Sequence[Sequence[float]]
Floats = NDArray[np.float64]


class Sample(msgspec.Struct, frozen=True):
    """E experiments of n boots with up to k runs, equally shaped. ``values``: float64[E, n, k],
    nan after the last run of a boot; ``runs``: int64[n]."""

    values: Floats
    runs: NDArray[np.int64]

    @property
    def boots(self) -> int:
        return len(self.runs)

    def medians(self) -> Floats:
        """For each boot: float64[E, n]."""
        return median(np.sort(self.values, axis=-1), self.runs)

    def means(self) -> Floats:
        """For each boot: float64[E, n]."""
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


class Experiments(msgspec.Struct, frozen=True):
    """Equally shaped experiments. ``rows``: which of what was read they are. ``exponents``:
    int64[E], of the powers of 2 that both sides were divided by."""

    rows: list[int]
    base: Sample
    other: Sample
    exponents: NDArray[np.int64]

    def part(self, which: slice | NDArray[np.intp]) -> "Experiments":
        """Some of them."""
        base, other = (Sample(one.values[which], one.runs) for one in (self.base, self.other))
        rows = np.array(self.rows)[which].tolist()
        return Experiments(rows, base, other, self.exponents[which])


def read(base: Boots, other: Boots) -> tuple[Sample, Sample, int]:
    """Both sides as one experiment, divided by a power of 2 (its exponent is the third) so that
    squares of huge values stay finite. A boot without a run is left out.

    Raises InputError for a side without a value, and for a value that is not finite.
    """
    (one,) = read_all([(base, other)])
    return one.base, one.other, int(one.exponents[0])


def read_all(pairs: Sequence[tuple[Boots, Boots]]) -> list[Experiments]:
    """Pairs of base and other as ``read`` has them, those together that are shaped alike: as many
    boots, with as many runs each. Raises what ``read`` does."""
    shapes: dict[tuple[tuple[int, ...], ...], list[tuple[int, list[list[Sequence[float]]]]]] = {}
    for row, pair in enumerate(pairs):
        filled = [[boot for boot in boots if len(boot)] for boots in pair]
        for name, boots in zip(_SIDES, filled, strict=True):
            if not boots:
                raise InputError(f"{name} has no value: record a run of it")
        shape = tuple(tuple(map(len, boots)) for boots in filled)
        shapes.setdefault(shape, []).append((row, filled))
    found = []
    for shape, members in shapes.items():
        sides = [
            _values(name, [filled[side] for _, filled in members], shape[side])
            for side, name in enumerate(_SIDES)
        ]
        largest = np.max([np.nanmax(np.abs(values), axis=(1, 2)) for values in sides], axis=0)
        exponents = np.frexp(largest)[1].astype(np.int64)
        base, other = (
            Sample(np.ldexp(values, -exponents[:, None, None]), np.array(shape[side], np.int64))
            for side, values in enumerate(sides)
        )
        found.append(Experiments([row for row, _ in members], base, other, exponents))
    return found


_SIDES = ("base", "the other side")


def _values(
    name: str, experiments: Sequence[Sequence[Sequence[float]]], runs: Sequence[int]
) -> Floats:
    """float64[E, n, k], nan after the last run of a boot. Raises InputError for what is not
    finite."""
    values = np.full((len(experiments), len(runs), max(runs)), np.nan)
    # A whole number may be too large for a float.
    with suppress(OverflowError):
        for at, length in enumerate(runs):
            values[:, at, :length] = [boots[at] for boots in experiments]
    if np.isfinite(values).sum() < len(experiments) * sum(runs):
        raise InputError(f"{name} has a value that is not a finite number: leave that run out")
    return values
