"""What probes read, as text: a histogram for each, side by side."""

from profdiff.evidence.findings import Findings
from profdiff.reports.numbers import Numbers
from profdiff.reports.table import Block, Column, draw
from profdiff.views.results.probes import Bucket, ProbedVariable, probed


def render(findings: Findings, numbers: Numbers, width: int) -> list[Block | str]:
    """A table for each probe, and what it lacks; nothing where none was recorded."""
    parts: list[Block | str] = []
    for one in probed(findings):
        parts += _one(one, numbers, width)
    return parts


def _one(one: ProbedVariable, numbers: Numbers, width: int) -> list[Block | str]:
    labels = list(one.calls)
    notes = [f"{'; '.join(one.notes)}."] if one.notes else []
    if not labels:
        return [f"{one.function} {one.variable}: {note}" for note in notes]
    columns = [
        Column(one.variable, name=True),
        *(Column(label, part=part) for part, label in enumerate(labels)),
        *(Column(f"delta {label}", part=part) for part, label in list(enumerate(labels))[1:]),
    ]
    rows = [[_span(row), *_row(list(row.calls.values()), numbers)] for row in one.histogram]
    if any(one.others.values()):
        rows.append(["others", *_row(list(one.others.values()), numbers)])
    if any(one.unread.values()):
        rows.append(["not known", *_row(list(one.unread.values()), numbers)])
    rows.append(["all calls", *_row(list(one.calls.values()), numbers)])
    title = f"{one.function} {one.variable}, calls{numbers.title}"
    return [*draw(title, columns, rows, width), *notes]


def _span(row: Bucket) -> str:
    return f"{row.low:,}" if row.low == row.high else f"{row.low:,} to {row.high:,}"


def _row(values: list[int], numbers: Numbers) -> list[str]:
    return [
        *map(numbers.count, values),
        *(numbers.delta(value - values[0]) for value in values[1:]),
    ]
