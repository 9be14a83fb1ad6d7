"""The event that changed most, in one sentence."""

from profdiff.base import units
from profdiff.evidence.events import EventTable


def sentence(table: EventTable, kernel: int) -> str:
    """The event of the workload that changed most on a kernel, if some event is certain to have
    changed by more than the instructions did; else ""."""
    found = table.largest(kernel)
    if found is None:
        return ""
    ops, labels = table.comparison.ops, table.labels
    before, behind = found.counts[0] or 0, found.counts[kernel] or 0
    first, other = (
        units.count(one / ops, per_op=True) if ops else units.count(one) for one in (before, behind)
    )
    change = f" ({units.change(before, behind)})" if before else ""
    return units.printable(
        f"{labels[kernel]} has {other} {found.event.name}{' per op' if ops else ''} where "
        f"{labels[0]} has {first}{change}: {found.event.told}."
    )
