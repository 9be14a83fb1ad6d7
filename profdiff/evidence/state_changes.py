"""A change in varied states: whether it holds, and in which function the states differ most."""

import math
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from profdiff.evidence.cell import Cell
from profdiff.evidence.cell_functions import FunctionKey
from profdiff.evidence.statistics import Estimate, Interval, Verdict
from profdiff.profile.kept_functions import FunctionCounts, SelfCounts
from profdiff.session.points import Setting
from profdiff.session.states import StateChange, holds

_SURE = (Verdict.CHANGED, Verdict.EXACT)


def in_states(found: Estimate, base: Mapping[int, float], other: Mapping[int, float]) -> Estimate:
    """What may be said of a change of the plain state after its values in others, by their numbers;
    states that one side lacks say nothing. Where the boots of the plain state leave it open whether
    there is a change, states say nothing either."""
    both = sorted(base.keys() & other.keys())
    if not both or found.verdict not in _SURE:
        return found
    seen = Seen.of([StateChange(*found.medians), *(StateChange(base[n], other[n]) for n in both)])
    found = replace(found, states=seen.states)
    scattered = found.verdict is Verdict.CHANGED
    if not seen.holds:
        found = replace(found, verdict=Verdict.DEPENDS, reason="")
    elif scattered:
        return found
    return replace(
        found,
        median=Interval(found.median.estimate, seen.low, seen.high),
        deltas=seen.deltas,
    )


class Seen(msgspec.Struct, frozen=True):
    """A change in several ``states``. ``low`` and ``high``: the lowest and the highest, as
    fractions of the base, nan where that has nothing in some state; ``deltas``: as differences."""

    states: int
    holds: bool
    low: float
    high: float
    deltas: tuple[float, float]

    @staticmethod
    def of(changes: Sequence[StateChange]) -> "Seen":
        """What at least one change shows, in any order."""
        relative, deltas = (
            [change.relative for change in changes],
            [change.delta for change in changes],
        )
        # min() of what has a nan would depend on the order.
        some = [math.nan] if any(map(math.isnan, relative)) else relative
        ends = min(deltas), max(deltas)
        return Seen(len(changes), holds(changes), min(some), max(some), ends)


def shown_state(cells: Sequence[Cell], changes: Sequence[Estimate | None]) -> int:
    """The state that values are shown in, 0 for the plain one: another one only where a change
    depends on state, of which the one that is furthest apart decides. If all states have it in one
    direction, it is the one that shows least of it, else the one with the (lower) median.
    ``cells``: the base's first; ``changes``: of the others."""
    depend = [
        (one.deltas[1] - one.deltas[0], number)
        for number, one in enumerate(changes, 1)
        if one is not None and one.verdict is Verdict.DEPENDS and one.deltas
    ]
    measured = [cell for cell in cells if cell.boots]
    known = set[int].intersection(*(set(cell.states) for cell in measured)) if measured else set()
    if not depend or not known:
        return 0
    base, other = cells[0], cells[max(depend)[1]]
    found = {0: StateChange(base.plain or 0.0, other.plain or 0.0)}
    found |= {state: StateChange(base.states[state], other.states[state]) for state in known}
    relative = not any(math.isnan(one.relative) for one in found.values())
    sizes = {state: one.relative if relative else one.delta for state, one in found.items()}
    if all(size > 0 for size in sizes.values()) or all(size < 0 for size in sizes.values()):
        return min(sizes, key=lambda state: (abs(sizes[state]), state))
    return sorted(sizes, key=lambda state: (sizes[state], state))[(len(sizes) - 1) // 2]


def differ_most(
    counts: FunctionCounts,
    setting: Setting,
    states: Sequence[int],
    base: str,
    labels: Sequence[str],
) -> dict[str, FunctionKey]:
    """By label of a kernel, the function whose own delta against the base differs most from one
    state to another, the plain one among them. Raises what ``FunctionCounts.at`` does."""
    every = [found for one in (0, *states) if (found := counts.at(setting, one))]
    most = {label: _differs_most(every, base, label) for label in labels}
    return {label: one for label, one in most.items() if one}


def _differs_most(states: Sequence[SelfCounts], base: str, label: str) -> FunctionKey | None:
    """None where it is the same in all. States that lack either kernel are passed over."""
    deltas: list[dict[FunctionKey, int]] = []
    for counts in states:
        if not {base, label} <= set(counts.labels):
            continue
        before, after = (list(counts.labels).index(one) for one in (base, label))
        own = (counts.counts[:, after] - counts.counts[:, before]).tolist()
        found: dict[FunctionKey, int] = {}
        for function, delta in zip(counts.functions, own, strict=True):
            key = FunctionKey.of(function)
            found[key] = found.get(key, 0) + delta
        deltas.append(found)

    def span(key: FunctionKey) -> int:
        some = [one.get(key, 0) for one in deltas]
        return max(some) - min(some)

    every = sorted({key for one in deltas for key in one})
    most = max(every, key=span, default=None)
    return most if most and span(most) else None
