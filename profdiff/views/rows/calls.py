"""Calls as rows: how often functions were called on each kernel, and what of them calls cost."""

from collections.abc import Iterator

import numpy as np

from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.topics.functions.measure import calls
from profdiff.views.record import Record, Side, side


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
