"""Events as rows: how often each happened on each kernel."""

from collections.abc import Iterator

from profdiff.evidence.findings import Findings
from profdiff.views.events.making import build
from profdiff.views.record import Record


class EventCountRow(Record, frozen=True):
    """An event on a kernel, in the workload's own ``context`` or beside it. ``about``: which events
    it stands among; ``meaning``: what happens. ``count``: in the whole window, None where it is not
    known. ``delta`` to the base, with ``low`` and ``high`` of what boots or states show, is None of
    the base itself, and where it is not known. ``functions``: those whose entries are counted,
    None where the kernel has none of them."""

    kernel: str
    event: str
    about: str
    meaning: str
    context: str
    count: int | None
    delta: int | None
    low: int | None
    high: int | None
    verdict: str | None
    states: int | None
    functions: str | None


_OF_CHANGE = ("delta", "low", "high", "verdict", "states")


def event_rows(findings: Findings) -> Iterator[EventCountRow]:
    """All events, of each all kernels, the base first. Raises InputError where nothing is known."""
    for row in build(findings).rows:
        for label, count in row.counts.items():
            change, told = row.changes.get(label), row.told[label]
            yield EventCountRow(
                kernel=label,
                event=row.event,
                about=row.about,
                meaning=row.is_what,
                context=row.context,
                count=count,
                **{name: getattr(change, name, None) for name in _OF_CHANGE},
                functions=None if told is None else " ".join(told.functions),
            )
