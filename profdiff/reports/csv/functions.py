"""The function table as CSV: every function, unrounded."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from profdiff.forms.csv import Line, text, written
from profdiff.profile.comparison import Comparison
from profdiff.views.profile import functions
from profdiff.views.profile.calls import calls
from profdiff.views.profile.selection import Selection
from profdiff.views.record import Counts


def render(comparisons: Sequence[Comparison], selection: Selection) -> str:
    """For each metric one line for each function, one for those left out, one for each reason of
    unresolved addresses: the self columns sum to all of the side that was asked for. The step of a
    kernel is to the one before it; that of the first behind the base is its delta."""
    labels = comparisons[0].labels
    sampled = any(comparison.samples is not None for comparison in comparisons)
    called = any(comparison.calls is not None for comparison in comparisons)
    header = ["metric", "name", "object", "file", "side"]
    header += [f"self {label}" for label in labels] + [f"total {label}" for label in labels]
    header += [f"samples {label}" for label in labels] if sampled else []
    header += [f"calls {label}" for label in labels] if called else []
    header += [f"delta {label}" for label in labels[1:]]
    header += [f"step {label}" for _, label in pairwise(labels[1:])]
    alike = [comparison for comparison in comparisons if comparison.labels == labels]
    return written(header, (row for one in alike for row in _rows(one, selection, sampled, called)))


def _rows(
    comparison: Comparison, selection: Selection, sampled: bool, called: bool
) -> Iterator[Line]:
    blank = [""] * len(comparison.labels)
    steps = list(pairwise(comparison.labels[1:]))
    rows = functions.select(comparison, selection)
    table = functions.table(comparison, rows)
    counted = calls(comparison, rows.shown)

    def line(
        name: Sequence[str], self_: Counts, total: Counts | None, *more: Counts | None
    ) -> Line:
        base, *others = self_.values()
        columns = [total, *([more[0]] if sampled else []), *([more[1]] if called else [])]
        return [
            text(comparison.metric.name),
            *name,
            *self_.values(),
            *(cell for one in columns for cell in (blank if one is None else one.values())),
            *(value - base for value in others),
            *(self_[label] - self_[before] for before, label in steps),
        ]

    for number, one in enumerate(table.rows):
        name = [*map(text, (one.name, one.object, one.file)), one.side]
        called_ = counted[number].calls if counted else None
        yield line(name, one.self, one.total, one.samples, called_)
    if table.hidden:
        name = [f"[{table.hidden.functions} not shown]", "", "", selection.side or ""]
        # Totals overlap: their sum would count what is inlined more than once.
        yield line(name, table.hidden.self, None, None, None)
    for rest in table.unresolved:
        name = [f"[unresolved: {rest.reason}]", "", "", rest.side]
        yield line(name, rest.self, rest.self, None, None)
