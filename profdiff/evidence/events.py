"""Events of the kernel on all kernels of a comparison, and how sure their changes are."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.difference import Difference
from profdiff.evidence.statistics.rule import Verdict
from profdiff.profile.cell import Cell
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.events import (
    Context,
    Event,
    EventCount,
    Spread,
    beginnings,
    by_name,
    event_counts,
    events,
)
from profdiff.profile.kept_events import KeptEvents
from profdiff.session.session import Session
from profdiff.session.states import StateChange, holds

Known = Mapping[str, EventCount]


class RecordedCounts:
    """``plain``: by kernel of a comparison, what is known of each event. Raises InputError where
    nothing is known of some kernel, SessionError where a recording is damaged."""

    def __init__(self, comparison: Comparison, session: Session) -> None:
        self._comparison, self._session = comparison, session
        self._begins = []
        self._read: dict[int, list[Known]] = {}
        self.plain: list[Known] = []
        for kernel, label in enumerate(comparison.labels):
            runs = [run for run in comparison.runs if run.kernel == label]
            picked, addresses = comparison.picked[kernel], comparison.addresses[kernel][0]
            begins = beginnings(session, runs[picked])
            if not begins:
                raise InputError(f"{label}: its kallsyms does not say where its functions are")
            self._begins.append(begins)
            self.plain.append(event_counts(session, runs[picked], addresses, begins, picked))

    def states(self, kernel: int) -> list[Known]:
        """What is known of a kernel in each other state of the session, read once."""
        if kernel not in self._read:
            comparison, session = self._comparison, self._session
            label, collector = comparison.labels[kernel], comparison.runs[0].collector
            every = {run.state for run in session.manifest.runs} - {comparison.runs[0].state}
            self._read[kernel] = found = []
            for state in sorted(every):
                known: Known = {}
                # Of a damaged run, nothing is known.
                with suppress(InputError, SessionError):
                    cell = Cell(session, collector, comparison.setting, state)
                    addresses, begins = cell.addresses(label), self._begins[kernel]
                    known = event_counts(session, cell.runs[label][1][0], addresses, begins, 0)
                found.append(known)
        return self._read[kernel]


class KeptCounts:
    """The same, of a file that tells of all kernels of a comparison."""

    def __init__(self, plain: Sequence[Known], varied: Sequence[Sequence[Known]]) -> None:
        """``varied``: in each varied state, by kernel."""
        self.plain, self._varied = plain, varied

    @staticmethod
    def of(comparison: Comparison, session: Session) -> "KeptCounts | None":
        """None where the session keeps nothing of some kernel."""
        kept, labels, point = KeptEvents.of(session), comparison.labels, comparison.setting.point
        if kept is None or not set(labels) <= set(kept.labels):
            return None
        shown = comparison.runs[0].state
        others = [state for state in (0, *kept.states(point)) if state != shown]
        plain, *varied = (
            [kept.event_counts(here, label) if here else {} for label in labels]
            for here in (kept.at(point, state) for state in (shown, *others))
        )
        return KeptCounts(plain, varied) if all(plain) else None

    def states(self, kernel: int) -> list[Known]:
        """What is known of a kernel in each varied state."""
        return [state[kernel] for state in self._varied]


_NOT_EXACT = "events are known only of exact counts: record with --collector exact"
# What other addresses of a process, and the ends of a window, make of an event in a whole window;
# and each interrupt may make one more, or less.
FEW = 3
# Why no statement about a difference is certain.
REASONS = {
    Verdict.UNSURE: "timer ticks, which task runs first, or where things lie can make the "
    "difference; record --vary-state tells whether it holds",
    Verdict.DEPENDS: "the change depends on state",
}
# How many times as far as the instructions an item of the inventory has to change, to be named.
MUCH = 2.0
# In how many operations an event is to happen once more or less, to be named.
_OFTEN = 100


class ChangedEvent(NamedTuple):
    """How often an event happened per op on the base, and on the other kernel; in all, where ops
    are not known. ``states``: in how many the change was seen."""

    event: Event
    base: float
    other: float
    states: int


class EventRow(msgspec.Struct, frozen=True):
    """An event in one ``context``, of K kernels: ``counts`` of the run that stands for each, None
    where they are not known, ``told`` how, and ``changes`` of all but the base."""

    event: Event
    context: Context
    counts: list[int | None]
    told: list[EventCount | None]
    changes: list[Difference | None]

    @property
    def happened(self) -> bool:
        """Whether it did on some kernel."""
        return any(self.counts)

    @property
    def known(self) -> bool:
        """Whether it is known of some kernel."""
        return any(count is not None for count in self.counts)


class EventTable:
    """``comparison``: of exact counts. Raises InputError where nothing is known of some kernel,
    SessionError where what is kept is damaged."""

    @staticmethod
    def of(comparisons: Sequence[Comparison], session: Session | None) -> "EventTable":
        """That of the first comparison of exact counts. Raises InputError where there is none."""
        found = next((comparison for comparison in comparisons if class_names(comparison)), None)
        if found is None or session is None:
            raise InputError(_NOT_EXACT)
        return EventTable(found, session)

    def __init__(self, comparison: Comparison, session: Session) -> None:
        self.comparison = comparison
        self._known = KeptCounts.of(comparison, session) or RecordedCounts(comparison, session)
        came = [run.instructions.interrupts or 0 for run in comparison.runs if run.instructions]
        self._few = FEW + max(came, default=0)

    @property
    def labels(self) -> list[str]:
        """The base's first."""
        return self.comparison.labels

    def row(self, name: str) -> EventRow:
        """The event of that name, where it happens by its nature. Raises KeyError."""
        event = by_name()[name]
        return self._row(event, event.context)

    @property
    def told_apart(self) -> bool:
        """Whether what ran beside the workload is known, and in no other count."""
        return all(one.beside is not None for (one,) in self.comparison.addresses)

    @cached_property
    def rows(self) -> list[EventRow]:
        """Two for each event, of its own context first."""
        both: tuple[Context, Context] = ("own", "beside")
        return [self._row(event, context) for event in events() for context in both]

    def largest(self, kernel: int) -> ChangedEvent | None:
        """The event of the workload's own context that changed most on a kernel, of those that
        changed for certain, by more than the instructions did, and often enough to be named; None
        where none did. Varied states are read only for what could be it."""
        totals = self.comparison.totals()
        counts = {
            name: (base, other)
            for name, event in by_name().items()
            if (base := self._count(event, "own", 0)) is not None
            and (other := self._count(event, "own", kernel)) is not None
        }
        both = int(totals[0]), int(totals[kernel])
        for name in outweighing(counts, both, self.comparison.ops):
            event = by_name()[name]
            change = self._change(event, "own", kernel)
            if change is not None and change.verdict == Verdict.EXACT:
                before, after = (count / (self.comparison.ops or 1) for count in counts[name])
                return ChangedEvent(event, before, after, change.states)
        return None

    def _count(self, event: Event, context: Context, kernel: int) -> int | None:
        """In the run that stands for a kernel; None where it is not known."""
        spread = self._spread(event, context, kernel)
        return None if spread is None else spread.picked

    def _spread(self, event: Event, context: Context, kernel: int) -> Spread | None:
        return _spread(self._known.plain[kernel].get(event.name), context)

    def _row(self, event: Event, context: Context) -> EventRow:
        told = [known.get(event.name) for known in self._known.plain]
        counts = [self._count(event, context, kernel) for kernel in range(len(told))]
        changes = [self._change(event, context, kernel) for kernel in range(1, len(told))]
        return EventRow(event, context, counts, told, changes)

    def _change(self, event: Event, context: Context, kernel: int) -> Difference | None:
        """How a kernel differs from the base."""
        base, other = (self._spread(event, context, at) for at in (0, kernel))
        if base is None or other is None:
            return None
        few = 0 if event.chance or context == "beside" else self._few
        found = change(base, other, few, lambda: self._in_states(event, context, kernel))
        return found if self.counts_copies(kernel) else replace(found, verdict=Verdict.UNSURE)

    def counts_copies(self, kernel: int) -> bool:
        """Whether inlined copies of functions are known of both the base and a kernel."""
        return self.comparison.inlines_visible[0] and self.comparison.inlines_visible[kernel]

    def _in_states(self, event: Event, context: Context, kernel: int) -> list[StateChange]:
        """The values in each varied state in which both were recorded."""
        pairs = []
        for base, other in zip(self._known.states(0), self._known.states(kernel), strict=True):
            seen = [_spread(one.get(event.name), context) for one in (base, other)]
            counts = [float(one.picked) for one in seen if one is not None]
            if len(counts) == len(seen):
                pairs.append(StateChange(*counts))
        return pairs


def outweighing(
    counts: Mapping[str, tuple[int, int]],
    instructions: tuple[int, int],
    ops: int | None,
    times: float = 1.0,
) -> list[str]:
    """The events that changed by more than ``times`` as far as the instructions did, and often
    enough to be named, the largest difference first. ``counts``, by name, and ``instructions``: of
    both kernels."""
    least = times * _far(*instructions)
    found = {name: abs(other - base) for name, (base, other) in counts.items()}
    some = [
        name
        for name, delta in found.items()
        if _far(*counts[name]) > least and delta * _OFTEN >= (ops or 1)
    ]
    return sorted(some, key=lambda name: -found[name])


def change(
    base: Spread, other: Spread, few: int, states: Callable[[], Sequence[StateChange]]
) -> Difference:
    """The change of an event. ``states``: its values in varied states, asked for only where it
    differs; ``few``: as ``in_one_state`` has it."""
    counts = base.picked, other.picked
    varied = states() if counts[0] != counts[1] else ()
    if varied:
        return in_states([StateChange(*map(float, counts)), *varied])
    return in_one_state(counts, other.low - base.high, other.high - base.low, few)


def in_one_state(counts: tuple[int, int], low: int, high: int, few: int) -> Difference:
    """The change of an event of which the plain state alone is known: of the runs that stand for
    both kernels, ``low`` to ``high`` of all. ``few``: how much of it chance can be, 0 where it can
    be all."""
    delta = counts[1] - counts[0]
    if low == high == 0:
        return Difference(delta, low, high, Verdict.EXACT)
    low, high = low - few, high + few
    if few == 0 or low <= 0 <= high:
        return Difference(delta, low, high, Verdict.UNSURE)
    return Difference(delta, low + few, high - few, Verdict.EXACT)


def in_states(seen: Sequence[StateChange]) -> Difference:
    """The change of an event that was recorded in several states, the plain one first."""
    deltas = [int(one.delta) for one in seen]
    verdict = Verdict.EXACT if holds(seen) else Verdict.DEPENDS
    return Difference(deltas[0], min(deltas), max(deltas), verdict, len(seen))


def _far(base: int, other: int) -> float:
    """How far two counts are from each other, as a logarithm of their ratio."""
    if base == other:
        return 0.0
    return abs(math.log(other / base)) if base > 0 and other > 0 else math.inf


def _spread(one: EventCount | None, context: Context) -> Spread | None:
    """None where it is not known."""
    return None if one is None else one.own if context == "own" else one.beside
