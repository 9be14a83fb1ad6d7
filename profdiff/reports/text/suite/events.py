"""The events of a suite's report: in which cells they changed by more than the instructions."""

from collections.abc import Sequence

from profdiff.base import units
from profdiff.forms import columns as table
from profdiff.forms.columns import Column
from profdiff.views.suite.records import SuiteCell, SuiteCellEvent, SuiteDocument, SuiteEvent

_TITLE = "events of the workload that changed by more than the instructions, per op"
# So many cells of each event have a row, and so many events a name in the line below.
_CELLS, _NAMED = 3, 6


def lines(document: SuiteDocument, labels: Sequence[str], width: int, top: int) -> list[str]:
    """Rows of at most ``top`` events, the cells with the largest differences first, and a line for
    each kernel of ``labels``. Nothing where no event is known."""
    told = [line for label in labels for line in _told(document, label)]
    events = [one for one in document.events if any(_cells(one, label) for label in labels)]
    rows, hidden = [], 0
    for event in events[:top]:
        found = _changed(document, event.event, labels)
        hidden += max(len(found) - _CELLS, 0)
        rows += [_row(event, cell, of, labels) for cell, of in found[:_CELLS]]
    if hidden:
        told.append(f"not shown: {hidden:,} more of these rows (--csv and --json have all)")
    if len(events) > top:
        told.append(f"not shown: {units.counted(len(events) - top, 'event')} (--top {len(events)})")
    columns = [Column("event", name=True), Column("cell", name=True)]
    columns += [Column(label) for label in (document.kernels[0].label, *labels)]
    columns.append(Column("op", name=True, spare=1))
    drawn = ["", *table.joined(table.draw(_TITLE, columns, rows, width))] if rows else []
    return [*drawn, *([""] if told else []), *(o for t in told for o in units.wrap(t, width, 2))]


def _told(document: SuiteDocument, label: str) -> list[str]:
    """In how many cells which events changed."""
    summary = next(one for one in document.summaries if one.kernel == label)
    if not summary.events_known:
        return []
    names = [f"{one.event} {n:,}" for one in document.events if (n := _cells(one, label))]
    what = f": {units.few(names, _NAMED)}" if names else ""
    cells = units.counted(summary.events_known, "cell")
    told = f"{label}: events changed by more than the instructions in {summary.events:,} of {cells}"
    return [told + what]


def _cells(event: SuiteEvent, label: str) -> int:
    return event.more.get(label, 0) + event.fewer.get(label, 0)


def _changed(
    document: SuiteDocument, event: str, labels: Sequence[str]
) -> list[tuple[SuiteCell, dict[str, SuiteCellEvent]]]:
    found = []
    for cell in document.cells:
        every = {label: _of(cell, label, event) for label in labels}
        if of := {label: one for label, one in every.items() if one is not None}:
            largest = max(abs(one.value - one.base) for one in of.values())
            found.append((-largest, cell.name, cell, of))
    found.sort(key=lambda one: one[:2])
    return [(cell, of) for *_, cell, of in found]


def _of(cell: SuiteCell, label: str, event: str) -> SuiteCellEvent | None:
    return next((one for one in cell.events.get(label, ()) if one.event == event), None)


def _row(
    event: SuiteEvent, cell: SuiteCell, of: dict[str, SuiteCellEvent], labels: Sequence[str]
) -> list[str]:
    base = next(iter(of.values())).base
    values = [base, *(of[label].value if label in of else None for label in labels)]
    shown = ["" if one is None else units.count(one, per_op=cell.per_op) for one in values]
    return [event.event, cell.name, *shown, cell.op if cell.per_op else "(whole)"]
