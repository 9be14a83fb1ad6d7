"""The function table as CSV: every function, unrounded."""

import csv
import io

from profdiff.comparison import Comparison
from profdiff.reports.rows import Selection, select


def render(comparison: Comparison, selection: Selection) -> str:
    """One line for each function, then one for each reason of unresolved addresses.

    A text cell that a spreadsheet would take for a formula begins with an apostrophe.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    labels = comparison.labels
    header = ["name", "object", "file", "side"]
    header += [f"self {label}" for label in labels] + [f"total {label}" for label in labels]
    writer.writerow([*header, *(f"delta {label}" for label in labels[1:])])
    for row in select(comparison, selection).shown:
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
    for (reason, in_kernel), counts in comparison.unresolved.items():
        values = [int(value) for value in counts]
        side = "kernel" if in_kernel else "user"
        cells = [f"[unresolved: {reason}]", "", "", side, *values, *values]
        writer.writerow([*cells, *(value - values[0] for value in values[1:])])
    return out.getvalue()


def _text(value: str) -> str:
    return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
