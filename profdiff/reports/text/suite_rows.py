"""The rows of a suite's cells: which there are, in which order, and how states differ."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.evidence.iterations import COUNTED
from profdiff.forms import columns as table
from profdiff.forms.columns import Column
from profdiff.views.suite import SuiteCell, SuiteCellFunction, SuiteChange, SuiteDocument


class Rows(NamedTuple):
    """The cells with a relevant change on some kernel that is shown: those that cost ``more``,
    the largest change first, and those that cost ``less``, the largest decrease first. ``depend``:
    the further ones whose change depends on state, those whose states are furthest apart first.
    ``other``: in how many nothing changed as much; ``unsure``: in how many further ones it may
    have, and nobody knows. ``once``: those with a relevant change that was seen in one state."""

    more: Sequence[SuiteCell]
    less: Sequence[SuiteCell]
    depend: Sequence[SuiteCell]
    other: int
    unsure: int
    once: Sequence[SuiteCell]


def rows(document: SuiteDocument, labels: Sequence[str]) -> Rows:
    """By the change of the last of ``labels`` that has a relevant one. Those follow of which only
    another metric than the suite's has one."""
    more: list[tuple[int, float, SuiteCell]] = []
    less: list[tuple[int, float, SuiteCell]] = []
    depend: list[tuple[float, SuiteCell]] = []
    once: list[SuiteCell] = []
    other = unsure = 0
    for cell in document.cells:
        every = [cell.changes, *(one.changes for one in cell.further)]
        changes = [one[label] for one in every for label in labels if label in one]
        found = ((place, _relevant(one, labels)) for place, one in enumerate(every))
        place, relevant = next((pair for pair in found if pair[1]), (0, []))
        if relevant:
            size = worsening(document, relevant[-1])
            (more if size > 0 else less).append((place, size, cell))
            if any(one.states == 1 and one.verdict == "exact" for one in relevant):
                once.append(cell)
        elif states := [_apart(change) for change in changes if change.depends]:
            depend.append((max(states), cell))
        elif changes:
            unknown = any(change.verdict == "unsure" for change in changes)
            unsure += unknown
            other += not unknown
    more.sort(key=lambda one: (one[0], -one[1], one[2].name))
    less.sort(key=lambda one: (one[0], one[1], one[2].name))
    depend.sort(key=lambda pair: (-pair[0], pair[1].name))
    up, down = ([cell for *_, cell in some] for some in (more, less))
    return Rows(up, down, [cell for _, cell in depend], other, unsure, once)


def _relevant(changes: Mapping[str, SuiteChange], labels: Sequence[str]) -> list[SuiteChange]:
    return [changes[label] for label in labels if label in changes and changes[label].relevant]


def _apart(change: SuiteChange) -> float:
    """How far apart the states of a change are; endless where one has no ratio."""
    if change.low is None or change.high is None:
        return math.inf
    return change.high - change.low


def span(change: SuiteChange) -> str:
    """The lowest and the highest change over states: ``-64.3% to +225.4%``."""
    if change.low is None or change.high is None:
        return "from 0 in some"
    return units.changes(change.low, change.high)


def mostly(cell: SuiteCell, label: str) -> SuiteCellFunction | None:
    """What makes most of a kernel's change: its seat, or else the function whose own count does."""
    return cell.seats.get(label) or next(iter(cell.functions.get(label, ())), None)


def worsening(document: SuiteDocument, change: SuiteChange) -> float:
    """The logarithm of the ratio, above 0 for the worse: so twice as much is as large as half.
    Endless where one side is nothing. Where a change depends on state, the least one counts."""
    sign = 1 if document.better == "lower" else -1
    relative = change.relative
    if change.verdict == "depends on state" and change.low is not None and change.high is not None:
        relative = min(change.low, change.high, key=abs)
    if relative is None:
        return math.copysign(math.inf, sign * change.delta)
    if relative <= -1:
        return -sign * math.inf
    return sign * math.log1p(relative)


class Lacking(NamedTuple):
    """Cells that lack the values of the same kernels for the same reason. ``why``: what of the
    kernel is not there, or else the whole reason."""

    kind: str
    why: str
    labels: Sequence[str]
    cells: Sequence[str]


def lacking(document: SuiteDocument) -> Iterator[Lacking]:
    """Those that are not there first, then those that failed, then those not recorded."""
    found: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for cell in document.cells:
        reasons: dict[tuple[str, str], list[str]] = {}
        for label, one in cell.missing.items():
            reasons.setdefault((one.kind, one.lacks or one.why), []).append(label)
        for (kind, why), labels in reasons.items():
            found.setdefault((kind, why, tuple(labels)), []).append(cell.name)
    order = ("not there", "failed", "not recorded")
    for kind in order:
        for (own, why, kernels), cells in found.items():
            if own == kind:
                yield Lacking(kind, why, kernels, cells)


_NAMED = 6


def state_lines(
    document: SuiteDocument, found: Rows, labels: Sequence[str], width: int, top: int
) -> list[str]:
    """A table of the lowest and the highest change over states; none without such a cell.
    ``labels``: of the kernels beside the base that have room."""
    if not found.depend:
        return []
    least = units.percent(document.threshold, "g")
    title = f"cells whose change depends on state: it is at least {least} in some, not in all"
    columns = [Column("cell", name=True)]
    for part, label in enumerate(labels):
        columns += [Column(label, part=part), Column("states", part=part, spare=2)]
    columns += [Column("op", name=True, spare=3), Column("states differ in", name=True, spare=1)]
    rows = [_state_row(cell, labels) for cell in found.depend[:top]]
    more = len(found.depend) - top
    return [
        "",
        *table.joined(table.draw(title, columns, rows, width)),
        *([f"not shown: {more:,} more that depend on state"] if more > 0 else []),
    ]


def once(document: SuiteDocument, found: Rows) -> list[str]:
    """A line that names the cells whose change nobody has seen in another state."""
    if not found.once:
        return []
    names = units.few([one.name for one in found.once], _NAMED)
    what = "cell that changed was" if len(found.once) == 1 else "cells that changed were"
    return [f"{len(found.once):,} {what} seen in one state alone: {names}"]


def iterated(document: SuiteDocument, labels: Sequence[str]) -> list[str]:
    """A line that names the cells that change otherwise with each iteration counted."""
    told = []
    for cell in document.cells:
        for label in labels:
            change = cell.changes.get(label)
            if change is not None and change.iterated is not None:
                on = f" on {label}" if len(labels) > 1 else ""
                told.append(f"{cell.name} {units.percent(change.iterated, '+.1f')}{on}")
    return [f"{COUNTED}: {units.few(told, _NAMED)}"] if told else []


def _state_row(cell: SuiteCell, labels: Sequence[str]) -> list[str]:
    row = [cell.name]
    changes = [cell.changes.get(label) for label in labels]
    for change in changes:
        row += [span(change), f"{change.states:,}"] if change and change.depends else ["", ""]
    names = [change.differs for change in changes if change and change.differs]
    return [*row, cell.op if cell.per_op else "(whole)", next(reversed(names), "")]
