"""The events as CSV: a row for each event in each context, unrounded."""

from collections.abc import Iterator

from profdiff.reports.csv.rows import Line, text, written
from profdiff.views.events.records import EventRow, EventsDocument

_CHANGES = ("delta", "low", "high", "verdict")
_TOLD = ("functions", "looked up")


def render(document: EventsDocument) -> str:
    """All rows; what is not known is blank. Several functions in one cell stand between ``|``."""
    labels = document.labels
    header = ["event", "about", "context", *(f"count {label}" for label in labels)]
    header += [f"{name} {label}" for label in labels[1:] for name in _CHANGES]
    header += [f"{name} {label}" for label in labels for name in _TOLD]
    return written(header, map(_line, document.rows))


def _line(row: EventRow) -> Line:
    counts = ("" if one is None else one for one in row.counts.values())
    return [row.event, row.about, row.context, *counts, *_changes(row), *_told(row)]


def _changes(row: EventRow) -> Iterator[object]:
    for one in row.changes.values():
        yield from ("",) * 4 if one is None else (one.delta, one.low, one.high, one.verdict)


def _told(row: EventRow) -> Iterator[object]:
    for one in row.told.values():
        yield "" if one is None else text("|".join(one.functions))
        yield "" if one is None else "yes" if one.looked_up else "no"
