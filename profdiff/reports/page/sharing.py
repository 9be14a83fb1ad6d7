"""The lines that change hands between vCPUs, as far as the session has recorded them and the page
has room."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.profile.sharing.recorded import has_lines
from profdiff.reports.documents import session
from profdiff.reports.page import sharing_records as records
from profdiff.reports.page.element import element
from profdiff.reports.sharing import locks
from profdiff.reports.sharing.numbers import Numbers
from profdiff.reports.sharing.rows import is_small, kind, verdict
from profdiff.reports.sharing.sentences import sentence
from profdiff.views.sharing.making import build_near
from profdiff.views.sharing.records import Change, FieldUse, Line, Row, SharingDocument, Sums

# Rows that a page has, what all may take, in bytes; and what each row keeps.
MOST = 100
ROOM = 100_000
FIELDS, FUNCTIONS, BYSTANDERS = 64, 12, 12
LOCKS = 20


class ShownSharing(NamedTuple):
    """``held``: None where no run recorded lines."""

    held: records.HeldSharing | None
    elements: str


_NOTHING = ShownSharing(None, "")


def page_sharing(findings: Findings) -> ShownSharing:
    """Those at the setting of the findings, or at the last one that has such runs. Raises
    SessionError where what is kept is damaged."""
    opened = findings.session
    if opened is None or not has_lines(opened.manifest):
        return _NOTHING
    try:
        document = build_near(opened, findings.setting)
    except InputError:
        return _NOTHING
    most = MOST
    made = packed(document, most)
    while len(text := element("held-sharing", session.encode(made))) > ROOM and most:
        most //= 2
        made = packed(document, most)
    said = sentence(document, Numbers.of(document, None))
    return ShownSharing(records.HeldSharing(sentence=said, rows=len(made.rows)), text)


def packed(document: SharingDocument, most: int) -> records.PageSharing:
    """The rows that are not small, at most so many."""
    numbers = Numbers.of(document, None)
    rows = document.rows
    if numbers.per_op:
        rows = [row for row in rows if not is_small(row, numbers.ops)]
    shown = rows[:most]
    total = document.total
    return records.PageSharing(
        kernels=[
            records.SharingKernel(
                label=one.label,
                ops=one.ops,
                by_vcpu=one.by_vcpu,
                instructions=one.instructions,
                missing=one.missing,
            )
            for one in document.kernels
        ],
        per_op=numbers.per_op,
        rows=[_row(row, shown, document.labels) for row in shown],
        rest=len(document.rows) - len(shown),
        transfers={label: total.kernels[label].transfers for label in document.labels},
        misses={label: total.kernels[label].misses for label in document.labels},
        changes=_changes(total.changes),
        locks=[
            records.HeldLock(
                name=one.data.title,
                function=one.function,
                mode=one.mode,
                instructions={label: sums.instructions for label, sums in one.kernels.items()},
                unsure=one.unsure,
            )
            for one in locks.shown(document)[:LOCKS]
        ],
        bound=locks.bound(document),
    )


def _row(row: Row, rows: Sequence[Row], labels: Sequence[str]) -> records.SharedRow:
    return records.SharedRow(
        name=row.data.title,
        verdict=verdict(row),
        kind=kind(row),
        kernels={
            label: _sums(row.kernels[label], kind(row, [label]), _drawn(row, rows, label))
            for label in labels
        },
        changes=_changes(row.changes),
        functions=[
            records.SharedFunction(
                name=one.name, within=one.within[0] if one.within else "", misses=one.misses
            )
            for one in row.functions[:FUNCTIONS]
        ],
        more=max(len(row.functions) - FUNCTIONS, 0),
        bystanders=[
            records.SharedReads(name=one.data.title, reads=one.reads)
            for one in row.bystanders[:BYSTANDERS]
        ],
    )


def _sums(one: Sums, told: str, line: records.DrawnLine | None) -> records.SharedSums:
    return records.SharedSums(
        transfers=one.transfers,
        misses=one.misses,
        read_fetches=one.read_fetches,
        write_fetches=one.write_fetches,
        upgrades=one.upgrades,
        lines=one.lines,
        locked=one.locked,
        kind=told,
        line=line,
    )


def _changes(changes: dict[str, Change]) -> dict[str, records.SharedChange]:
    def delta(change: Change, measure: str) -> records.SharedDelta:
        one = change.transfers if measure == "transfers" else change.misses
        return records.SharedDelta(delta=one.delta, low=one.low, high=one.high)

    return {
        label: records.SharedChange(
            transfers=delta(one, "transfers"), misses=delta(one, "misses"), causes=one.causes
        )
        for label, one in changes.items()
    }


def _drawn(row: Row, rows: Sequence[Row], label: str) -> records.DrawnLine | None:
    """The row's line on a kernel, or that of the data which the kernel has instead."""
    line, of = row.kernels[label].line, ""
    if line is None:
        other = _instead(row, rows, label)
        if other is None:
            return None
        line, of = other.kernels[label].line, other.data.title
    if line is None:
        return None
    fields = joined(line.fields)
    return records.DrawnLine(
        of=of, size=line.size, fields=fields[:FIELDS], more=max(len(fields) - FIELDS, 0)
    )


def _instead(row: Row, rows: Sequence[Row], label: str) -> Row | None:
    """What a kernel that has no line of a row has instead: the one row of the same type, or else
    the one whose line has fields of the same names."""
    theirs = [one for one in row.kernels if row.kernels[one].line]
    if not theirs:
        return None
    alone = [
        other
        for other in rows
        if other.kernels[label].line and not any(other.kernels[one].line for one in theirs)
    ]
    alike = [
        other
        for other in alone
        if row.data.kind == other.data.kind == "field" and row.data.type == other.data.type
    ]
    if not alike:
        own = _names(row.kernels[theirs[0]].line)
        alike = [other for other in alone if own and _names(other.kernels[label].line) == own]
    return alike[0] if len(alike) == 1 else None


def _names(line: Line | None) -> set[str]:
    return {one.name for one in line.fields if one.name} if line else set()


def joined(fields: Iterable[FieldUse]) -> list[records.LineField]:
    """Accesses to a part of a field, and those beside each other by the same vCPUs, are accesses to
    one field of this name."""
    found: list[records.LineField] = []
    for one in sorted(fields, key=lambda one: (one.offset, -one.size)):
        own = records.LineField(
            offset=one.offset, size=one.size, name=one.name, loads=one.loads, stores=one.stores
        )
        at = next((at for at, other in enumerate(found) if _are_one(other, own)), None)
        if at is None:
            found.append(own)
        else:
            found[at] = _sum(found[at], own)
    return found


def _are_one(first: records.LineField, other: records.LineField) -> bool:
    end = first.offset + first.size
    if first.name != other.name or end < other.offset:
        return False
    return other.offset < end or (bool(first.name) and _who(first) == _who(other))


def _who(one: records.LineField) -> list[tuple[bool, bool]]:
    return [(load > 0, store > 0) for load, store in zip(one.loads, one.stores, strict=True)]


def _sum(first: records.LineField, other: records.LineField) -> records.LineField:
    end = max(first.offset + first.size, other.offset + other.size)
    return records.LineField(
        offset=first.offset,
        size=end - first.offset,
        name=first.name,
        loads=[a + b for a, b in zip(first.loads, other.loads, strict=True)],
        stores=[a + b for a, b in zip(first.stores, other.stores, strict=True)],
    )
