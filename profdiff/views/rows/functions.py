"""Functions as rows: what each costs on each kernel."""

from collections.abc import Iterator, Sequence

import numpy as np

from profdiff.profile.comparison import Comparison
from profdiff.views.profile.functions import Function, functions, unresolved
from profdiff.views.record import Record, Side


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
    base = comparison.labels[0]
    called = _called(comparison)
    every = functions(comparison, np.arange(len(comparison.functions)))
    for one, calls in zip(every, called, strict=True):
        for label, count in zip(comparison.labels, calls, strict=True):
            yield FunctionRow(
                metric=comparison.metric.name,
                unit=comparison.metric.unit,
                kernel=label,
                function=one.name,
                object=one.object,
                file=one.file,
                line=one.line[label] or None,
                side=one.side,
                reason=None,
                self=one.self[label],
                total=one.total[label],
                delta=None if label == base else one.self[label] - one.self[base],
                samples=_samples(one, label),
                calls=count,
            )
    for rest in unresolved(comparison):
        for label, own in rest.self.items():
            yield FunctionRow(
                metric=comparison.metric.name,
                unit=comparison.metric.unit,
                kernel=label,
                function=None,
                object="",
                file="",
                line=None,
                side=rest.side,
                reason=rest.reason,
                self=own,
                total=own,
                delta=None if label == base else own - rest.self[base],
                samples=None,
                calls=None,
            )


def _samples(one: Function, label: str) -> int | None:
    """Folded stacks have counts, and do not say from how many samples."""
    told = None if one.samples is None else one.samples[label]
    return told or (None if one.self[label] else told)


def _called(comparison: Comparison) -> Sequence[Sequence[int | None]]:
    """How often each function was called, by kernel."""
    rows, kernels = len(comparison.functions), len(comparison.labels)
    if comparison.calls is None:
        return [[None] * kernels] * rows
    every = rows + len(comparison.unnamed)
    found: list[list[int | None]] = comparison.stacks.self_by_function(comparison.calls, every)[
        :rows
    ].tolist()
    return found
