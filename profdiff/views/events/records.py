"""How often events happened in each kernel, ``profdiff.events/1``: what ``report --events --json``
writes. ``docs/events.md`` explains it.
"""

from typing import Any, Final, Literal

from profdiff.evidence.events import EventVerdict
from profdiff.profile.events.table import Context
from profdiff.views.record import Record, schema_of

SCHEMA: Final = "profdiff.events/1"


class EventFunctions(Record, frozen=True):
    """By the entries of which ``functions`` a kernel tells an event, and in which file of its
    source they are. ``looked_up``: whether somebody looked that up in kernels of its version;
    ``inlined``: whether inlined copies of them are counted."""

    functions: list[str]
    source: str
    looked_up: bool
    inlined: bool


class EventDelta(Record, frozen=True):
    """A kernel's difference to the base. ``low`` and ``high``: the ends of what boots, or varied
    states, show; ``states``: how many states that are, 1 for the plain one alone."""

    delta: int
    low: int
    high: int
    verdict: EventVerdict
    states: int


class EventRow(Record, frozen=True):
    """An event in the workload's own context or beside it. ``about``: which events it stands among;
    ``is_what``: what happens. By label: ``counts`` in the whole window, ``told`` how, and
    ``changes`` of all but the base; None where they are not known."""

    event: str
    about: str
    is_what: str
    context: Context
    counts: dict[str, int | None]
    changes: dict[str, EventDelta | None]
    told: dict[str, EventFunctions | None]

    @property
    def happened(self) -> bool:
        """Whether it did on some kernel."""
        return any(self.counts.values())

    @property
    def known(self) -> bool:
        """Whether it is known of some kernel."""
        return any(one is not None for one in self.counts.values())


class KernelSide(Record, frozen=True):
    """A kernel that is compared. ``instructions``: those of the workload; ``inlines_visible``:
    whether inlined copies of functions are known."""

    label: str
    release: str | None
    instructions: int
    inlines_visible: bool


class EventsDocument(Record, frozen=True):
    """All events in the window, two rows each. ``answers``: a sentence for each kernel but the base
    on which some event changed by more than the instructions did. ``told_apart``: whether what ran
    beside the workload is told from its own context; else all is called its own."""

    schema: Literal["profdiff.events/1"]
    profdiff: str
    kernels: list[KernelSide]
    ops: int | None
    answers: dict[str, str]
    told_apart: bool
    rows: list[EventRow]

    @property
    def labels(self) -> list[str]:
        """The base's first."""
        return [one.label for one in self.kernels]

    def of(self, context: Context) -> list[EventRow]:
        """The events that happened in one context on some kernel."""
        return [row for row in self.rows if row.context == context and row.happened]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``profdiff/events.schema.json`` is a copy."""
    return schema_of(EventsDocument, "profdiff report --events")
