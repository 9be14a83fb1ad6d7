"""The function table as CSV: every function, unrounded."""

from collections.abc import Callable, Sequence

from profdiff.forms import csv
from profdiff.profile.comparison import Comparison
from profdiff.topics.functions import measure, shapes
from profdiff.topics.functions.measure import Line
from profdiff.topics.functions.selection import Selection


def render(comparisons: Sequence[Comparison], selection: Selection) -> str:
    """For each metric one line for each function, one for those left out, one for each reason of
    unresolved addresses: the self columns sum to all of the side that was asked for."""
    labels = comparisons[0].labels
    sampled = any(comparison.samples is not None for comparison in comparisons)
    called = any(comparison.calls is not None for comparison in comparisons)
    tables = []
    for one in comparisons:
        figures: dict[str, Callable[[Line, str], int | None]] = {}
        figures |= {"samples": _samples} if sampled else {}
        figures |= {"calls": shapes.times_called(one)} if called else {}
        if one.labels == labels:
            lines = measure.lines(one, measure.select(one, selection))[:-1]
            tables.append(shapes.every(one.metric.name, [labels], lines, figures))
    return csv.tables(tables)


def _samples(line: Line, kernel: str) -> int | None:
    return line.samples[kernel] if line.samples and line.what == "function" else None
