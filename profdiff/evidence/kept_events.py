"""The events of the workload that changed by more than its instructions, and the items of the
inventory that changed by much more, from a session's file."""

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from profdiff.evidence.difference import Difference
from profdiff.evidence.events import FEW, MUCH, ChangedEvent, change, outweighing
from profdiff.evidence.outside_workload import larger
from profdiff.profile.code.classes import ITEMS
from profdiff.profile.events import Event, by_name
from profdiff.profile.kept_events import EventsAtSetting, KeptEvents
from profdiff.session.points import Setting
from profdiff.session.states import StateChange


@cache
def item_events() -> Mapping[str, Event]:
    """The items of the inventory by name, each as the event that such an instruction runs."""
    return {item.name: Event(item.name, "inventory", item.about, ()) for item in ITEMS.values()}


def cell_changes(
    kept: KeptEvents,
    setting: Setting,
    totals: Mapping[str, int],
    base: str,
    ops: int,
    state: int = 0,
    *,
    floors: Mapping[str, float | None] | None = None,
) -> dict[str, list[ChangedEvent]]:
    """By label of each kernel but ``base`` of which events are known, those whose change is
    certain, as ``EventTable.largest`` has it, the largest first. ``totals``: the instructions of
    the kernels that are compared, in a ``state``. With ``floors``, by label how many instructions
    per op timer ticks can be: the same of items, as ``Inventory.largest`` has them, those that cost
    most first."""
    known, times = (by_name(), 1.0) if floors is None else (item_events(), MUCH)
    here = kept.at(setting.point, state)
    if here is None:
        return {}
    columns = {label: kept.labels.index(label) for label in totals if label in kept.labels}
    few = FEW + max((int(here.interrupts[one]) for one in columns.values()), default=0)
    others = [one for one in (0, *kept.states(setting.point)) if one != state]
    varied = [kept.at(setting.point, other) for other in others]
    states = [one for one in varied if one is not None]
    found: dict[str, list[ChangedEvent]] = {}
    for label, column in columns.items():
        if label == base or base not in columns:
            continue
        pair = columns[base], column
        counts = _both(here, pair, [one if one in known else "" for one in kept.events])
        if not counts:
            continue
        floor = larger(floors.get(one) for one in (base, label)) if floors else None
        chance = max(few, round((floor or 0) * ops))
        found[label] = []
        for name in outweighing(counts, (totals[base], totals[label]), ops, times):
            event, place = known[name], kept.events.index(name)
            one = _change(here, states, pair, place, 0 if event.chance else chance)
            if one is None or one.verdict != "exact":
                continue
            before, after = counts[name]
            # Several states have shown what ticks do, but not that so few are no chance. Of two
            # lengths, a count can be less than nothing.
            seldom = one.states > 1 and abs(one.delta) <= few
            if floors is not None and (seldom or min(before, after) < 0):
                continue
            found[label].append(ChangedEvent(event, before / ops, after / ops, one.states))
        if floors is not None:
            found[label].sort(key=lambda changed: not ITEMS[changed.event.name].costly)
    return found


def _both(
    here: EventsAtSetting, pair: tuple[int, int], names: Sequence[str]
) -> dict[str, tuple[int, int]]:
    """How often each event of ``names`` but "" happened that is known of a pair of kernels."""
    base, other = pair
    counts = here.counts[:, :, 0]
    known = here.known[base] & here.known[other]
    return {
        names[place]: (int(counts[base, place]), int(counts[other, place]))
        for place in np.flatnonzero(known).tolist()
        if names[place]
    }


def _change(
    here: EventsAtSetting,
    states: Sequence[EventsAtSetting],
    pair: tuple[int, int],
    place: int,
    few: int,
) -> Difference | None:
    base, other = (here.spread(kernel, place) for kernel in pair)
    if base is None or other is None:
        return None
    seen = []
    for state in states:
        counts = [one.picked for kernel in pair if (one := state.spread(kernel, place))]
        seen += [StateChange(*map(float, counts))] if len(counts) == len(pair) else []
    return change(base, other, few, lambda: seen)
