"""The data that a kernel accesses more or less often than the base: one sentence and a table."""

from collections.abc import Iterable, Sequence

from profdiff.base import units
from profdiff.forms.columns import Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.mail.letter import Part, Prose
from profdiff.mail.tables import WIDTH, table
from profdiff.reports.types.text import ABOUT, UNSURE, difference, sentence
from profdiff.views.types.records import Row, TypesDocument

_MOST = 8
# Prose is not to have words that are longer than a line.
_LONGEST = 60
_MEANS = {
    UNSURE: "?: not certain",
    ABOUT: "~: at least the sign is certain",
}


def parts(document: TypesDocument, label: str, at: str) -> list[Part]:
    """What differs for certain comes first; what may not differ has no number. Sums have none but
    that of all: what they are made of is not certain. ``at``: which figures these are."""
    base = document.labels[0]
    numbers = Numbers(document.ops)
    data = [row for row in document.fields if row.group == "data"]
    differ = [row for row in data if row.counts[label] != row.counts[base]]
    if not differ:
        return []
    differ.sort(key=lambda row: (row.changes[label].delta is None, -_far(row, base, label)))
    shown = differ[:_MOST]
    body = [_row(row, base, label, numbers) for row in shown]
    columns = [Column(base), Column(label), Column("delta"), Column("change", spare=1)]
    columns += [Column(""), Column("data", name=True)]
    each = " per op" if document.ops else ""
    signs = [
        means for sign, means in _MEANS.items() if any(row[2].startswith(sign) for row in body)
    ]
    blocks = draw(
        f"Data that it accesses more or less often{at} (loads and stores{each}"
        f"{''.join(f'; {one}' for one in signs)}):",
        columns,
        body,
        WIDTH,
        _sums(document, shown, label, numbers),
    )
    words = sentence(document, data, "field", label, numbers).split()
    said = " ".join(units.shorten(word, _LONGEST) for word in words)
    return [Prose(said), *map(table, blocks)]


def _far(row: Row, base: str, label: str) -> int:
    return abs(row.counts[label] - row.counts[base])


def _row(row: Row, base: str, label: str, numbers: Numbers) -> list[str]:
    one, other = row.counts[base], row.counts[label]
    change = row.changes[label]
    part = UNSURE if change.delta is None else numbers.change(one, other)
    told = [numbers.count(one), numbers.count(other), difference(change, numbers), part]
    return [*told, row.access, row.title]


def _sums(
    document: TypesDocument, shown: Sequence[Row], label: str, numbers: Numbers
) -> list[list[str]]:
    """The rest, what is not data, and all."""
    base = document.labels[0]

    def sums(rows: Iterable[Row]) -> tuple[int, int]:
        some = list(rows)
        return sum(row.counts[base] for row in some), sum(row.counts[label] for row in some)

    def line(counts: tuple[int, int], name: str) -> list[str]:
        return [*map(numbers.count, counts), "", "", "", name]

    rows = document.fields
    rest = [row for row in rows if row.group == "data" and row not in shown]
    groups = {
        "of the stack": sums(row for row in rows if row.group == "stack"),
        "not known of what": sums(row for row in rows if row.group == "unresolved"),
    }
    one, other = whole = sums(rows)
    told = [line(sums(rest), units.counted(len(rest), "other field"))] if rest else []
    told += [line(counts, name) for name, counts in groups.items() if any(counts)]
    delta = [numbers.delta(other - one), numbers.change(one, other)]
    return [*told, [*map(numbers.count, whole), *delta, "", "all"]]
