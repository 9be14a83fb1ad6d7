"""The record of the events of the kernels."""

from collections.abc import Sequence

from profdiff import __version__
from profdiff.base.errors import InputError
from profdiff.evidence import events
from profdiff.evidence.findings import Findings
from profdiff.profile.events.counts import EventCount
from profdiff.views.events.records import (
    SCHEMA,
    EventDelta,
    EventFunctions,
    EventRow,
    EventsDocument,
    KernelSide,
)
from profdiff.views.events.sentence import sentence
from profdiff.views.record import by_label


def build(findings: Findings) -> EventsDocument:
    """Raises InputError where nothing is known."""
    table = findings.events
    if isinstance(table, str):
        raise InputError(table)
    comparison, labels = table.comparison, table.labels
    totals = comparison.totals().tolist()
    return EventsDocument(
        schema=SCHEMA,
        profdiff=__version__,
        kernels=[
            KernelSide(
                label=kernel.label, release=kernel.release, instructions=total, inlines_visible=seen
            )
            for kernel, total, seen in zip(
                comparison.kernels, totals, comparison.inlines_visible, strict=True
            )
        ],
        ops=comparison.ops,
        answers={label: sentence(findings, label) for label in findings.changed_events},
        told_apart=table.told_apart,
        rows=[_row(labels, row) for row in table.rows],
    )


def happened(findings: Findings) -> list[EventRow]:
    """The events that happened on some kernel; none where nothing is known."""
    table = findings.events
    if isinstance(table, str):
        return []
    return [row for one in table.rows if (row := _row(table.labels, one)).happened]


def _row(labels: Sequence[str], row: events.EventRow) -> EventRow:
    return EventRow(
        event=row.event.name,
        about=row.event.about,
        is_what=row.event.told,
        context=row.context,
        counts=by_label(labels, row.counts),
        changes=by_label(labels[1:], map(_delta, row.changes)),
        told=by_label(labels, map(_functions, row.told)),
    )


def _delta(one: events.EventChange | None) -> EventDelta | None:
    if one is None:
        return None
    return EventDelta(
        delta=one.delta, low=one.low, high=one.high, verdict=one.verdict, states=one.states
    )


def _functions(one: EventCount | None) -> EventFunctions | None:
    if one is None:
        return None
    return EventFunctions(
        functions=list(one.way.functions),
        source=one.way.source,
        looked_up=one.looked_up,
        inlined=one.inlined,
    )
