"""Functions as rows: what each costs on each kernel."""

from collections.abc import Iterator
from typing import cast

import numpy as np

from profdiff.profile.comparison import Comparison
from profdiff.topics.functions.measure import Rows, lines
from profdiff.topics.functions.shapes import times_called
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
