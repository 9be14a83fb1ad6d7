"""What the picked run of a kernel spent at each place: the addresses that a comparison's numbers
are sums of."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.profile.addresses import Addresses
from profdiff.profile.chain_functions import ChainFunctions
from profdiff.profile.comparison import Comparison


class PickedCounts(msgspec.Struct, frozen=True):
    """N places of one recording of a kernel. ``sign``: -1 where it is subtracted, else 1.

    ``count``: int64[N] in the comparison's metric; ``samples``: int64[N], from how many samples
    that is known, None for exact counts; ``taken``: int64[N], how often the conditional branch at
    each place jumped, None where that was not recorded; ``untold``: int64[N], of how many of its
    executions it is not known. ``functions``: the chains as functions of their own; ``number``:
    int64 per function of those, its row in the comparison, -1 of those that it has not: unresolved
    ones. ``function``: int64[N], that of each place's innermost frame.
    """

    sign: int
    addresses: Addresses
    count: NDArray[np.int64]
    samples: NDArray[np.int64] | None
    taken: NDArray[np.int64] | None
    untold: NDArray[np.int64] | None
    functions: ChainFunctions
    number: NDArray[np.int64]
    function: NDArray[np.int64]

    @property
    def ran(self) -> NDArray[np.bool_]:
        """bool[N]: where an instruction is known to have executed. A recording of samples also has
        places of calls, which are within an instruction (its return address less one)."""
        if self.samples is None:
            return np.ones(len(self.count), np.bool_)
        return self.samples > 0


def picked_counts(comparison: Comparison, kernel: int) -> list[PickedCounts]:
    """The counts of a kernel, by its number; none where functions came as names. The counts of a
    function's places, times ``sign``, sum to ``comparison.self_`` of that function and kernel."""
    of_kernel = comparison.addresses[kernel] if comparison.addresses else ()
    if not of_kernel:
        return []
    run = comparison.picked[kernel]
    runs = sum(one.kernel == comparison.kernels[kernel].label for one in comparison.runs)
    if len(of_kernel) == 1 and of_kernel[0].counts.shape[1] == runs:
        return [_picked(comparison, kernel, of_kernel[0], run, 1)]
    # Runs of samples have places of their own each, those to subtract behind the others.
    found = [_picked(comparison, kernel, of_kernel[run], 0, 1)]
    if len(of_kernel) == 2 * runs:
        found.append(_picked(comparison, kernel, of_kernel[runs + run], 0, -1))
    return found


def _picked(
    comparison: Comparison, kernel: int, addresses: Addresses, run: int, sign: int
) -> PickedCounts:
    metric = addresses.metrics.index(comparison.metric)
    sampled = None if addresses.sampled is None else addresses.sampled()[:, run, metric]
    taken, untold = addresses.taken, addresses.untold
    functions = addresses.functions
    known = comparison.numbers[kernel]
    rows = [known.get(function, -1) for function in functions.functions]
    number = np.array(rows, np.int64)
    number[number >= len(comparison.functions)] = -1
    innermost = functions.frames[functions.offsets[1:].astype(np.int64) - 1]
    return PickedCounts(
        sign,
        addresses,
        addresses.counts[:, run, metric],
        sampled,
        None if taken is None else taken[:, run],
        None if untold is None else untold[:, run],
        functions,
        number,
        number[innermost],
    )
