"""Functions, what they cost by caller and callee, and addresses, as flat rows."""

from collections.abc import Iterator
from typing import Annotated, cast

import numpy as np

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.profile.picked_counts import PickedCounts, picked_counts
from profdiff.topics.functions.measure import Rows, calls, lines
from profdiff.topics.functions.shapes import times_called
from profdiff.views.record import Record, Side, side


class FunctionRow(Record, frozen=True):
    """A function on a kernel. ``function``: None of what has no function, for the ``reason`` that
    is None of functions. ``self`` and ``total``: its counts without and with what it calls or
    inlines; ``delta``: by how much ``self`` is more than on the base, None of the base itself.
    ``samples``: from how many ``self`` is known, None for exact counts and where the recording does
    not say; ``calls``: how often it was called, None where that was not counted. ``line``: where it
    is declared, None if not known."""

    metric: str
    unit: str
    kernel: str
    function: str | None
    object: str
    file: str
    line: int | None
    side: Side
    reason: str | None
    self: int
    total: int
    delta: int | None
    samples: int | None
    calls: int | None


def function_rows(comparison: Comparison) -> Iterator[FunctionRow]:
    """All functions, of each all kernels, the base first; and what has no function. The sum of
    ``self`` of a kernel is its total."""
    base, called = comparison.labels[0], times_called(comparison)
    numbers = np.arange(len(comparison.functions))
    rows = Rows(numbers, numbers[:0], None)
    for line in lines(comparison, rows)[:-1]:
        is_function = line.what == "function"
        for kernel, label in enumerate(comparison.labels):
            own, samples = line.self[label], line.samples[label] if line.samples else None
            yield FunctionRow(
                metric=comparison.metric.name,
                unit=comparison.metric.unit,
                kernel=label,
                function=line.name if is_function else None,
                object=line.object,
                file=line.file,
                line=int(comparison.lines[line.numbers[0], kernel]) or None
                if is_function
                else None,
                side=cast("Side", line.side),
                reason=line.reason,
                self=own,
                total=line.total[label],
                delta=None if label == base else own - line.self[base],
                # Folded stacks have counts, and do not say from how many samples.
                samples=None if own and not samples else samples,
                calls=called(line, label),
            )


class CallRow(Record, frozen=True):
    """The calls of a function on a kernel. ``self`` and ``total``: of its counts without and with
    what it calls, those that belong to calls; ``no_call``: the rest of its own, of copies that were
    inlined, where there are no calls to count. None: a caller both calls it and has a copy of it,
    so that what belongs to calls is not known; all of its own counts are in ``no_call`` then."""

    kernel: str
    function: str
    object: str
    file: str
    side: Side
    calls: int
    self: int | None
    total: int | None
    no_call: int


def call_rows(comparison: Comparison) -> Iterator[CallRow]:
    """The functions that some kernel called, of each all kernels, the base first. Raises InputError
    where calls were not counted."""
    found = calls(comparison, np.arange(len(comparison.functions)))
    if found is None:
        raise InputError("calls were not counted: record with --collector exact to have them")
    for function, one in zip(comparison.functions, found, strict=True):
        for label in comparison.labels if any(one.calls.values()) else ():
            yield CallRow(
                kernel=label,
                function=function.name,
                object=function.object,
                file=function.file,
                side=side(function.in_kernel),
                calls=one.calls[label],
                self=one.self[label],
                total=one.total[label],
                no_call=one.no_call[label],
            )


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
