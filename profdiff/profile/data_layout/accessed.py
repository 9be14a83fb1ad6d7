"""What the kernels of a comparison accessed, with how often."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError, SessionError
from profdiff.profile.comparison import Comparison
from profdiff.profile.kept_code import ACCESSES
from profdiff.profile.picked_counts import PickedCounts, picked_counts
from profdiff.session.session import Session
from profdiff.symbolization.data_accesses import DataAccesses


class Accessed(msgspec.Struct, frozen=True):
    """A accesses of one kernel. ``count``: int64[A], how often the instruction of each executed."""

    accesses: DataAccesses
    count: NDArray[np.int64]


class AllAccessed(msgspec.Struct, frozen=True):
    """``kernels``: by number, None where it is not known, and ``missing`` why, or ""."""

    kernels: list[Accessed | None]
    missing: list[str]

    @property
    def known(self) -> bool:
        """Whether it is known of the base and of another kernel, or of the only one."""
        first, *others = self.kernels
        return first is not None and (not others or any(others))


def accessed(comparison: Comparison, session: Session | None) -> AllAccessed:
    """What a comparison of exact counts tells. Nothing is raised: what cannot be read is
    missing."""
    kernels, missing = list[Accessed | None](), list[str]()
    for kernel, described in enumerate(comparison.kernels):
        picked = picked_counts(comparison, kernel)
        runs = [run for run in comparison.runs if run.kernel == described.label]
        found, why = None, "no session keeps it"
        if session is not None and picked:
            run = runs[comparison.picked[kernel]]
            try:
                found, why = ACCESSES.known(session, run, picked[0].addresses)
            except (SessionError, InputError) as error:
                why = str(error)
        kernels.append(None if found is None else Accessed(found, _counts(found, picked[0])))
        missing.append(why)
    return AllAccessed(kernels, missing)


def _counts(accesses: DataAccesses, picked: PickedCounts) -> NDArray[np.int64]:
    places = picked.addresses.places
    mine = np.flatnonzero(places.in_kernel)
    order = mine[np.argsort(places.address[mine], kind="stable")]
    address = places.address[order]
    # Code that was patched while it ran has several places at one address.
    sums = np.concatenate([[0], np.cumsum(picked.count[order])])
    first = np.searchsorted(address, accesses.address, side="left")
    behind = np.searchsorted(address, accesses.address, side="right")
    result: NDArray[np.int64] = sums[behind] - sums[first]
    return result
