"""How long calls of traced functions took, as text: the kernels' histograms side by side."""

from profdiff.evidence.findings import Findings
from profdiff.reports.table import Block, Column, draw
from profdiff.views.results.traces import Trace, traces

# Of the longest bar.
_WIDTH = 20


def render(findings: Findings, width: int) -> list[Block]:
    """A table for each function; nothing where nothing was traced."""
    labels = [kernel.label for kernel in findings.kernels]
    return [block for one in traces(findings) for block in _table(one, labels, width)]


def _table(trace: Trace, labels: list[str], width: int) -> list[Block]:
    most = max((count for row in trace.rows for count in row.calls.values()), default=1)
    rows = [
        [
            f"{row.low:,}",
            *(f"{row.calls[label]:,}" for label in labels),
            *("#" * -(-_WIDTH * row.calls[label] // most) for label in labels),
        ]
        for row in trace.rows
    ]
    columns = [Column("from"), *map(Column, labels)]
    columns += [Column(label, name=True) for label in labels]
    return draw(trace.title, columns, rows, width)
