"""Distinct lines of memory by region, where a session recorded them beside exact counts."""

from collections.abc import Sequence
from typing import NamedTuple

from profdiff.collectors.lines.counts import REGIONS
from profdiff.collectors.lines.entry import LINES, PREFIX
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics import Estimate
from profdiff.shapes.table import Note, Table, by_kernel, of_row, tabulate

NOT_RECORDED = (
    "Distinct lines of memory by region are not known: record with --collector exact,lines."
)
_LEGEND = (
    "Lines of 64 bytes that instructions access in the window, each once: a longer window has "
    "more, but not in proportion. A line that the kernel reuses counts in each region that it was "
    "of, and once in all. What only interrupts and threads of the kernel access is left out. "
    "They are of the plain state: --vary-state does not vary them."
)


class _Region(NamedTuple):
    """``counts``: by kernel; ``changes``: to the base."""

    name: str
    counts: Sequence[int | None]
    changes: Sequence[Estimate | None]


def lines(findings: Findings) -> Table | None:
    """The lines of each region on each kernel; None where none were recorded."""
    labels = findings.results.labels
    number = {label: at for at, label in enumerate(labels)}
    rows = [
        _Region(
            one.metric.name.removeprefix(PREFIX),
            [None if cell.value is None else round(cell.value) for cell in one.cells],
            one.changes,
        )
        for one in findings.results.at(findings.setting)
        if one.metric.kind == LINES
    ]
    if not rows:
        return None

    def difference(row: _Region, label: str) -> Difference | None:
        found = row.changes[number[label]]
        if found is None:
            return None
        base, other = map(round, found.medians)
        low, high = found.deltas or (other - base, other - base)
        return Difference(other - base, low, high, found.verdict, found.states)

    return tabulate(
        [
            *by_kernel(labels, lambda row, label: row.counts[number[label]], difference),
            of_row("region", "name", lambda row: row.name),
            of_row("meaning", "name", lambda row: REGIONS[row.name], title="lines of", spare=1),
        ],
        name="inventory-lines",
        title="distinct lines of memory in the window, by region",
        kernels=labels,
        ops=None,
        rows=[row for row in rows if any(row.counts)],
        hidden=[row for row in rows if not any(row.counts)],
        legend=[Note(_LEGEND)],
        names=1,
    )
