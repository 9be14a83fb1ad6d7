"""Which reads of bytes that nobody writes came to lines that others write, or left them."""

from typing import NamedTuple

from profdiff.reports.sharing.numbers import Numbers
from profdiff.views.sharing.records import Bystander, Row, SharingDocument

# Reads that differ by a smaller share are not told.
_CHANGED = 0.25


class Changed(NamedTuple):
    """``more``: how many more reads a kernel has than the base, per op where that is known."""

    more: float
    row: Row
    read: Bystander


def changed(document: SharingDocument, label: str, numbers: Numbers) -> list[Changed]:
    """Those of one kernel against the base that are certain, on lines that do not depend on the
    schedule, the largest difference first. The base stands against none, with all of its reads."""
    base = document.labels[0]
    found = []
    for row in document.rows:
        if any(row.kernels[one].verdict != "exact" for one in (base, label)):
            continue
        if label != base and row.changes[label].verdict != "exact":
            continue
        for read in row.bystanders:
            if label in read.unsure:
                continue
            theirs, mine = (numbers.each(one, read.reads[one]) for one in (base, label))
            more = theirs if label == base else mine - theirs
            if more and abs(more) >= _CHANGED * max(theirs, mine):
                found.append(Changed(more, row, read))
    return sorted(found, key=lambda one: -abs(one.more))
