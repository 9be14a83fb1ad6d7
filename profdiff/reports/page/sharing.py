"""The lines that change hands between vCPUs, as far as the session has recorded them and the page
has room."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from profdiff.base.errors import InputError
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.sharing import Change, SharingRow
from profdiff.forms.text import legend
from profdiff.profile.sharing.recorded import has_lines
from profdiff.profile.sharing.sums import LineUse, Sums
from profdiff.reports import documents
from profdiff.reports.page import sharing_records as records
from profdiff.reports.page.records import element
from profdiff.shapes.selected import selected
from profdiff.topics.sharing.measure import Lines, kind, verdict_word
from profdiff.topics.sharing.sentences import bound, sentence, unnamed
from profdiff.topics.sharing.shapes import MIN_HELD, of_lines
from profdiff.views.record import by_label

# Rows that a page has, what all may take, in bytes; and what each row keeps.
MOST = 100
ROOM = 100_000
FIELDS, FUNCTIONS, BYSTANDERS = 64, 12, 12
LOCKS = 20


class ShownSharing(NamedTuple):
    """``held``: None where no run recorded lines."""

    held: records.EmbeddedSharing | None
    elements: str


_NOTHING = ShownSharing(None, "")


def page_sharing(findings: Findings) -> ShownSharing:
    """Those at the setting of the findings, or at the last one that has such runs. Raises
    SessionError where what is kept is damaged."""
    opened = findings.session
    if opened is None or not has_lines(opened.manifest):
        return _NOTHING
    try:
        lines = Lines.near(opened, findings.setting)
    except InputError:
        return _NOTHING
    most = MOST
    made = packed(lines, most)
    while len(text := element("held-sharing", documents.encode(made))) > ROOM and most:
        most //= 2
        made = packed(lines, most)
    return ShownSharing(
        records.EmbeddedSharing(sentence=sentence(lines), rows=len(made.rows)), text
    )


def packed(lines: Lines, most: int) -> records.PageSharing:
    """The rows that are not small, at most so many."""
    shown = [row for row in lines.rows if not lines.is_small(row)][:most]
    section = selected(of_lines(lines), most)
    sums = lines.total.sums
    held = [
        lock
        for lock in lines.locks
        if any(lines.share(lock, kernel) >= MIN_HELD for kernel in range(len(lines.labels)))
    ]
    return records.PageSharing(
        kernels=[
            records.SharingKernel(
                label=one.kernel.label,
                ops=one.lines.all_ops,
                by_vcpu=one.lines.ops.tolist(),
                instructions=instructions,
            )
            for one, instructions in zip(lines.table.kernels, lines.instructions, strict=True)
        ],
        per_op=lines.per_op,
        rows=[_row(lines, row, shown) for row in shown],
        rest=len(lines.rows) - len(shown),
        transfers=by_label(lines.labels, [one.transfers for one in sums]),
        misses=by_label(lines.labels, [one.all_misses for one in sums]),
        changes=_changes(lines, lines.total),
        locks=[
            records.HeldLock(
                name=lines.title(one.lock.name, one.lock.name.among),
                function=lines.function(one.lock.function),
                mode=one.lock.mode,
                instructions=by_label(lines.labels, one.instructions),
                unsure=[
                    label
                    for label, sure in zip(lines.labels[1:], one.sure, strict=True)
                    if not sure
                ],
            )
            for one in held[:LOCKS]
        ],
        bound=bound(lines),
        notes=[*unnamed(lines), *legend(section.tables), *section.notes] if shown else [],
    )


def _row(lines: Lines, row: SharingRow, rows: Sequence[SharingRow]) -> records.SharedRow:
    missing = lines.missing(row)
    return records.SharedRow(
        name=lines.data(row),
        verdict=verdict_word(row),
        kind=kind(row.sums),
        kernels={
            label: _sums(row.sums[kernel], _drawn(lines, row, rows, kernel))
            for kernel, label in enumerate(lines.labels)
        },
        changes=_changes(lines, row),
        functions=[
            records.SharedFunction(
                name=lines.function(one.function),
                within=lines.function(one.within[0]) if one.within else "",
                misses=by_label(lines.labels, one.misses),
            )
            for one in missing[:FUNCTIONS]
        ],
        more=max(len(missing) - FUNCTIONS, 0),
        bystanders=[
            records.SharedReads(
                name=lines.title(one.name), reads=by_label(lines.labels, one.counts)
            )
            for one in lines.table.reads(row)[:BYSTANDERS]
        ],
    )


def _sums(one: Sums, line: records.DrawnLine | None) -> records.SharedSums:
    return records.SharedSums(
        transfers=one.transfers,
        misses=one.all_misses,
        read_fetches=one.read_fetches,
        write_fetches=one.write_fetches,
        upgrades=one.upgrades,
        lines=one.lines,
        locked=one.locked,
        kind=kind([one]),
        line=line,
    )


def _changes(lines: Lines, row: SharingRow) -> dict[str, records.SharedChange]:
    def delta(change: Change, one: Difference) -> records.SharedDelta:
        known = one.delta if change.sure else None
        return records.SharedDelta(delta=known, low=one.low, high=one.high)

    return {
        label: records.SharedChange(
            transfers=delta(one, one.transfers),
            misses=delta(one, one.misses),
            causes=list(one.causes),
        )
        for label, one in zip(lines.labels[1:], row.changes, strict=True)
    }


def _drawn(
    lines: Lines, row: SharingRow, rows: Sequence[SharingRow], kernel: int
) -> records.DrawnLine | None:
    """The row's line on a kernel, or that of the data which the kernel has instead."""
    line, of = row.sums[kernel].largest, ""
    if line is None:
        other = _instead(lines, row, rows, kernel)
        if other is None:
            return None
        line, of = other.sums[kernel].largest, lines.data(other)
    if line is None:
        return None
    fields = joined(_fields(lines, line))
    return records.DrawnLine(
        of=of, size=line.size, fields=fields[:FIELDS], more=max(len(fields) - FIELDS, 0)
    )


def _fields(lines: Lines, line: LineUse | None) -> list[records.LineField]:
    return [
        records.LineField(
            offset=one.offset,
            size=one.size,
            name=lines.title(*one.named) if one.named else "",
            loads=one.loads,
            stores=one.stores,
        )
        for one in (line.fields if line else [])
    ]


def _instead(
    lines: Lines, row: SharingRow, rows: Sequence[SharingRow], kernel: int
) -> SharingRow | None:
    """What a kernel that has no line of a row has instead: the one row of the same type, or else
    the one whose line has fields of the same names."""
    theirs = [at for at, one in enumerate(row.sums) if one.largest]
    if not theirs:
        return None
    alone = [
        other
        for other in rows
        if other.sums[kernel].largest and not any(other.sums[one].largest for one in theirs)
    ]
    alike = [
        other
        for other in alone
        if row.name.kind == other.name.kind == "field" and row.name.type == other.name.type
    ]
    if not alike:
        own = _names(lines, row.sums[theirs[0]].largest)
        alike = [
            other for other in alone if own and _names(lines, other.sums[kernel].largest) == own
        ]
    return alike[0] if len(alike) == 1 else None


def _names(lines: Lines, line: LineUse | None) -> set[str]:
    return {one.name for one in _fields(lines, line) if one.name}


def joined(fields: Iterable[records.LineField]) -> list[records.LineField]:
    """Accesses to a part of a field, and those beside each other by the same vCPUs, are accesses to
    one field of this name."""
    found: list[records.LineField] = []
    for own in sorted(fields, key=lambda one: (one.offset, -one.size)):
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
