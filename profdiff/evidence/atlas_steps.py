"""What a cell costs more or less on a release than on the one before, and what made it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from profdiff.base.errors import ProfdiffError
from profdiff.base.metric import EXACT
from profdiff.evidence.atlas import (
    AtlasSource,
    CellValue,
    ReleaseSeries,
    command,
    events_of,
    functions_of,
    release_key,
    series_key,
    shown_alike,
)
from profdiff.evidence.cell_functions import LARGEST, CellFunction, FunctionKey
from profdiff.evidence.events import ChangedEvent
from profdiff.evidence.kept_events import cell_changes
from profdiff.evidence.outside_workload import larger, within_ticks
from profdiff.evidence.state_changes import Seen
from profdiff.evidence.statistics import Rule, Verdict
from profdiff.evidence.suite_cells import CellChange, SuiteCell
from profdiff.session import bisection
from profdiff.session.bisection import Revision
from profdiff.session.states import StateChange

_RULE = Rule()


class Culprit(NamedTuple):
    """The commit that made a step, as the bisection in a source found it."""

    revision: Revision
    source: int


class ReleaseStep(NamedTuple):
    """From the release ``since`` to ``at``, which follow each other on the cell's line: from
    ``before`` to ``after``, which are of one recording if any has both. ``functions``: those that
    made most of it, of relevant steps; ``seat``: of the change, where one recording knows it;
    ``events``: the three of the workload that changed most, by more than the instructions;
    ``items``: those of the inventory, by much more.
    ``suspects``: commits that bisections found between these releases, but on another machine, the
    other way, or more than one. ``programs_differ``: the files of the workload are known to be
    others."""

    since: int
    at: int
    before: CellValue
    after: CellValue
    change: CellChange
    relevant: bool
    functions: Sequence[CellFunction]
    seat: CellFunction | None
    events: Sequence[ChangedEvent]
    items: Sequence[ChangedEvent]
    culprit: Culprit | None
    suspects: Sequence[Culprit]
    programs_differ: bool


def steps(
    one: ReleaseSeries, cell: str, threshold: float, sources: Sequence[AtlasSource]
) -> dict[int, ReleaseStep]:
    """The steps of a cell's line, by the release that they lead to."""
    line = one.lines[cell]
    known = [number for number in sorted(line) if line[number][0].value is not None]
    found: dict[int, ReleaseStep] = {}
    for place, at in enumerate(known[1:], 1):
        since = _since(one, known[:place], at)
        before, after = _pair(line[since], line[at])
        change = _change(before, after)
        relevant = change.relevant(threshold)
        functions: Sequence[CellFunction] = ()
        seat, happened, items = None, list[ChangedEvent](), list[ChangedEvent]()
        culprit, suspects = None, list[Culprit]()
        if relevant:
            functions, seat = _functions(before, after), _seat(before, after)
            happened, items = _events(before, after)
            releases = one.releases[since].kernel.release, one.releases[at].kernel.release
            culprit, suspects = _culprits(one, after.cell, change.delta, releases, sources)
        found[at] = ReleaseStep(
            since,
            at,
            before,
            after,
            change,
            relevant,
            functions,
            seat,
            happened,
            items,
            culprit,
            suspects,
            _programs_differ(sources, before, after),
        )
    return found


def _since(one: ReleaseSeries, earlier: Sequence[int], at: int) -> int:
    """The release that another is compared with: the one before whose guest was given the same, or
    else the one before."""
    variant = one.releases[at].kernel.variant
    alike = [other for other in earlier if one.releases[other].kernel.variant == variant]
    return (alike or earlier)[-1]


def _pair(before: Sequence[CellValue], after: Sequence[CellValue]) -> tuple[CellValue, CellValue]:
    """The places of one recording, if any has both; else the first ones."""
    for one in before:
        for other in after:
            if one.source == other.source and None not in (one.value, other.value):
                return one, other
    return before[0], after[0]


def _change(before: CellValue, after: CellValue) -> CellChange:
    """Counts that are the same in every boot need no statistics. For others only a session's own
    comparison with its base is more than a guess."""
    old, new = before.value or 0.0, after.value or 0.0
    metric = after.cell.metric
    delta, relative = (metric.kind if metric else EXACT).change(old, new)
    if before.label in before.cell.exact and after.label in after.cell.exact:
        floor = larger(one.cell.tick_floors.get(one.label) for one in (before, after))
        verdict = within_ticks(old, new, floor, _RULE) or Verdict.EXACT
        plain = CellChange(relative, delta, verdict, tick_floor=floor)
        return _in_states(before, after, plain)
    own = after.cell.changes.get(after.label)
    base = next(iter(after.cell.values), None)
    if own is not None and before.source == after.source and before.label == base:
        return own
    return CellChange(relative, delta, Verdict.UNSURE)


def _in_states(before: CellValue, after: CellValue, plain: CellChange) -> CellChange:
    """What the varied states of one recording say. Two recordings have states of their own, so
    that a value that depends on them in one of both is all that is known."""
    if before.source != after.source:
        own = (one.cell.changes.get(one.label) for one in (before, after))
        depends = any(one is not None and one.verdict is Verdict.DEPENDS for one in own)
        return plain._replace(verdict=Verdict.DEPENDS) if depends else plain
    old, new = (one.cell.states.get(one.label, {}) for one in (before, after))
    both = sorted(old.keys() & new.keys())
    if not both:
        return plain
    seen = Seen.of([StateChange(old[number], new[number]) for number in both])
    verdict = Verdict.EXACT if seen.holds else Verdict.DEPENDS
    return plain._replace(verdict=verdict, states=seen.states, low=seen.low, high=seen.high)


def _programs_differ(sources: Sequence[AtlasSource], before: CellValue, after: CellValue) -> bool:
    both = {sources[one.source].programs[one.cell.folder] for one in (before, after)}
    return len(both) == 2 and "" not in both


def _functions(before: CellValue, after: CellValue) -> list[CellFunction]:
    """Those whose own delta goes the way of the whole, the largest first; of two recordings they
    are matched by name. Nothing where a recording does not tell."""
    try:
        if not shown_alike(before.cell, before.label, after.cell, after.label):
            return []
        old, new = _per_op(before), _per_op(after)
    except ProfdiffError:
        return []
    if not old or not new:
        return []
    delta = {key: new.get(key, 0.0) - old.get(key, 0.0) for key in {**old, **new}}
    whole = sum(delta.values())
    way = 1 if whole >= 0 else -1
    largest = sorted(delta.items(), key=lambda pair: (-way * pair[1], pair[0]))[:LARGEST]
    return [
        CellFunction(key, value, value / whole if whole else None)
        for key, value in largest
        if way * value > 0
    ]


def _seat(before: CellValue, after: CellValue) -> CellFunction | None:
    """The seat of the step between neighbours in one recording, or to that recording's base."""
    one, other = before.cell, after.cell
    if (one.folder, one.setting) != (other.folder, other.setting):
        return None
    try:
        counts = functions_of(other)
    except ProfdiffError:
        return None
    found = counts and counts.seats and counts.seats.seat(after.label, before.label)
    if not counts or not found:
        return None
    labels, totals = list(counts.labels), counts.counts.sum(axis=0).tolist()
    whole = totals[labels.index(after.label)] - totals[labels.index(before.label)]
    ops = (other.setting.ops if other.per_op else None) or 1
    key = FunctionKey.of(found.function)
    return CellFunction(key, found.delta / ops, found.delta / whole if whole else None)


def _events(before: CellValue, after: CellValue) -> tuple[list[ChangedEvent], list[ChangedEvent]]:
    """Those that changed most between two kernels of one recording, and items; nothing where it
    does not tell."""
    one, other = before.cell, after.cell
    if (one.folder, one.setting) != (other.folder, other.setting):
        return [], []
    try:
        counts, kept = functions_of(other), events_of(other)
    except ProfdiffError:
        return [], []
    if counts is None or kept is None:
        return [], []
    totals = dict(zip(counts.labels, counts.counts.sum(axis=0).tolist(), strict=True))
    ops = (other.setting.ops if other.per_op else None) or 1
    counted = kept, other.setting, totals, before.label, ops, 0
    both = cell_changes(*counted), cell_changes(*counted, floors=other.tick_floors)
    events, items = (found.get(after.label, [])[:LARGEST] for found in both)
    return events, items


def _per_op(place: CellValue) -> dict[FunctionKey, float]:
    """What each function executed itself per op."""
    counts = functions_of(place.cell)
    if counts is None or place.label not in counts.labels:
        return {}
    ops = (place.cell.setting.ops if place.cell.per_op else None) or 1
    column = list(counts.labels).index(place.label)
    found: dict[FunctionKey, float] = {}
    for function, value in zip(counts.functions, counts.counts[:, column].tolist(), strict=True):
        key = FunctionKey.of(function)
        found[key] = found.get(key, 0.0) + value / ops
    return found


def _culprits(
    one: ReleaseSeries,
    cell: SuiteCell,
    delta: float,
    releases: tuple[str | None, str | None],
    sources: Sequence[AtlasSource],
) -> tuple[Culprit | None, list[Culprit]]:
    """The commit of a bisection that looked in this cell, between these releases, on such a
    machine, and whose commit changed the cell the same way; and those of other bisections in this
    range, which need not have made the step."""
    since, until = map(release_key, releases)
    sure: list[Culprit] = []
    suspects: list[Culprit] = []
    for number, source in enumerate(sources):
        for looked, found, kernels in source.bisections:
            release = kernels.get(bisection.CULPRIT)
            if not _same_cell(cell, looked) or release is None or found.candidates:
                continue
            if since < release_key(release) <= until:
                alike = _same_machine(one, source, looked) and _same_way(delta, looked)
                (sure if alike else suspects).append(Culprit(found.culprit, number))
    # If there are two commits, each can have made a part of the step.
    if len({one.revision.commit for one in sure}) == 1:
        return sure[0], suspects
    return None, [*sure, *suspects]


def _same_machine(one: ReleaseSeries, source: AtlasSource, looked: SuiteCell) -> bool:
    machine = source.machines.get(looked.folder)
    metric = looked.metric or one.metric
    return machine is not None and series_key(machine, looked, metric) == one.apart


def _same_way(delta: float, looked: SuiteCell) -> bool:
    """Whether the culprit changed the cell as the step does; the bisection's session has its parent
    beside it."""
    parent, culprit = (looked.values.get(one) for one in (bisection.PARENT, bisection.CULPRIT))
    return parent is not None and culprit is not None and (culprit - parent) * delta > 0


def _same_cell(one: SuiteCell, other: SuiteCell) -> bool:
    """The same name, or one that a folder's can be, or the same command at this point."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "-", one.name)
    return other.name in (one.name, plain) or command(one) == command(other)
