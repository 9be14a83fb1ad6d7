"""The events of a suite's report, and the items of the inventory: in which cells they changed by
more than the instructions."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.forms import columns as table
from profdiff.forms.columns import Column
from profdiff.views.suite.records import (
    SuiteCell,
    SuiteCellEvent,
    SuiteDocument,
    SuiteEvent,
    SuiteSummary,
)

# So many events have a name in the line below the table.
_NAMED = 6


class _Kind(NamedTuple):
    """``cells``: of each so many cells have a row; ``than``: by how much more than the instructions
    they changed; ``changed``: in how many cells some did, of how many."""

    noun: str
    title: str
    than: str
    cells: int
    over: Callable[[SuiteDocument], list[SuiteEvent]]
    of: Callable[[SuiteCell], dict[str, list[SuiteCellEvent]]]
    changed: Callable[[SuiteSummary], tuple[int, int]]


_KINDS = (
    _Kind(
        "event",
        "events of the workload that changed by more than the instructions, per op",
        "more",
        3,
        lambda document: document.events,
        lambda cell: cell.events,
        lambda one: (one.events, one.events_known),
    ),
    _Kind(
        "item",
        "items of the inventory that changed more than twice as far as the instructions, per op",
        "much more",
        1,
        lambda document: document.items,
        lambda cell: cell.items,
        lambda one: (one.items, one.items_known),
    ),
)


def lines(document: SuiteDocument, labels: Sequence[str], width: int, top: int) -> list[str]:
    """Rows of at most ``top`` events, then of as many items, the cells with the largest differences
    first, and a line for each kernel of ``labels``. Nothing where none is known."""
    return [line for kind in _KINDS for line in _lines(kind, document, labels, width, top)]


def _lines(
    kind: _Kind, document: SuiteDocument, labels: Sequence[str], width: int, top: int
) -> list[str]:
    told = [line for label in labels for line in _told(kind, document, label)]
    events = [one for one in kind.over(document) if any(_cells(one, label) for label in labels)]
    rows, hidden = [], 0
    for event in events[:top]:
        found = _changed(kind, document, event.event, labels)
        hidden += max(len(found) - kind.cells, 0)
        rows += [_row(event, cell, of, labels) for cell, of in found[: kind.cells]]
    if hidden:
        told.append(f"not shown: {hidden:,} more of these rows (--csv and --json have all)")
    if len(events) > top:
        more = units.counted(len(events) - top, kind.noun)
        told.append(f"not shown: {more} (--top {len(events)})")
    columns = [Column(kind.noun, name=True), Column("cell", name=True)]
    columns += [Column(label) for label in (document.kernels[0].label, *labels)]
    columns.append(Column("op", name=True, spare=1))
    drawn = ["", *table.joined(table.draw(kind.title, columns, rows, width))] if rows else []
    return [*drawn, *([""] if told else []), *(o for t in told for o in units.wrap(t, width, 2))]


def _told(kind: _Kind, document: SuiteDocument, label: str) -> list[str]:
    """In how many cells which events changed."""
    summary = next(one for one in document.summaries if one.kernel == label)
    changed, known = kind.changed(summary)
    if not known:
        return []
    names = [f"{one.event} {n:,}" for one in kind.over(document) if (n := _cells(one, label))]
    what = f": {units.few(names, _NAMED)}" if names else ""
    cells = units.counted(known, "cell")
    than = f"changed by {kind.than} than the instructions in {changed:,} of {cells}"
    return [f"{label}: {kind.noun}s {than}{what}"]


def _cells(event: SuiteEvent, label: str) -> int:
    return event.more.get(label, 0) + event.fewer.get(label, 0)


def _changed(
    kind: _Kind, document: SuiteDocument, event: str, labels: Sequence[str]
) -> list[tuple[SuiteCell, dict[str, SuiteCellEvent]]]:
    found = []
    for cell in document.cells:
        every = {label: _of(kind.of(cell).get(label, ()), event) for label in labels}
        if of := {label: one for label, one in every.items() if one is not None}:
            largest = max(abs(one.value - one.base) for one in of.values())
            found.append((-largest, cell.name, cell, of))
    found.sort(key=lambda one: one[:2])
    return [(cell, of) for *_, cell, of in found]


def _of(some: Sequence[SuiteCellEvent], event: str) -> SuiteCellEvent | None:
    return next((one for one in some if one.event == event), None)


def _row(
    event: SuiteEvent, cell: SuiteCell, of: dict[str, SuiteCellEvent], labels: Sequence[str]
) -> list[str]:
    base = next(iter(of.values())).base
    values = [base, *(of[label].value if label in of else None for label in labels)]
    shown = ["" if one is None else units.count(one, per_op=cell.per_op) for one in values]
    return [event.event, cell.name, *shown, cell.op if cell.per_op else "(whole)"]
