"""The cells of a suite whose change depends on state or on how iterations count, as plain text, and
those whose change was seen in one state alone."""

from collections.abc import Sequence

from profdiff.base import units
from profdiff.evidence.iterations import COUNTED
from profdiff.forms import columns as table
from profdiff.forms.columns import Column
from profdiff.reports.text.suite.rows import Rows, span
from profdiff.views.suite.records import SuiteCell, SuiteDocument

_NAMED = 6


def lines(
    document: SuiteDocument, found: Rows, labels: Sequence[str], width: int, top: int
) -> list[str]:
    """A table of the lowest and the highest change over states; none without such a cell.
    ``labels``: of the kernels beside the base that have room."""
    if not found.depend:
        return []
    least = units.percent(document.threshold, "g")
    title = f"cells whose change depends on state: it is at least {least} in some, not in all"
    columns = [Column("cell", name=True)]
    for part, label in enumerate(labels):
        columns += [Column(label, part=part), Column("states", part=part, spare=2)]
    columns += [Column("op", name=True, spare=3), Column("states differ in", name=True, spare=1)]
    rows = [_row(cell, labels) for cell in found.depend[:top]]
    more = len(found.depend) - top
    return [
        "",
        *table.joined(table.draw(title, columns, rows, width)),
        *([f"not shown: {more:,} more that depend on state"] if more > 0 else []),
    ]


def once(document: SuiteDocument, found: Rows) -> list[str]:
    """A line that names the cells whose change nobody has seen in another state."""
    if not found.once:
        return []
    names = units.few([one.name for one in found.once], _NAMED)
    what = "cell that changed was" if len(found.once) == 1 else "cells that changed were"
    return [f"{len(found.once):,} {what} seen in one state alone: {names}"]


def iterated(document: SuiteDocument, labels: Sequence[str]) -> list[str]:
    """A line that names the cells that change otherwise with each iteration counted."""
    told = []
    for cell in document.cells:
        for label in labels:
            change = cell.changes.get(label)
            if change is not None and change.iterated is not None:
                on = f" on {label}" if len(labels) > 1 else ""
                told.append(f"{cell.name} {units.percent(change.iterated, '+.1f')}{on}")
    return [f"{COUNTED}: {units.few(told, _NAMED)}"] if told else []


def _row(cell: SuiteCell, labels: Sequence[str]) -> list[str]:
    row = [cell.name]
    changes = [cell.changes.get(label) for label in labels]
    for change in changes:
        row += [span(change), f"{change.states:,}"] if change and change.depends else ["", ""]
    names = [change.differs for change in changes if change and change.differs]
    return [*row, cell.op if cell.per_op else "(whole)", next(reversed(names), "")]
