"""The event that changed most, in one sentence."""

import math

from profdiff.base import units
from profdiff.views.events.records import EventDelta, EventRow, EventsDocument

# In how many operations an event is to happen once more or less, to be named.
_OFTEN = 100


def sentence(document: EventsDocument, label: str) -> str:
    """The event of the workload's own context that changed most on a kernel, of those that changed
    for certain, and by more than the instructions did; "" where none is."""
    found = largest(document, label)
    if found is None:
        return ""
    base = document.labels[0]
    before, behind = found.counts[base] or 0, found.counts[label] or 0
    change = f" ({units.change(before, behind)})" if before else ""
    return units.printable(
        f"{label} has {_count(document, behind)} {found.event}{' per op' if document.ops else ''} "
        f"where {base} has {_count(document, before)}{change}: {found.is_what}."
    )


def largest(document: EventsDocument, label: str) -> EventRow | None:
    """The row that ``sentence`` names."""
    first, other = document.kernels[0], document.kernels[document.labels.index(label)]
    least = _far(first.instructions, other.instructions)
    found, most = None, 0
    for row in document.of("own"):
        change = row.changes[label]
        if change is None or not _counts(document, change):
            continue
        far = _far(row.counts[first.label] or 0, row.counts[label] or 0)
        if far > least and abs(change.delta) > most:
            found, most = row, abs(change.delta)
    return found


def _counts(document: EventsDocument, change: EventDelta) -> bool:
    """Whether a change is certain, and not too small to be named."""
    return change.verdict == "exact" and abs(change.delta) * _OFTEN >= (document.ops or 1)


def _far(base: int, other: int) -> float:
    """How far two counts are from each other, as a logarithm of their ratio."""
    if base == other:
        return 0.0
    return abs(math.log(other / base)) if base > 0 and other > 0 else math.inf


def _count(document: EventsDocument, value: int) -> str:
    if not document.ops:
        return units.count(value)
    return units.count(value / document.ops, per_op=True)
