"""Addresses as rows: what each kernel spent at each of them."""

from collections.abc import Iterator
from typing import Annotated

import numpy as np

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.profile.picked_counts import PickedCounts, picked_counts
from profdiff.views.record import Record, Side, side


class AddressRow(Record, frozen=True):
    """An address that cost a kernel something. ``function``: the innermost one there, None where
    there is none, for the ``reason`` that is None elsewhere; ``physical``: the function that it is
    inlined into, or itself; ``symbol``: the ELF symbol. ``source_file`` and ``source_line``: None
    where they are not known. ``code``: the instruction's bytes in hexadecimal, None where they were
    not seen. ``count``: below 0 where a shorter run is subtracted, which had more there;
    ``samples``: from how many it is known, None for exact counts."""

    metric: str
    kernel: str
    address: Annotated[int, "uint64"]
    side: Side
    function: str | None
    physical: str | None
    reason: str | None
    object: str
    file: str
    symbol: str | None
    source_file: str | None
    source_line: int | None
    code: str | None
    count: int
    samples: int | None


def address_rows(comparison: Comparison) -> Iterator[AddressRow]:
    """Those of the base, then those of the other kernels. The counts of a function's addresses
    sum to its ``self``. Raises InputError where there are none: functions came as names."""
    found = [picked_counts(comparison, kernel) for kernel in range(len(comparison.labels))]
    if not any(found):
        raise InputError("this recording has no addresses: its functions came as names")
    for label, several in zip(comparison.labels, found, strict=True):
        for picked in several:
            yield from _rows(comparison.metric.name, label, picked)


def _rows(metric: str, label: str, picked: PickedCounts) -> Iterator[AddressRow]:
    chains, functions = picked.addresses.chains, picked.functions
    ends, starts = (functions.offsets[at].astype(np.int64) for at in (slice(1, None), slice(-1)))
    physical = functions.frames[starts].tolist()
    innermost = functions.frames[ends - 1].tolist()
    address = picked.addresses.places.address.tolist()
    executed = picked.addresses.executed
    lengths, codes = executed[:, 0].tolist(), executed[:, 1:].tobytes().hex()
    counts = (picked.sign * picked.count).tolist()
    samples = None if picked.samples is None else (picked.sign * picked.samples).tolist()
    in_kernel = picked.addresses.places.in_kernel.tolist()
    symbols = chains.symbol.tolist()
    offsets, frames = chains.offsets.tolist(), chains.frames
    for row in np.flatnonzero(picked.ran & (picked.count != 0)).tolist():
        function = functions.functions[innermost[row]]
        known = offsets[row + 1] > offsets[row]
        frame = frames[offsets[row + 1] - 1] if known else 0
        yield AddressRow(
            metric=metric,
            kernel=label,
            address=address[row],
            side=side(in_kernel[row]),
            function=function.name if known else None,
            physical=functions.functions[physical[row]].name if known else None,
            reason=function.reason or None,
            object=function.object,
            file=function.file,
            symbol=chains.strings[symbols[row]] or None,
            source_file=(chains.strings[chains.frame_file[frame]] or None) if known else None,
            source_line=(int(chains.frame_line[frame]) or None) if known else None,
            code=codes[30 * row : 30 * row + 2 * lengths[row]] or None,
            count=counts[row],
            samples=None if samples is None else samples[row],
        )
