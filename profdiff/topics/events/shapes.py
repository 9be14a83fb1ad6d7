"""What is shown of events: a table of the workload's own, one of those outside it, and what is not
known. ``docs/events.md`` explains it."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.conditions.condition import Changes, Condition, MeasuredChange
from profdiff.evidence.difference import Difference
from profdiff.evidence.events import FEW, REASONS, EventRow, EventTable
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics import Verdict
from profdiff.profile.events import Context, EventCount
from profdiff.shapes.table import (
    Cell,
    Cells,
    Section,
    Table,
    by_kernel,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.sentences import changed, told_kernels


def changed_most(findings: Findings) -> list[str]:
    """What changed most for certain: for each of few kernels, or for the last of many. Raises
    InputError where nothing is known."""
    base, *_ = labels = findings.comparisons[0].labels
    nothing = "no event is certain to have changed by more than the instructions did"
    return [
        sentence(findings, label) or f"{units.printable(label)}: {nothing}, against {base}."
        for label in (labels[kernel] for kernel in told_kernels(labels))
    ]


def sentence(findings: Findings, label: str) -> str:
    """The event of the workload that changed most on a kernel, if some event is certain to have
    changed by more than the instructions did; else ""."""
    found = findings.changed_events.get(label)
    if found is None:
        return ""
    base, ops = findings.comparisons[0].labels[0], findings.setting.ops
    change = changed(label, base, found.event.name, (found.base, found.other), ops)
    return units.printable(f"{change}: {found.event.told}.")


# What readers call a context.
_CONTEXTS: dict[Context, str] = {"own": "own", "beside": "outside"}
_COVERS = (
    "An event is an entry of a function that means it: --json names the functions, and the files "
    "of the kernel's source that define them."
)
_UNSURE = (
    "unsure: such a number also depends on timer ticks, on which task runs first, or on where "
    f"things lie in memory; or it differs by no more than {FEW}, plus one for each interrupt, in "
    "the whole window. record --vary-state shows whether a change holds in other states."
)
_OUTSIDE = (
    "Outside the workload are interrupts with their softirqs, threads of the kernel and idle "
    "vCPUs: chance decides what of them falls into the window."
)
_COPIES = "inlined copies of the event's functions are not known"
_MIXED = (
    "These numbers include what ran outside the workload: without a call tree and kallsyms, it "
    "cannot be told apart."
)


def section(findings: Findings) -> Section:
    """Raises InputError where nothing is known."""
    events = findings.events
    if isinstance(events, str):
        raise InputError(events)
    own = f"events{' of the workload' if events.told_apart else ''}"
    return Section(
        name="events",
        title="Events",
        sentences=changed_most(findings),
        tables=[
            _table(events, "own", own),
            _table(events, "beside", "events outside the workload"),
        ],
        notes=[" ".join(_notes(events))],
    )


def changes(findings: Findings) -> Changes:
    """Those of events where they happen by their nature: in the workload's own context, or outside
    it. Raises InputError where nothing is known."""
    events = findings.events
    if isinstance(events, str):
        raise InputError(events)
    return partial(_changes, events, findings.setting.ops)


def _changes(events: EventTable, ops: int | None, condition: Condition) -> Iterator[MeasuredChange]:
    row = events.row(condition.what)
    for kernel, difference in enumerate(row.changes, 1):
        label, counts = events.labels[kernel], [row.counts[0], row.counts[kernel]]
        known = [count for count in counts if count is not None]
        if difference is None or len(known) < 2:
            ends = zip((events.labels[0], label), counts, strict=True)
            lacking = [label for label, count in ends if count is None]
            why = f"{condition.what} is not known of {' and '.join(lacking)}"
            yield MeasuredChange.unknown(label, why, of_row=True)
            continue
        is_blind = difference.verdict != Verdict.EXACT and not events.counts_copies(kernel)
        yield MeasuredChange.of_difference(
            label,
            condition,
            known,
            difference,
            ops,
            undecided=_COPIES if is_blind else REASONS.get(difference.verdict, ""),
            note="" if row.context == "own" else "outside the workload",
        )


def _table(events: EventTable, context: Context, title: str) -> Table:
    labels = events.labels
    number = {label: at for at, label in enumerate(labels)}
    rows = [row for row in events.rows if row.context == context]
    instructions = events.comparison.totals().tolist()

    def rate(row: EventRow, label: str) -> float | None:
        """Events per million instructions of the workload: kernels differ in these, too."""
        count, whole = row.counts[number[label]], instructions[number[label]]
        return None if count is None or not whole else 1e6 * count / whole

    def difference(row: EventRow, label: str) -> Difference | None:
        return row.changes[number[label] - 1]

    columns = [
        *by_kernel(labels, lambda row, label: row.counts[number[label]], difference),
        of_row("event", "name", lambda row: row.event.name),
        of_row("meaning", "name", lambda row: row.event.told, title="what happens", spare=1),
        of_row("about", "detail", lambda row: row.event.about),
        of_row("context", "detail", lambda row: _CONTEXTS[row.context]),
        *(of_kernel(k, "rate", "detail", rate, title="per million instructions") for k in labels),
        *(column for label in labels for column in _source(label, number)),
    ]
    return tabulate(
        columns,
        name=f"events-{_CONTEXTS[context]}",
        title=title,
        kernels=labels,
        ops=events.comparison.ops,
        rows=(row for row in rows if row.happened),
        hidden=(row for row in rows if not row.happened),
        folded=context == "beside",
    )


def _source(label: str, number: dict[str, int]) -> list[Cells]:
    """By the entries of which functions a kernel tells an event, in which files of its source they
    are, whether somebody looked that up in kernels of its version, and whether inlined copies of
    them are counted."""
    cells: dict[str, Callable[[EventCount], Cell]] = {
        "functions": lambda count: list(count.way.functions),
        "source": lambda count: count.way.source,
        "looked up": lambda count: count.looked_up,
        "inlined": lambda count: count.inlined,
    }

    def known(cell: Callable[[EventCount], Cell]) -> Callable[[EventRow, str], Cell]:
        return lambda row, kernel: cell(count) if (count := row.told[number[kernel]]) else None

    return [of_kernel(label, name, "detail", known(of), title=name) for name, of in cells.items()]


def _notes(events: EventTable) -> list[str]:
    """What did not happen, what is not known, and what the numbers are."""
    own = [row for row in events.rows if row.context == "own"]
    shown = [row for row in events.rows if row.happened]
    happened = {row.event.name for row in shown}
    absent = [row.event.name for row in own if row.known and row.event.name not in happened]
    notes = [f"These did not happen on any kernel: {', '.join(absent)}."] if absent else []
    notes += _unknown(events, own)
    notes += _not_looked_up(events, own)
    notes.append(_COVERS)
    changes = [change for row in shown for change in row.changes if change is not None]
    if any(change.verdict == Verdict.UNSURE for change in changes):
        notes.append(_UNSURE)
    notes.append(_OUTSIDE if events.told_apart else _MIXED)
    visible = zip(events.labels, events.comparison.inlines_visible, strict=True)
    blind = [label for label, inlines_visible in visible if not inlines_visible]
    if blind:
        notes.append(
            f"{units.listed(blind)}: which functions are inlined is not known, so that numbers can "
            "be too small, and no difference is certain."
        )
    return notes


def _unknown(events: EventTable, rows: Sequence[EventRow]) -> list[str]:
    """The events whose functions a kernel is not known to have."""
    lacking: dict[str, list[str]] = {}
    for row in rows:
        told = zip(events.labels, row.told, strict=True)
        labels = [label for label, count in told if count is None]
        if labels:
            where = "any kernel" if labels == events.labels else units.listed(labels)
            lacking.setdefault(where, []).append(row.event.name)
    why = "the kernel lacks the functions, or the table has none for its architecture"
    return [
        f"These are not known for {where} ({why}): {', '.join(names)}."
        for where, names in lacking.items()
    ]


def _not_looked_up(events: EventTable, rows: Sequence[EventRow]) -> list[str]:
    """The events that nobody looked up in kernels of a kernel's version."""
    notes = []
    for number, label in enumerate(events.labels):
        known = [(row.event.name, count) for row in rows if (count := row.told[number])]
        names = [name for name, count in known if not count.looked_up]
        if names:
            which = "any event" if len(names) == len(known) else ", ".join(names)
            notes.append(
                f"Nobody has looked up which functions mean {which} in kernels like {label}."
            )
    return notes
