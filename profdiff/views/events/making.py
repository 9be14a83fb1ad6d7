"""The record of the events of the kernels."""

from collections.abc import Sequence

from profdiff import __version__
from profdiff.base.errors import InputError
from profdiff.evidence.events import EventChange, EventRow, EventTable, exact_comparison
from profdiff.profile.comparison import Comparison
from profdiff.profile.events.counts import EventCount
from profdiff.session.session import Session
from profdiff.views.events.records import SCHEMA, Change, EventsDocument, KernelSide, Row, Told
from profdiff.views.record import by_label


def build(comparisons: Sequence[Comparison], session: Session | None) -> EventsDocument:
    """Raises InputError where nothing is known, SessionError where what is kept is damaged."""
    comparison = exact_comparison(comparisons)
    table, labels = EventTable(comparison, session), comparison.labels
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
        told_apart=table.told_apart,
        rows=[_row(labels, row) for row in table.rows],
    )


def known(comparisons: Sequence[Comparison], session: Session | None) -> EventsDocument | None:
    """The same; None where nothing is known. Raises SessionError."""
    try:
        return build(comparisons, session)
    except InputError:
        return None


def _row(labels: Sequence[str], row: EventRow) -> Row:
    return Row(
        event=row.event.name,
        about=row.event.about,
        is_what=row.event.told,
        context=row.context,
        counts=by_label(labels, row.counts),
        changes=by_label(labels[1:], map(_change, row.changes)),
        told=by_label(labels, map(_told, row.told)),
    )


def _change(one: EventChange | None) -> Change | None:
    if one is None:
        return None
    return Change(
        delta=one.delta, low=one.low, high=one.high, verdict=one.verdict, states=one.states
    )


def _told(one: EventCount | None) -> Told | None:
    if one is None:
        return None
    return Told(
        functions=list(one.way.functions),
        source=one.way.source,
        looked_up=one.looked_up,
        inlined=one.inlined,
    )
