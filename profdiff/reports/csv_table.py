"""The function table as CSV: every function, unrounded."""

import csv
import io

from profdiff.comparison import Comparison
from profdiff.reports.rows import Selection, select


def render(comparison: Comparison, selection: Selection) -> str:
    """One line for each function, one for those left out, one for each reason of unresolved
    addresses: the self columns sum to all of the side that was asked for.

    A text cell that a spreadsheet would take for a formula begins with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    labels = comparison.labels
    header = ["name", "object", "file", "side"]
    header += [f"self {label}" for label in labels] + [f"total {label}" for label in labels]
    writer.writerow([*header, *(f"delta {label}" for label in labels[1:])])
    rows = select(comparison, selection)
    for row in rows.shown:
        function = comparison.functions[row]
        self_ = [int(value) for value in comparison.self_[row]]
        writer.writerow(
            [
                *map(_text, (function.name, function.object, function.file)),
                "kernel" if function.in_kernel else "user",
                *self_,
                *map(int, comparison.total[row]),
                *(value - self_[0] for value in self_[1:]),
            ]
        )
    if len(rows.hidden):
        values = [int(value) for value in comparison.self_[rows.hidden].sum(axis=0)]
        # Totals overlap: their sum would count what is inlined more than once.
        cells = [f"[{len(rows.hidden)} not shown]", "", "", selection.side or "", *values]
        writer.writerow([*cells, *("" for _ in labels), *(v - values[0] for v in values[1:])])
    for (reason, in_kernel), counts in comparison.unresolved.items():
        values = [int(value) for value in counts]
        side = "kernel" if in_kernel else "user"
        if selection.side not in (None, side):
            continue
        cells = [f"[unresolved: {reason}]", "", "", side, *values, *values]
        writer.writerow([*cells, *(value - values[0] for value in values[1:])])
    return out.getvalue()


def _text(value: str) -> str:
    return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
