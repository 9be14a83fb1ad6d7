"""How often events of the workload happened in every cell of a session, and items of the inventory
ran, kept in it."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError, SessionError
from profdiff.profile.cell import Cell
from profdiff.profile.code.classes import (
    CLASSES,
    architecture,
    item_counts,
    item_definitions,
)
from profdiff.profile.events import (
    Beginnings,
    EventCount,
    Spread,
    beginnings,
    by_name,
    definitions,
    event_counts,
    events,
)
from profdiff.profile.kept_cells import KeptCells, Sums, fingerprint
from profdiff.profile.runs import median_run
from profdiff.session.session import Session

# Cells by kernels and events: far more than a session of 10,000 runs has.
_MAX_COUNTS = 1 << 24


def _counted() -> list[str]:
    """Events, then items of the inventory, of which all that is kept is how often they ran."""
    return [*by_name(), *CLASSES]


def _digest() -> str:
    """Identifies how both are told: by other definitions, counts are others."""
    return hashlib.sha256((definitions() + item_definitions()).encode()).hexdigest()


class EventsAtSetting(NamedTuple):
    """What is kept of K kernels and E events in one cell: ``known``, bool[K, E]; ``counts``,
    int64[K, E, 3], as a ``Spread`` has them; ``interrupts``, int64[K], the most that came in a run.
    How events that are known are told, as an ``EventCount`` has it: ``way``, uint8[K, E], the
    number of an event's way; ``inlined`` and ``looked_up``, bool[K, E]; ``beside``,
    int64[K, E, 3], where ``beside_known``, bool[K, E]."""

    known: NDArray[np.bool_]
    counts: NDArray[np.int64]
    interrupts: NDArray[np.int64]
    way: NDArray[np.uint8]
    inlined: NDArray[np.bool_]
    looked_up: NDArray[np.bool_]
    beside: NDArray[np.int64]
    beside_known: NDArray[np.bool_]

    @staticmethod
    def empty(kernels: int) -> "EventsAtSetting":
        """Nothing is known."""
        shape = kernels, len(_counted())
        known, counts = np.zeros(shape, np.bool_), np.zeros((*shape, 3), np.int64)
        return EventsAtSetting(
            known=known,
            counts=counts,
            interrupts=np.zeros(kernels, np.int64),
            way=np.zeros(shape, np.uint8),
            inlined=known.copy(),
            looked_up=known.copy(),
            beside=counts.copy(),
            beside_known=known.copy(),
        )

    def set(self, kernel: int, event: int, count: EventCount) -> None:
        """Tell one event of a kernel."""
        at = kernel, event
        self.known[at], self.counts[at] = True, count.own
        self.way[at] = events()[event].ways.index(count.way)
        self.inlined[at], self.looked_up[at] = count.inlined, count.looked_up
        if count.beside is not None:
            self.beside[at], self.beside_known[at] = count.beside, True

    def spread(self, kernel: int, event: int) -> Spread | None:
        """None where it is not known."""
        if not self.known[kernel, event]:
            return None
        return Spread(*self.counts[kernel, event].tolist())


class KeptEvents(KeptCells, frozen=True):
    """``table``: by which definitions (``_digest``); ``events``: their names, and those of items.
    The others are of S cells, as ``EventsAtSetting`` has them of one."""

    NAME: ClassVar[str] = "events"
    SHAPES: ClassVar[Mapping[str, Sequence[int | str]]] = {
        **KeptCells.SHAPES,
        **dict.fromkeys(
            ("known", "way", "inlined", "looked_up", "beside_known"), ("point", "labels", "events")
        ),
        **dict.fromkeys(("counts", "beside"), ("point", "labels", "events", 3)),
        "interrupts": ("point", "labels"),
    }

    table: str
    events: list[str]
    known: NDArray[np.bool_]
    counts: NDArray[np.int64]
    interrupts: NDArray[np.int64]
    way: NDArray[np.uint8]
    inlined: NDArray[np.bool_]
    looked_up: NDArray[np.bool_]
    beside: NDArray[np.int64]
    beside_known: NDArray[np.bool_]

    def fits(self, session: Session) -> bool:
        return self.table == _digest() and super().fits(session)

    def check(self) -> None:
        super().check()
        if len(set(self.events)) != len(self.events):
            raise ValueError("an event twice")
        most = self.way.max(axis=(0, 1), initial=0).tolist()
        for name, number in zip(self.events, most, strict=True):
            if (event := by_name().get(name)) and number >= len(event.ways):
                raise ValueError(f"{name} has no way {number}")

    def at(self, point: int, state: int = 0) -> EventsAtSetting | None:
        """At the setting with that point in a state; None where nothing is."""
        row = self.row(point, state)
        return (
            None
            if row is None
            else EventsAtSetting(*(getattr(self, name)[row] for name in EventsAtSetting._fields))
        )

    def event_counts(self, here: EventsAtSetting, label: str) -> dict[str, EventCount]:
        """What ``counts.event_counts`` has of a kernel."""
        kernel = self.labels.index(label)
        found = {}
        for place, name in enumerate(self.events):
            own, event = here.spread(kernel, place), by_name().get(name)
            if own and event:
                at = kernel, place
                found[name] = EventCount(
                    way=event.ways[int(here.way[at])],
                    own=own,
                    beside=Spread(*here.beside[at].tolist()) if here.beside_known[at] else None,
                    inlined=bool(here.inlined[at]),
                    looked_up=bool(here.looked_up[at]),
                )
        return found


class EventSums(Sums):
    """How often events happened, counted cell by cell."""

    kept = KeptEvents

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._found: dict[tuple[int, int], EventsAtSetting] = {}
        self._begins: dict[str, Beginnings] = {}

    def add(self, cell: Cell) -> None:
        """What is damaged costs its own events alone."""
        here = self._found[cell.setting.point, cell.state] = EventsAtSetting.empty(len(cell.runs))
        for kernel, (label, (_, long)) in enumerate(cell.runs.items()):
            came = [run.instructions.interrupts or 0 for run in long if run.instructions]
            here.interrupts[kernel] = max(came, default=0)
            with suppress(InputError, SessionError):
                items = _items(cell, label) if long else {}
                for place, name in enumerate(_counted()):
                    if ran := items.get(name):
                        here.known[kernel, place], here.counts[kernel, place] = True, ran
            with suppress(InputError, SessionError):
                counts = self._counts(cell, label) if long else {}
                for place, event in enumerate(events()):
                    if one := counts.get(event.name):
                        here.set(kernel, place, one)

    def _counts(self, cell: Cell, label: str) -> Mapping[str, EventCount]:
        first = cell.runs[label][1][0]
        if label not in self._begins:
            self._begins[label] = beginnings(self.session, first)
        begins = self._begins[label]
        if not begins:
            return {}
        addresses = cell.addresses(label)
        # A varied state is told by its first run.
        picked = 0 if cell.state else median_run(addresses.counts[:, :, 0].sum(axis=0))
        return event_counts(self.session, first, addresses, begins, picked)

    def sum(self) -> KeptEvents | None:
        found, labels = list(self._found.values()), [one.label for one in self.session.compared]
        if len(found) * len(labels) * len(_counted()) > _MAX_COUNTS:
            return None
        if not any(here.known.any() for here in found):
            return None
        return KeptEvents(
            runs=fingerprint(self.session),
            table=_digest(),
            labels=labels,
            events=_counted(),
            point=np.array([point for point, _ in self._found], np.int64),
            state=np.array([state for _, state in self._found], np.uint32),
            **{
                name: np.stack([getattr(one, name) for one in found])
                for name in EventsAtSetting._fields
            },
        )


def _items(cell: Cell, label: str) -> dict[str, Spread]:
    """How often each item of the inventory ran on a kernel."""
    addresses = cell.addresses(label)
    picked = median_run(addresses.counts[:, :, 0].sum(axis=0))
    counts = item_counts(addresses, architecture(cell.runs[label][1]))
    return {name: Spread.of(one, picked) for name, one in counts.items()}
