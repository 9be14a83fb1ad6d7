"""How many loads and stores there are, and what of them changed most, in sentences."""

from collections.abc import Mapping

from profdiff.base import units
from profdiff.profile.data.keys import Group
from profdiff.shapes.table import ABOUT
from profdiff.topics.sentences import told_kernels
from profdiff.topics.types.measure import Accesses, access, added, difference, largest_part

_GROUPS: Mapping[Group, str] = {
    "data": "to data",
    "stack": "on the stack",
    "unresolved": "unresolved",
}
IS_UNSURE = (
    "?: unresolved or ambiguous accesses could explain the difference; --json has its interval, "
    "and why."
)
IS_ABOUT = "~: unresolved or ambiguous accesses can change the number, but not its sign."
UNION = "|: names of one place in a union."
SAME = "=: names that kernels have for one field."
FOLIOS = (
    "struct page and struct folio changed in opposite directions: --fold-folios counts the fields "
    "that they have in common as those of page."
)
COVERS = (
    "Counts are loads and stores that the kernel's code executed; user space is not covered. "
    "function: where most of the change is; what is inlined from a header belongs to where it is "
    "inlined."
)
LINES = "Lines are those of an object that is aligned to 64 bytes."


def sentences(accesses: Accesses, ops: int | None) -> list[str]:
    """For each of few kernels, or for the last of many: where its loads and stores went; then what
    changed most for certain. ``ops``: None for counts of the whole window."""
    shown = told_kernels(accesses.labels)
    return [
        *(_sums(accesses, kernel, ops) for kernel in shown),
        *(changed_most(accesses, kernel, ops) for kernel in shown),
    ]


def changed_most(accesses: Accesses, kernel: int, ops: int | None) -> str:
    """What changed most for certain on one kernel."""
    base, label = accesses.labels[0], accesses.labels[kernel]
    found = [(row, difference(row, kernel)) for row in accesses.rows["data"]]
    sure = [(row, own) for row, own in found if own.verdict.is_sure and own.delta]
    if not sure:
        return f"{label}: no certain difference from {base} in the kernel's accesses to data."
    row, change = max(sure, key=lambda one: abs(one[1].delta))
    part = largest_part(row, kernel)
    where = ""
    if part:
        name = accesses.function(part.function)
        outer = accesses.function(part.within[0]) if part.within else ""
        where = f", mostly in {f'{outer} ({name})' if outer else name}"
    about = ABOUT if change.low < change.high else ""
    return units.printable(
        f"{label} {access(row)}s {accesses.title(row)} "
        f"{_count(row.counts[kernel], ops)} times{' per op' if ops else ''}, {base} "
        f"{_count(row.counts[0], ops)} ({about}{_delta(change.delta, ops)}){where}."
    )


def _sums(accesses: Accesses, kernel: int, ops: int | None) -> str:
    """Where a kernel's loads and stores went."""
    sums = {of: added(rows, len(accesses.labels)) for of, rows in accesses.rows.items()}
    by_group = ", ".join(
        f"{_delta(counts[kernel] - counts[0], ops)} {_GROUPS[of]}"
        for of, counts in sums.items()
        if counts[kernel] or counts[0]
    )
    whole, of_base = (_count(sum(one[at] for one in sums.values()), ops) for at in (kernel, 0))
    return units.printable(
        f"{accesses.labels[kernel]} executes {whole} loads and stores{' per op' if ops else ''}, "
        f"{accesses.labels[0]} {of_base}: {by_group}."
    )


def _count(value: float, ops: int | None) -> str:
    return units.count(value / ops, per_op=True) if ops else units.count(int(value))


def _delta(value: float, ops: int | None) -> str:
    return units.delta(value / ops, per_op=True) if ops else units.delta(int(value))
