"""The function table as CSV: every function, unrounded."""

import csv
import io
from collections.abc import Iterator, Sequence

from profdiff.base.terminal import cleaned
from profdiff.profile.comparison import Comparison
from profdiff.reports.calls import Calls
from profdiff.reports.rows import Selection, select


def render(comparisons: Sequence[Comparison], selection: Selection) -> str:
    """For each metric one line for each function, one for those left out, one for each reason of
    unresolved addresses: the self columns sum to all of the side that was asked for.

    A text cell that a spreadsheet would take for a formula begins with an apostrophe; control
    characters are escaped.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    labels = comparisons[0].labels
    sampled = any(comparison.samples is not None for comparison in comparisons)
    called = any(comparison.calls is not None for comparison in comparisons)
    header = ["metric", "name", "object", "file", "side"]
    header += [f"self {label}" for label in labels] + [f"total {label}" for label in labels]
    header += [f"samples {label}" for label in labels] if sampled else []
    header += [f"calls {label}" for label in labels] if called else []
    writer.writerow([*header, *(f"delta {label}" for label in labels[1:])])
    for comparison in comparisons:
        if comparison.labels == labels:
            writer.writerows(_rows(comparison, selection, sampled, called))
    return out.getvalue()


def _rows(
    comparison: Comparison, selection: Selection, sampled: bool, called: bool
) -> Iterator[list[object]]:
    metric = _text(comparison.metric.name)
    blank = [""] * len(comparison.labels)
    rows = select(comparison, selection)
    counted = Calls.of(comparison)
    for row in rows.shown:
        function = comparison.functions[row]
        self_ = [int(value) for value in comparison.self_[row]]
        samples = blank if comparison.samples is None else map(int, comparison.samples[row])
        yield [
            metric,
            *map(_text, (function.name, function.object, function.file)),
            "kernel" if function.in_kernel else "user",
            *self_,
            *map(int, comparison.total[row]),
            *(samples if sampled else []),
            *((map(int, counted.calls[row]) if counted else blank) if called else []),
            *(value - self_[0] for value in self_[1:]),
        ]
    if len(rows.hidden):
        values = [int(value) for value in comparison.self_[rows.hidden].sum(axis=0)]
        # Totals overlap: their sum would count what is inlined more than once.
        cells = [metric, f"[{len(rows.hidden)} not shown]", "", "", selection.side or "", *values]
        rest = [*blank, *(blank if sampled else []), *(blank if called else [])]
        yield [*cells, *rest, *(v - values[0] for v in values[1:])]
    for (reason, in_kernel), counts in comparison.unresolved.items():
        values = [int(value) for value in counts]
        side = "kernel" if in_kernel else "user"
        if selection.side not in (None, side):
            continue
        cells = [metric, f"[unresolved: {reason}]", "", "", side, *values, *values]
        rest = [*(blank if sampled else []), *(blank if called else [])]
        yield [*cells, *rest, *(value - values[0] for value in values[1:])]


def _text(value: str) -> str:
    value = cleaned(value)
    return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
