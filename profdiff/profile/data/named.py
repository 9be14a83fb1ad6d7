"""The names of what single instructions access."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.profile.data.cells import accesses_at
from profdiff.profile.data.keys import Key, KeyMaker
from profdiff.symbolization import data_accesses as known
from profdiff.symbolization.data_accesses import DataAccesses


class NamedAccess(NamedTuple):
    """An access of an instruction. ``size``: in bytes, of one turn where it is repeated."""

    key: Key
    load: bool
    store: bool
    size: int


class Names:
    """The names of one kernel's accesses."""

    def __init__(self, accesses: DataAccesses) -> None:
        self._accesses, self._maker = accesses, KeyMaker(accesses)

    def of(self, address: NDArray[np.uint64]) -> Sequence[list[NamedAccess]]:
        """By address (avma), what the instruction there accesses; none where nothing is known."""
        accesses = self._accesses
        found: list[list[NamedAccess]] = [[] for _ in address]
        place, row = accesses_at(accesses, address)
        for at, access in zip(place.tolist(), row.tolist(), strict=True):
            flags = int(accesses.flags[access])
            load, store = bool(flags & int(known.LOAD)), bool(flags & int(known.STORE))
            size = int(accesses.size[access])
            found[at].append(NamedAccess(self._maker.key(access), load, store, size))
        return found
