"""The events as text: a sentence for each kernel; tables of the workload's own events, and of those
beside it; what did not happen, and what is not known."""

from collections.abc import Callable, Sequence

from profdiff.base import units
from profdiff.evidence.events import FEW
from profdiff.profile.events.table import Context
from profdiff.reports.numbers import Numbers
from profdiff.reports.table import MIN_WIDTH, Block, Column, draw
from profdiff.views.events.records import EventRow, EventsDocument

NOT_KNOWN = "?"
# With more kernels, a sentence for each is a page that nobody reads.
_FEW_KERNELS = 3
_COVERS = (
    "An event is an entry of a function that means it: --json names the functions, and the files "
    "of the kernel's source that define them."
)
_UNSURE = (
    "unsure: such a number also depends on timer ticks, on which task runs first, or on where "
    f"things lie in memory; or it differs by no more than {FEW}, plus one for each interrupt, in "
    "the whole window. record --vary-state shows whether a change holds in other states."
)
_BESIDE = (
    "Beside the workload are interrupts with their softirqs, threads of the kernel and idle vCPUs: "
    "chance decides what of them falls into the window."
)
_MIXED = (
    "What ran beside the workload is not told apart (no call tree, or no kallsyms): it is in these "
    "numbers."
)


def render(
    document: EventsDocument, *, width: int, per_op: bool | None = None, ratios: bool = False
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``)."""
    width = max(width, MIN_WIDTH)
    numbers = Numbers(document.ops if per_op is not False else None, ratios)
    parts: list[Block | str] = list(sentences(document))
    whose = " of the workload" if document.told_apart else ""
    parts += table(document, "own", f"events{whose}", numbers, width)
    parts += table(document, "beside", "events beside the workload", numbers, width)
    parts += notes(document)
    lines: list[str] = []
    for part in parts:
        lines += [*([""] if lines else [])]
        lines += units.wrap(part, width) if isinstance(part, str) else part.lines
    return "\n".join(line.rstrip() for line in lines) + "\n"


def sentences(document: EventsDocument) -> list[str]:
    """What changed most for certain: for each of few kernels, or for the last of many."""
    base, *others = document.labels
    if not others:
        return []
    shown = others if len(others) <= _FEW_KERNELS else others[-1:]
    nothing = "no event is certain to have changed by more than the instructions did"
    return [
        document.answers.get(label) or f"{units.printable(label)}: {nothing}, against {base}."
        for label in shown
    ]


def table(
    document: EventsDocument, context: Context, title: str, numbers: Numbers, width: int
) -> list[Block]:
    """The events that happened in one context; none if nothing did."""
    rows = document.of(context)
    if not rows:
        return []
    base, *others = document.labels
    columns: list[tuple[Column, Callable[[EventRow], str]]] = [
        (Column(base), _count(base, numbers))
    ]
    several = len(others) > 1
    for part, label in enumerate(others):
        own = part if several else None
        columns += [
            (Column(label, part=own), _count(label, numbers)),
            (Column("delta", part=own, spare=1 if several else 0), _delta(label, numbers)),
            (Column(numbers.relative, part=own, spare=2), _change(base, label, numbers)),
            (Column("verdict", part=own, name=True), _verdict(label)),
        ]
    columns += [
        (Column("event", name=True), lambda row: row.event),
        (Column("what happens", name=True, spare=1), lambda row: row.is_what),
    ]
    body = [[cell(row) for _, cell in columns] for row in rows]
    return draw(f"{title}{numbers.title}", [column for column, _ in columns], body, width)


def _count(label: str, numbers: Numbers) -> Callable[[EventRow], str]:
    def cell(row: EventRow) -> str:
        count = row.counts[label]
        return NOT_KNOWN if count is None else numbers.count(count)

    return cell


def _delta(label: str, numbers: Numbers) -> Callable[[EventRow], str]:
    def cell(row: EventRow) -> str:
        change = row.changes[label]
        return NOT_KNOWN if change is None else numbers.delta(change.delta)

    return cell


def _change(base: str, label: str, numbers: Numbers) -> Callable[[EventRow], str]:
    def cell(row: EventRow) -> str:
        first, other = row.counts[base], row.counts[label]
        return NOT_KNOWN if first is None or other is None else numbers.change(first, other)

    return cell


def _verdict(label: str) -> Callable[[EventRow], str]:
    def cell(row: EventRow) -> str:
        change = row.changes[label]
        return "not known" if change is None else str(change.verdict)

    return cell


def notes(document: EventsDocument) -> list[str]:
    """What did not happen, what is not known, and what the numbers are."""
    own = [row for row in document.rows if row.context == "own"]
    happened = {row.event for row in document.rows if row.happened}
    absent = [row.event for row in own if row.known and row.event not in happened]
    told = [f"These did not happen on any kernel: {', '.join(absent)}."] if absent else []
    told += _unknown(document, own)
    told += _not_looked_up(document, own)
    told.append(_COVERS)
    changes = [one for row in document.rows if row.happened for one in row.changes.values()]
    if any(one is not None and one.verdict == "unsure" for one in changes):
        told.append(_UNSURE)
    told.append(_BESIDE if document.told_apart else _MIXED)
    blind = [one.label for one in document.kernels if not one.inlines_visible]
    if blind:
        told.append(
            f"{units.listed(blind)}: which functions are inlined is not known, so that numbers can "
            "be too small, and no difference is certain."
        )
    return [" ".join(told)]


def _unknown(document: EventsDocument, rows: Sequence[EventRow]) -> list[str]:
    """The events whose functions a kernel is not known to have."""
    lacking: dict[str, list[str]] = {}
    for row in rows:
        labels = [label for label in document.labels if row.told[label] is None]
        if labels:
            where = "any kernel" if labels == document.labels else units.listed(labels)
            lacking.setdefault(where, []).append(row.event)
    why = "the kernel lacks the functions, or the table has none for its architecture"
    return [
        f"These are not known for {where} ({why}): {', '.join(names)}."
        for where, names in lacking.items()
    ]


def _not_looked_up(document: EventsDocument, rows: Sequence[EventRow]) -> list[str]:
    """The events that nobody looked up in kernels of a kernel's version."""
    told = []
    for kernel in document.kernels:
        found = [(row.event, row.told[kernel.label]) for row in rows]
        names = [name for name, one in found if one is not None and not one.looked_up]
        known = sum(one is not None for _, one in found)
        if names:
            which = "any event" if len(names) == known else ", ".join(names)
            told.append(
                f"Nobody has looked up which functions mean {which} in kernels like {kernel.label}."
            )
    return told
