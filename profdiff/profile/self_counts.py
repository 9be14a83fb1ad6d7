"""How much each function executed itself, summed from addresses alone: what a comparison says of
self counts, without its stacks."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.addresses import Addresses
from profdiff.profile.cell import Cell
from profdiff.profile.function_identity import Function, match
from profdiff.profile.runs import median_run
from profdiff.profile.seat import KeptSeats


class SelfCounts(msgspec.Struct, frozen=True):
    """``counts``: int64[F, K] of F functions, also those that stand for unresolved addresses, and
    the K kernels of ``labels``, which have a result. ``seats``: where they are known."""

    functions: Sequence[Function]
    labels: Sequence[str]
    counts: NDArray[np.int64]
    seats: KeptSeats | None = None


def counted(cell: Cell) -> SelfCounts:
    """What ``Comparison.self_`` and ``Comparison.unresolved`` have of a collector's first metric;
    only functions that executed something themselves. Raises SessionError, and InputError for a
    damaged debug ELF."""
    found = {
        label: _of_kernel(cell.addresses(label)) for label, (_, long) in cell.runs.items() if long
    }
    matched = match([functions for functions, _ in found.values()])
    counts = np.zeros((len(matched.functions), len(found)), np.int64)
    for column, ((_, own), rows) in enumerate(zip(found.values(), matched.numbers, strict=True)):
        np.add.at(counts[:, column], np.asarray(rows, np.int64), own)
    some = np.flatnonzero(counts.any(axis=1))
    functions = [matched.functions[row] for row in some.tolist()]
    return SelfCounts(functions, list(found), counts[some])


def _of_kernel(addresses: Addresses) -> tuple[list[Function], NDArray[np.int64]]:
    """The functions, and int64[F] of the run with the (lower) median total, as a comparison
    chooses it."""
    counts = addresses.counts[:, :, 0]
    picked = counts[:, median_run(counts.sum(axis=0))]
    functions = addresses.functions
    leaf = functions.frames[functions.offsets[1:].astype(np.int64) - 1].astype(np.int64)
    result = np.zeros(len(functions.functions), np.int64)
    np.add.at(result, leaf, picked)
    # What only called others, or cancelled out, is not a row.
    some = np.flatnonzero(result)
    return [functions.functions[row] for row in some.tolist()], result[some]
