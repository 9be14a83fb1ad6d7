"""The report of a suite as text: cells, functions, states and events."""

import shlex
from collections.abc import Callable, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.forms import columns as table
from profdiff.forms.columns import MIN_WIDTH, Column
from profdiff.reports.text import suite_rows
from profdiff.reports.text.suite_rows import Rows, lacking, mostly, rows, span
from profdiff.views.results.result import ABSENT
from profdiff.views.suite import (
    SuiteCell,
    SuiteCellEvent,
    SuiteChange,
    SuiteDocument,
    SuiteEvent,
    SuiteFunction,
    SuiteSummary,
)

# So many events have a name in the line below the table.
_NAMED = 6


class _Kind(NamedTuple):
    """``cells``: of each so many cells have a row; ``than``: by how much more than the instructions
    they changed; ``changed``: in how many cells some did, of how many."""

    noun: str
    title: str
    than: str
    cells: int
    over: Callable[[SuiteDocument], list[SuiteEvent]]
    of: Callable[[SuiteCell], dict[str, list[SuiteCellEvent]]]
    changed: Callable[[SuiteSummary], tuple[int, int]]


_KINDS = (
    _Kind(
        "event",
        "events of the workload that changed by more than the instructions, per op",
        "more",
        3,
        lambda document: document.events,
        lambda cell: cell.events,
        lambda one: (one.events, one.events_known),
    ),
    _Kind(
        "item",
        "items of the inventory that changed more than twice as far as the instructions, per op",
        "much more",
        1,
        lambda document: document.items,
        lambda cell: cell.items,
        lambda one: (one.items, one.items_known),
    ),
)


def event_lines(document: SuiteDocument, labels: Sequence[str], width: int, top: int) -> list[str]:
    """Rows of at most ``top`` events, then of as many items, the cells with the largest differences
    first, and a line for each kernel of ``labels``. Nothing where none is known."""
    return [
        line for kind in _KINDS for line in _event_table_lines(kind, document, labels, width, top)
    ]


def _event_table_lines(
    kind: _Kind, document: SuiteDocument, labels: Sequence[str], width: int, top: int
) -> list[str]:
    told = [line for label in labels for line in _told(kind, document, label)]
    events = [
        one for one in kind.over(document) if any(_cells_of_event(one, label) for label in labels)
    ]
    rows, hidden = [], 0
    for event in events[:top]:
        found = _changed(kind, document, event.event, labels)
        hidden += max(len(found) - kind.cells, 0)
        rows += [_event_row(event, cell, of, labels) for cell, of in found[: kind.cells]]
    if hidden:
        told.append(f"not shown: {hidden:,} more of these rows (--csv and --json have all)")
    if len(events) > top:
        more = units.counted(len(events) - top, kind.noun)
        told.append(f"not shown: {more} (--top {len(events)})")
    columns = [Column(kind.noun, name=True), Column("cell", name=True)]
    columns += [Column(label) for label in (document.kernels[0].label, *labels)]
    columns.append(Column("op", name=True, spare=1))
    drawn = ["", *table.joined(table.draw(kind.title, columns, rows, width))] if rows else []
    return [*drawn, *([""] if told else []), *(o for t in told for o in units.wrap(t, width, 2))]


def _told(kind: _Kind, document: SuiteDocument, label: str) -> list[str]:
    """In how many cells which events changed."""
    summary = next(one for one in document.summaries if one.kernel == label)
    changed, known = kind.changed(summary)
    if not known:
        return []
    names = [
        f"{one.event} {n:,}" for one in kind.over(document) if (n := _cells_of_event(one, label))
    ]
    what = f": {units.few(names, _NAMED)}" if names else ""
    cells = units.counted(known, "cell")
    than = f"changed by {kind.than} than the instructions in {changed:,} of {cells}"
    return [f"{label}: {kind.noun}s {than}{what}"]


def _cells_of_event(event: SuiteEvent, label: str) -> int:
    return event.more.get(label, 0) + event.fewer.get(label, 0)


def _changed(
    kind: _Kind, document: SuiteDocument, event: str, labels: Sequence[str]
) -> list[tuple[SuiteCell, dict[str, SuiteCellEvent]]]:
    found = []
    for cell in document.cells:
        every = {label: _of(kind.of(cell).get(label, ()), event) for label in labels}
        if of := {label: one for label, one in every.items() if one is not None}:
            largest = max(abs(one.value - one.base) for one in of.values())
            found.append((-largest, cell.name, cell, of))
    found.sort(key=lambda one: one[:2])
    return [(cell, of) for *_, cell, of in found]


def _of(some: Sequence[SuiteCellEvent], event: str) -> SuiteCellEvent | None:
    return next((one for one in some if one.event == event), None)


def _event_row(
    event: SuiteEvent, cell: SuiteCell, of: dict[str, SuiteCellEvent], labels: Sequence[str]
) -> list[str]:
    base = next(iter(of.values())).base
    values = [base, *(of[label].value if label in of else None for label in labels)]
    shown = ["" if value is None else units.count(value, per_op=cell.per_op) for value in values]
    return [event.event, cell.name, *shown, cell.op if cell.per_op else "(whole)"]


_BUILD_ID = 12
# With more kernels, the table has the base and the last of them.
_MOST_KERNELS = 4
# So many cells either way at the end of ``record``.
_FIRST = 5


def render(
    document: SuiteDocument,
    folder: str,
    *,
    width: int,
    top: int,
    ratios: bool = False,
    side: str | None = None,
    by_name: bool = False,
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``). ``folder``: of the suite, as
    commands name it; ``top``: at most so many cells either way, and functions; ``side``: functions
    of the kernel or of user space alone; ``by_name``: cells by their names."""
    width = max(width, MIN_WIDTH)
    lines = [*summary(document, width), ""]
    lines += [line for text in _about(document) for line in units.wrap(text, width, 2)]
    lines += _cells(document, width, top, ratios=ratios, by_name=by_name)
    lines += _functions(document, width, top, side)
    lines += [] if side == "user" else event_lines(document, shown(document), width, top)
    example = next((one.name for one in rows(document, shown(document)).more), None)
    name = shlex.quote(example or (document.cells[0].name if document.cells else "CELL"))
    lines += ["", f"one cell:  profdiff report {shlex.quote(folder)} --cell {name}"]
    return "\n".join(units.printable(line).rstrip() for line in lines) + "\n"


def summary(document: SuiteDocument, width: int) -> list[str]:
    """The sentences: of the last kernel first, then of the others before it; A/A; what values are
    not."""
    told = [document.sentence]
    told += [one.sentence for one in reversed(document.summaries[:-1][-_MOST_KERNELS:])]
    told += [document.noise.sentence] if document.noise else []
    told += [document.banner] if document.banner else []
    return [line for text in told for line in units.wrap(units.printable(text), width, 2)]


def conclusion(document: SuiteDocument, width: int) -> list[str]:
    """The sentences and the first cells: what ``record`` says at its end."""
    width = max(width, MIN_WIDTH)
    lines = [*summary(document, width), *_cells(document, width, _FIRST)]
    return [units.printable(line).rstrip() for line in lines]


def shown(document: SuiteDocument) -> list[str]:
    """The labels of the kernels beside the base that a table has room for."""
    others = [kernel.label for kernel in document.kernels[1:]]
    return others if len(others) < _MOST_KERNELS else others[-1:]


def _about(document: SuiteDocument) -> list[str]:
    told = []
    kernels = document.kernels
    for number, one in enumerate(kernels):
        if number and one.label not in shown(document):
            continue
        facts = [
            one.release or "release unknown",
            f"build id {one.build_id[:_BUILD_ID]}" if one.build_id else "no build id",
            *(["given " + " ".join(one.variant.words)] if one.variant.words else []),
            *(["the base"] if number == 0 and len(kernels) > 1 else []),
        ]
        told.append(f"{one.label}: {', '.join(facts)}")
    if len(kernels) - 1 > len(shown(document)):
        told.append(
            f"{len(kernels):,} kernels; the cells below are those that changed on the last one; "
            "of all: --csv, --json, --html"
        )
    if document.restored is not None:
        how = "restored machines" if document.restored else "booted machines"
        count = sum(any(v is not None for v in cell.values.values()) for cell in document.cells)
        told.append(f"{units.counted(count, 'cell')} with a value in {how}")
    return [*told, *document.remarks]


def _cells(
    document: SuiteDocument, width: int, top: int, *, ratios: bool = False, by_name: bool = False
) -> list[str]:
    labels = shown(document)
    found = rows(document, labels)
    chosen = [*found.more[:top], *found.less[:top]]
    if by_name:
        chosen.sort(key=lambda cell: cell.name)
    lines: list[str] = []
    if chosen:
        drawn = table.draw(
            _title(document),
            _columns(document, labels),
            [_row(document, cell, labels, ratios=ratios) for cell in chosen],
            width,
        )
        lines += ["", *table.joined(drawn)]
    lines += suite_rows.state_lines(document, found, labels, width, top)
    told = [*_rest(document, found, top), *suite_rows.once(document, found)]
    told += suite_rows.iterated(document, labels)
    told += _lacking(document)
    return [*lines, *([""] if told else []), *(o for t in told for o in units.wrap(t, width, 2))]


def largest(
    document: SuiteDocument, top: int
) -> tuple[str, Sequence[str], Sequence[Sequence[str]]]:
    """Title, header and rows of the cells that changed most, at most ``top`` either way."""
    labels = shown(document)
    found = rows(document, labels)
    chosen = [*found.more[:top], *found.less[:top]]
    made = [_row(document, cell, labels, ratios=False) for cell in chosen]
    return _title(document), [one.title for one in _columns(document, labels)], made


def _title(document: SuiteDocument) -> str:
    least = units.percent(document.threshold, "g")
    what = document.metric if document.unit in ("", document.metric) else document.unit
    per_op = " per op" if any(cell.per_op for cell in document.cells) else ""
    return f"cells that changed by at least {least}, {what}{per_op}"


def _columns(document: SuiteDocument, labels: Sequence[str]) -> list[Column]:
    made = [Column("cell", name=True)]
    further = _further(document)
    for number, metric in enumerate([document.metric, *further]):
        part, group = (number, metric.replace("-", " ")) if further else (None, "")
        titles = [document.kernels[0].label]
        titles += [title for label in labels for title in (label, "change")]
        made += [Column(title, part=part, group=group) for title in titles]
    return [
        *made,
        Column("op", name=True, spare=2),
        Column("tags", name=True, spare=3),
        Column("mostly", name=True, spare=1),
    ]


def _row(
    document: SuiteDocument, cell: SuiteCell, labels: Sequence[str], *, ratios: bool
) -> list[str]:
    made = [cell.name]
    known = {one.metric: (one.values, one.changes) for one in cell.further}
    own = (cell.values, cell.changes)
    for values, changes in (own, *(known.get(one, ({}, {})) for one in _further(document))):
        base = values.get(document.kernels[0].label)
        made.append(_value(cell, base))
        for label in labels:
            value, change = values.get(label), changes.get(label)
            made.append(_value(cell, value))
            made.append("" if base is None else _change(base, value, change, ratios=ratios))
    changed = [one for one in labels if one in cell.changes and cell.changes[one].relevant]
    first = next((found for one in reversed(changed) if (found := mostly(cell, one))), None)
    share = f" {units.percent(first.share, '.0f')}" if first and first.share else ""
    return [
        *made,
        cell.op if cell.per_op else "(whole)",
        " ".join(cell.tags),
        f"{first.name}{share}" if first else "",
    ]


def _change(base: float, value: float | None, change: SuiteChange | None, *, ratios: bool) -> str:
    if value is None or change is None:
        return ""
    if change.verdict == "depends on state" and change.relevant:
        return span(change)
    told = (units.ratio if ratios else units.change)(base, value if change.delta else base)
    return told if change.verdict in ("exact", "changed") else f"{told} ?"


def _further(document: SuiteDocument) -> list[str]:
    """The metrics beside the suite's."""
    return list(dict.fromkeys(one.metric for cell in document.cells for one in cell.further))


def _value(cell: SuiteCell, value: float | None) -> str:
    return ABSENT if value is None else units.count(value, per_op=cell.per_op)


def _rest(document: SuiteDocument, found: Rows, top: int) -> list[str]:
    least = units.percent(document.threshold, "g")
    told = []
    hidden = max(len(found.more) - top, 0), max(len(found.less) - top, 0)
    if any(hidden):
        told.append(
            f"not shown: {hidden[0]:,} that cost more, {hidden[1]:,} that cost less "
            f"(--top {max(len(found.more), len(found.less))})"
        )
    if found.other:
        what = "cell changes" if found.other == 1 else "cells change"
        told.append(f"{found.other:,} {what} by less than {least}")
    if found.unsure:
        what = "cell may" if found.unsure == 1 else "cells may"
        told.append(f"{found.unsure:,} {what} have changed (unsure)")
    return told


def _lacking(document: SuiteDocument) -> list[str]:
    told = []
    for one in lacking(document):
        if len(one.labels) == len(document.kernels) > 1:
            where = "any kernel" if one.kind != "failed" else "every kernel"
        else:
            where = units.few(one.labels, _NAMED)
        told.append(f"{one.kind} on {where}: {units.few(one.cells, _NAMED)}: {one.why}")
    return told


def _functions(document: SuiteDocument, width: int, top: int, side: str | None) -> list[str]:
    labels = shown(document)
    chosen = [function for function in document.functions if side in (None, function.side)]
    if not chosen or not labels:
        return []
    columns = []
    for part, label in enumerate(labels):
        group = label if len(labels) > 1 else ""
        columns += [
            Column("points", part=part, group=group),
            Column("up", part=part, group=group),
            Column("down", part=part, group=group),
        ]
    columns += [Column("object", name=True, spare=1), Column("function", name=True)]
    body = [_function(one, labels) for one in chosen[:top]]
    drawn = table.draw("functions over all cells", columns, body, width)
    told = (
        "points: a function's delta in percent of the base's whole cell, added up over all cells; "
        "up, down: in how many cells it executed more or less"
    )
    return ["", *table.joined(drawn), "", *units.wrap(told, width, 2)]


def _function(one: SuiteFunction, labels: Sequence[str]) -> list[str]:
    made = []
    for label in labels:
        made += [f"{one.points[label]:+,.1f}", f"{one.up[label]:,}", f"{one.down[label]:,}"]
    return [*made, one.object, one.name]
