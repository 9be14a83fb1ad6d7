"""The events of the kernel that changed, where one did by more than the instructions."""

from profdiff.evidence.findings import Findings
from profdiff.mail.letter import Part, Section
from profdiff.mail.tables import WIDTH, table
from profdiff.reports.numbers import Numbers
from profdiff.reports.table import Column, draw

_MOST = 6


def section(findings: Findings, label: str, at: str) -> Section:
    """What is certain to have changed of the workload's own events, the largest first; nothing
    where no event is worth a sentence. ``at``: which figures these are."""
    events = findings.events
    if isinstance(events, str) or label not in events.labels[1:]:
        return Section("", [])
    kernel = events.labels.index(label)
    if events.largest(kernel) is None:
        return Section("", [])
    numbers = Numbers(events.comparison.ops)
    found: list[tuple[int, list[str]]] = []
    for row in events.rows:
        change, (first, other) = row.changes[kernel - 1], (row.counts[0], row.counts[kernel])
        if row.context != "own" or change is None or first is None or other is None:
            continue
        if change.delta and change.verdict == "exact":
            told = [*map(numbers.count, (first, other)), numbers.delta(change.delta)]
            told += [numbers.change(first, other), row.event.name]
            found.append((abs(change.delta), told))
    found.sort(key=lambda one: -one[0])
    columns = [Column(events.labels[0]), Column(label), Column("delta"), Column("change", spare=1)]
    columns.append(Column("event", name=True))
    each = f" per op ({numbers.ops:,} ops)" if numbers.ops else ""
    title = f"Events of the kernel that changed{at}{each}:"
    blocks = draw(title, columns, [told for _, told in found[:_MOST]], WIDTH)
    return Section("", list[Part](map(table, blocks)))
