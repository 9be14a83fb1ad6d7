"""The events of the workload that changed by more than its instructions, from a session's file."""

from collections.abc import Mapping, Sequence

import numpy as np

from profdiff.evidence.difference import Difference
from profdiff.evidence.events import FEW, ChangedEvent, change, outweighing
from profdiff.profile.events.kept import EventsAtSetting, KeptEvents
from profdiff.profile.events.table import by_name
from profdiff.session.points import Setting
from profdiff.session.states import StateChange


def cell_events(
    kept: KeptEvents,
    setting: Setting,
    totals: Mapping[str, int],
    base: str,
    ops: int,
    state: int = 0,
) -> dict[str, list[ChangedEvent]]:
    """By label of each kernel but ``base`` of which events are known, those whose change is
    certain, as ``EventTable.largest`` has it, the largest first. ``totals``: the instructions of
    the kernels that are compared, in a ``state``."""
    here = kept.at(setting.point, state)
    if here is None:
        return {}
    columns = {label: kept.labels.index(label) for label in totals if label in kept.labels}
    few = FEW + max((int(here.interrupts[one]) for one in columns.values()), default=0)
    others = [one for one in (0, *kept.states(setting.point)) if one != state]
    varied = [kept.at(setting.point, one) for one in others]
    states = [one for one in varied if one is not None]
    found: dict[str, list[ChangedEvent]] = {}
    for label, column in columns.items():
        if label == base or base not in columns:
            continue
        pair = columns[base], column
        if not (here.known[pair[0]] & here.known[column]).any():
            continue
        counts = _both(here, pair, kept.events)
        found[label] = []
        for name in outweighing(counts, (totals[base], totals[label]), ops):
            event, place = by_name()[name], kept.events.index(name)
            one = _change(here, states, pair, place, 0 if event.chance else few)
            if one is not None and one.verdict == "exact":
                before, after = counts[name]
                found[label].append(ChangedEvent(event, before / ops, after / ops, one.states))
    return found


def _both(
    here: EventsAtSetting, pair: tuple[int, int], names: Sequence[str]
) -> dict[str, tuple[int, int]]:
    """How often each event happened that is known of a pair of kernels and differs."""
    base, other = pair
    counts = here.counts[:, :, 0]
    differ = here.known[base] & here.known[other] & (counts[base] != counts[other])
    return {
        names[place]: (int(counts[base, place]), int(counts[other, place]))
        for place in np.flatnonzero(differ).tolist()
        if names[place] in by_name()
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
