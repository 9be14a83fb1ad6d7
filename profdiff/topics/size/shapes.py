"""What is shown of the bytes that kernels take: sections, functions, what inlining changed in them,
and types. ``docs/size.md`` explains it."""

from collections.abc import Callable, Mapping, Sequence

from profdiff.base import units
from profdiff.shapes.selected import with_sum
from profdiff.shapes.table import Section, Table, by_figure, of_row, tabulate
from profdiff.topics.sentences import more_rows
from profdiff.topics.size.measure import KernelSizes, Row, changed_inlining, rows

# The most rows of a table that readers see.
MAX_ROWS = 20
_TITLES = {
    "sections": "sections, in bytes",
    "functions": "text by function, in bytes",
    "inlined": "what inlining changed, in bytes",
    "types": "types, in bytes",
}
_INLINED = (
    "Inlined on one kernel and not on another, into functions whose size differs; with what is "
    "inlined into that."
)


def section(kernels: Mapping[str, KernelSizes], *, whole: bool = False) -> Section:
    """The sizes of kernels by their labels, the base first. ``whole``: with what does not differ,
    and sums, for conditions."""
    labels, every = list(kernels), list(kernels.values())
    sections = rows([kernel.sections for kernel in every])
    functions = rows([kernel.functions for kernel in every])
    tables = [
        _table(labels, "sections", ["section"], sections, _totals(labels, sections)),
        _table(
            labels,
            "functions",
            ["function"],
            [row for row in functions if row.delta or whole],
            [*_summaries(labels, functions), *_totals(labels, functions)],
        ),
    ]
    inlined = [kernel.inlined for kernel in every if kernel.inlined is not None]
    if len(inlined) == len(every):
        found = changed_inlining(inlined, functions)
        tables.append(_table(labels, "inlined", ["inlined", "into"], found, [_INLINED]))
    types = [kernel.types for kernel in every if kernel.types is not None]
    if len(types) == len(every):
        # One that is empty has no bytes, and is there.
        sizes = {row: [one[row.names] for one in types if row.names in one] for row in rows(types)}
        several = [row for row, known in sizes.items() if len(known) > 1]
        differing = [row for row in several if len(set(sizes[row])) > 1]
        note = f"{len(differing):,} of {len(several):,} types that are on several kernels differ."
        shown = list(sizes) if whole else differing
        tables.append(_table(labels, "types", ["type"], shown, [note]))
    if whole:
        tables = [with_sum(table) for table in tables]
    told = [line for label, kernel in kernels.items() for line in _missing(label, kernel)]
    return Section(name="size", title="Size", sentences=told, tables=tables)


def _table(
    labels: list[str], name: str, names: Sequence[str], found: Sequence[Row], notes: Sequence[str]
) -> Table:
    columns = by_figure(
        labels, "size", lambda row, label: row.sizes[labels.index(label)], "delta", "change"
    )
    columns += [of_row(title, "name", _name(at)) for at, title in enumerate(names)]
    return tabulate(
        columns,
        name=name,
        title=_TITLES[name],
        kernels=labels,
        ops=None,
        rows=found[:MAX_ROWS],
        hidden=found[MAX_ROWS:],
        by_kernel=False,
        notes=[*more_rows(len(found) - MAX_ROWS), *notes],
    )


def _name(at: int) -> Callable[[Row], str]:
    """The name of a row in a column: what is inlined stands before what has it."""
    return lambda row: row.names[-1 - at]


def _totals(labels: Sequence[str], found: Sequence[Row]) -> list[str]:
    """As bloat-o-meter writes it, for each kernel."""
    before, *others = (sum(sizes) for sizes in zip(*(row.sizes for row in found), strict=True))
    return [
        f"Total{_of(labels, label)}: Before={before:,}, After={after:,}, "
        f"chg {units.change(before, after)}"
        for label, after in zip(labels[1:], others, strict=True)
    ]


def _summaries(labels: Sequence[str], found: Sequence[Row]) -> list[str]:
    """How many came, went, grew and shrank, as bloat-o-meter writes it, for each kernel."""
    told = []
    for number, label in enumerate(labels[1:], 1):
        pairs = [(row.sizes[0], row.sizes[number]) for row in found]
        added, removed = (sum(not one[at] and one[1 - at] > 0 for one in pairs) for at in (0, 1))
        deltas = [after - before for before, after in pairs]
        up, down = (sum(max(sign * delta, 0) for delta in deltas) for sign in (1, -1))
        grew, shrank = (
            sum(sign * delta > 0 for delta in deltas) - apart
            for sign, apart in ((1, added), (-1, removed))
        )
        told.append(
            f"add/remove{_of(labels, label)}: {added:,}/{removed:,} "
            f"grow/shrink: {grew:,}/{shrank:,} up/down: {up:,}/{-down:,} ({up - down:,})"
        )
    return told


def _of(labels: Sequence[str], label: str) -> str:
    return f" {label}" if len(labels) > 2 else ""


def _missing(label: str, kernel: KernelSizes) -> list[str]:
    """What is not known of a kernel, and so of none."""
    lacking = [
        what
        for what, known in (("what is inlined", kernel.inlined), ("types", kernel.types))
        if known is None
    ]
    if not lacking:
        return []
    why = kernel.unread or "its file has no debug information (CONFIG_DEBUG_INFO=y makes it)"
    return [f"{label}: {why}. So {' and '.join(lacking)} are not compared."]
