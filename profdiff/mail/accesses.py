"""The data that a kernel accesses more or less often than the base: one sentence and a table."""

from typing import Any, Literal, NamedTuple

from profdiff.base import units
from profdiff.evidence.difference import Difference
from profdiff.evidence.statistics.rule import Verdict
from profdiff.forms.text import drawn, signs
from profdiff.mail.letter import Part, Prose
from profdiff.mail.tables import WIDTH, table
from profdiff.profile.data.table import DataRow
from profdiff.shapes.table import ABOUT, UNKNOWN, by_kernel, of_row, tabulate
from profdiff.topics.types.measure import Accesses, access, added, difference
from profdiff.topics.types.sentences import changed_most

_MOST = 8
# Prose is not to have words that are longer than a line.
_LONGEST = 60
_MEANS = {
    UNKNOWN: "?: not certain",
    ABOUT: "~: at least the sign is certain",
}


class _Sum(NamedTuple):
    """``is_all``: then its difference is known."""

    title: str
    counts: list[int]
    is_all: bool = False


def parts(accesses: Accesses, label: str, at: str) -> list[Part]:
    """What differs for certain comes first; what may not differ has no number. Sums have none but
    that of all: what they are made of is not certain. ``at``: which figures these are."""
    base, ops = accesses.labels[0], accesses.comparison.ops
    kernel = accesses.labels.index(label)

    def change(row: DataRow | _Sum) -> int:
        return row.counts[kernel] - row.counts[0]

    def count(row: DataRow | _Sum, of: str) -> int:
        return row.counts[0 if of == base else kernel]

    def difference_of(row: DataRow | _Sum, _: str) -> Difference | Literal[""]:
        if isinstance(row, _Sum):
            delta = change(row)
            return Difference(delta, delta, delta, Verdict.EXACT) if row.is_all else ""
        return difference(row, kernel)

    def of_data(cell: Any) -> Any:
        return lambda row: "" if isinstance(row, _Sum) else cell(row)

    differ = [row for row in accesses.rows["data"] if change(row)]
    if not differ:
        return []
    differ.sort(key=lambda row: (not difference(row, kernel).verdict.is_sure, -abs(change(row))))
    shape = tabulate(
        [
            *by_kernel([base, label], count, difference_of, about=True),
            of_row("access", "word", of_data(access), title=""),
            of_row("data", "name", lambda r: r.title if isinstance(r, _Sum) else accesses.title(r)),
        ],
        name="accesses",
        title="",
        kernels=[base, label],
        ops=ops,
        rows=differ[:_MOST],
        sums=_sums(accesses, differ[:_MOST]),
    )
    there = signs(shape)
    means = "".join(f"; {means}" for sign, means in _MEANS.items() if sign in there)
    title = (
        f"Data that it accesses more or less often{at} (loads and stores"
        f"{' per op' if ops else ''}{means}):"
    )
    words = changed_most(accesses, kernel, ops).split()
    said = " ".join(units.shorten(word, _LONGEST) for word in words)
    return [Prose(said), *map(table, drawn(shape, title, WIDTH))]


def _sums(accesses: Accesses, shown: list[DataRow]) -> list[_Sum]:
    """The rest, what is not data, and all."""
    rows, kernels = accesses.rows, len(accesses.labels)
    rest = [row for row in rows["data"] if row not in shown]
    sums = [_Sum(units.counted(len(rest), "other field"), added(rest, kernels))] if rest else []
    groups = [
        _Sum("of the stack", added(rows["stack"], kernels)),
        _Sum("not known of what", added(rows["unresolved"], kernels)),
    ]
    whole = added([row for group in rows.values() for row in group], kernels)
    return [*sums, *(one for one in groups if any(one.counts)), _Sum("all", whole, True)]
