"""The records of the events of a suite's cells, and of items of the inventory."""

from collections import Counter
from collections.abc import Mapping, Sequence

from profdiff.evidence.events import ChangedEvent
from profdiff.profile.events.table import Event
from profdiff.views.suite.records import SuiteCellEvent, SuiteEvent

# By label of each kernel of which they are known.
Changed = Mapping[str, Sequence[ChangedEvent]]


def of_cell(changed: Changed, labels: Sequence[str]) -> dict[str, list[SuiteCellEvent]]:
    """Those of a cell; labels in the order of the kernels."""
    return {
        label: [of_kernel(found) for found in changed[label]]
        for label in labels
        if label in changed
    }


def over_cells(
    cells: Sequence[Changed], others: Sequence[str], known: Mapping[str, Event]
) -> list[SuiteEvent]:
    """Those of ``known`` that changed in some cell; ``others``: the kernels but the base."""
    more, fewer = ({label: _cells(cells, label, way) for label in others} for way in (True, False))
    found = [
        SuiteEvent(
            event=event.name,
            is_what=event.told,
            more={label: more[label][event.name] for label in others},
            fewer={label: fewer[label][event.name] for label in others},
        )
        for event in known.values()
        if any(by[label][event.name] for by in (more, fewer) for label in others)
    ]
    last = others[-1:]
    return sorted(found, key=lambda one: -sum(one.more[at] + one.fewer[at] for at in last))


def _cells(cells: Sequence[Changed], label: str, more: bool) -> Mapping[str, int]:
    """By event in how many cells a kernel has more of it, or fewer."""
    return Counter(
        found.event.name
        for one in cells
        for found in one.get(label, ())
        if (found.other > found.base) == more
    )


def of_kernel(found: ChangedEvent) -> SuiteCellEvent:
    """One of a cell on a kernel."""
    return SuiteCellEvent(
        event=found.event.name, base=found.base, value=found.other, states=found.states
    )
