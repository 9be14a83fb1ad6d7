"""The accesses as text: a sentence for each kernel; tables of data, of the stack, and of what is
unresolved; notes."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.forms.columns import MIN_WIDTH, Block, Column, draw, fitted
from profdiff.forms.numbers import Numbers
from profdiff.profile.data.keys import Group
from profdiff.profile.data.pairing import By
from profdiff.reports.types.rows import chosen, named
from profdiff.views.profile.selection import Selection
from profdiff.views.record import Counts
from profdiff.views.types import naming
from profdiff.views.types.records import Change, FunctionPart, Row, TypesDocument

UNSURE, ABOUT = "?", "~"
# With more kernels, a sentence for each is a page that nobody reads.
_FEW = 3
_GROUPS: dict[Group, str] = {
    "data": "of data",
    "stack": "of the stack",
    "unresolved": "of what is not known",
}
_HEADINGS: dict[By, str] = {"field": "field", "type": "type", "line": "line of 64 bytes"}
_SIGNS = {
    UNSURE: f"{UNSURE}: accesses that are not resolved, or may be of other data, could explain the "
    "difference; --json has the interval in which it lies, and why.",
    ABOUT: f"{ABOUT}: accesses that are not resolved, or may be of other data, can make the number "
    "larger or smaller, but do not change its sign.",
    "|": "|: names of one place in a union.",
    "=": "=: names that kernels have for one field.",
}
_FOLIOS = (
    "struct page and struct folio changed in opposite directions: --fold-folios counts the fields "
    "that they have in common as those of page."
)
_COVERS = (
    "Counts are loads and stores that the kernel's code executed; user space is not covered. "
    "function: where most of the change is; what is inlined from a header belongs to where it is "
    "inlined."
)
_LINES = "Lines are those of an object that is aligned to 64 bytes."


class _Line(NamedTuple):
    """A row of a table; ``changes``: None in sums."""

    counts: Counts
    changes: dict[str, Change] | None
    access: str
    name: str
    function: str = ""


def render(
    document: TypesDocument,
    by: By,
    selection: Selection,
    *,
    width: int,
    per_op: bool | None = None,
    ratios: bool = False,
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``)."""
    width = max(width, MIN_WIDTH)
    numbers = Numbers(document.ops if per_op is not False else None, ratios)
    rows = chosen(document, by)
    drawing = _Drawing(document, by, selection, numbers, width)
    parts: list[Block | str] = [*_sums(document, numbers), *_sentences(document, rows, by, numbers)]
    boot = "; of each kernel, the boot with the median total stands for all"
    title = f"loads and stores of data by {_HEADINGS[by]}{numbers.title}"
    title += boot if document.one_boot else ""
    parts += drawing.table(title, [row for row in rows if row.group == "data"], "data")
    parts += drawing.table(
        f"loads and stores of the stack{numbers.title}",
        [row for row in rows if row.group == "stack"],
        "stack",
    )
    parts += drawing.unresolved()
    parts += _notes(document, by, drawing.shown)
    lines: list[str] = []
    for part in parts:
        lines += [*([""] if lines else [])]
        lines += units.wrap(part, width) if isinstance(part, str) else part.lines
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _sums(document: TypesDocument, numbers: Numbers) -> list[str]:
    """Where each of few kernels' loads and stores went, or the last one's of many."""
    base, *others = document.labels

    def summed(label: str, group: Group | None = None) -> int:
        return sum(one.counts[label] for one in document.totals if group in (None, one.group))

    told = []
    for label in others if len(others) <= _FEW else others[-1:]:
        by_group = ", ".join(
            f"{numbers.delta(summed(label, group) - summed(base, group))} {where}"
            for group, where in _GROUPS.items()
            if summed(label, group) or summed(base, group)
        )
        per = " per op" if numbers.ops else ""
        told.append(
            f"{label} executes {numbers.count(summed(label))} loads and stores{per}, {base} "
            f"{numbers.count(summed(base))}: {by_group}."
        )
    return [units.printable(one) for one in told]


def _sentences(document: TypesDocument, rows: Sequence[Row], by: By, numbers: Numbers) -> list[str]:
    """What changed most for certain: for each of few kernels, or for the last of many."""
    others = document.labels[1:]
    shown = others if len(others) <= _FEW else others[-1:]
    return [sentence(document, rows, by, label, numbers) for label in shown]


def sentence(
    document: TypesDocument, rows: Sequence[Row], by: By, label: str, numbers: Numbers
) -> str:
    """What changed most for certain on one kernel."""
    base = document.labels[0]
    sure = [row for row in rows if row.group == "data" and row.changes[label].delta]
    if not sure:
        return f"{label}: no difference to {base} is certain in the data of the kernel."
    row = max(sure, key=lambda one: abs(one.changes[label].delta or 0))
    before, behind = row.counts[base], row.counts[label]
    per = " per op" if numbers.ops else ""
    return units.printable(
        f"{label} {row.access}s {named(row, by)} {numbers.count(behind)} times{per}, {base} "
        f"{numbers.count(before)} ({difference(row.changes[label], numbers)})"
        + (f", mostly in {part.title}." if (part := _largest(row, label)) else ".")
    )


def _largest(row: Row, label: str | None) -> FunctionPart | None:
    """The function that changed most in the direction of the row, on one kernel."""
    parts = row.functions
    if label is not None:
        base = next(iter(row.counts))
        sign = row.counts[label] - row.counts[base]
        same = [one for one in parts if (one.counts[label] - one.counts[base]) * sign > 0]
        parts = sorted(same, key=lambda one: -abs(one.counts[label] - one.counts[base])) or parts
    return parts[0] if parts else None


def difference(change: Change, numbers: Numbers) -> str:
    """A difference, with the sign that says how sure it is."""
    if change.delta is None:
        return UNSURE
    exact = change.interval.low == change.interval.high
    return f"{'' if exact else ABOUT}{numbers.delta(change.delta)}"


class _Drawing:
    def __init__(
        self,
        document: TypesDocument,
        by: By,
        selection: Selection,
        numbers: Numbers,
        width: int,
    ) -> None:
        self._document, self._by, self._numbers = document, by, numbers
        self._selection, self._width = selection, width
        self.shown: list[Row] = []

    def table(self, title: str, rows: Sequence[Row], what: str) -> list[Block]:
        """The rows that were asked for; then the rest, and all."""
        if not rows:
            return []
        base = self._document.labels[0]
        least = self._selection.min_delta
        wanted = [
            row
            for row in rows
            if max(abs(count - row.counts[base]) for count in row.counts.values()) >= least
        ][: self._selection.top]
        self.shown += wanted
        hidden = [row for row in rows if row not in wanted] if len(wanted) < len(rows) else []
        lines = [self._line(row) for row in wanted]
        tail = []
        if hidden:
            name = f"{len(hidden):,} not shown"
            tail.append(_Line(self._sum(hidden), None, "", name))
        tail.append(_Line(self._sum(rows), None, "", f"all {what}"))
        return self._drawn(title, what, lines, tail)

    def unresolved(self) -> list[Block]:
        """What is accessed nobody knows, by reason, with its part of all accesses."""
        labels, totals = self._document.labels, self._document.totals
        whole = self._added(one.counts for one in totals)
        reasons: dict[str, Counts] = {}
        for one in totals:
            if one.group == "unresolved":
                known = reasons.get(one.reason, dict.fromkeys(labels, 0))
                reasons[one.reason] = self._added([known, one.counts])
        columns, several = [], len(labels) > 2
        for part, label in enumerate(labels):
            own = part if several else None
            columns += [Column(label, part=own), Column("share", part=own)]
        columns.append(Column("unresolved", name=True))

        def cells(counts: Counts, name: str) -> list[str]:
            told = []
            for label in labels:
                told += [
                    self._numbers.count(counts[label]),
                    units.share(counts[label], whole[label]),
                ]
            return [*told, name]

        order = sorted(reasons.items(), key=lambda one: (-max(map(abs, one[1].values())), one[0]))
        body = [cells(counts, naming.WORDS[reason]) for reason, counts in order]
        tail = [
            cells(self._added(reasons.values()), "all unresolved"),
            cells(whole, "all loads and stores"),
        ]
        title = f"loads and stores of what is not known{self._numbers.title}"
        return draw(title, columns, body, self._width, tail)

    def _added(self, every: Iterable[Counts]) -> Counts:
        sums = dict.fromkeys(self._document.labels, 0)
        for one in every:
            sums = {label: count + one[label] for label, count in sums.items()}
        return sums

    def _sum(self, rows: Sequence[Row]) -> Counts:
        return self._added(row.counts for row in rows)

    def _line(self, row: Row) -> _Line:
        others = self._document.labels[1:]
        base = next(iter(row.counts.values()))
        label = max(others, key=lambda one: abs(row.counts[one] - base), default=None)
        part = _largest(row, label)
        function = (part.within or [part.name])[0] if part else ""
        return _Line(row.counts, row.changes, row.access, named(row, self._by), function)

    def _drawn(
        self, title: str, what: str, lines: Sequence[_Line], tail: Sequence[_Line]
    ) -> list[Block]:
        base, *others = self._document.labels
        columns: list[tuple[Column, Callable[[_Line], str]]] = [
            (Column(base), lambda line: self._numbers.count(line.counts[base]))
        ]
        several = len(others) > 1
        for part, label in enumerate(others):
            own = part if several else None
            columns.append((Column(label, part=own), self._count(label)))
            spare = 1 if several else 0
            columns.append((Column("delta", part=own, spare=spare), self._change(label)))
            columns.append((Column(self._numbers.relative, part=own, spare=2), self._part(label)))
        columns += [
            (Column("access"), lambda line: line.access),
            (Column(what, name=True), lambda line: line.name),
            (Column("function", name=True), lambda line: line.function),
        ]
        made, below = (
            [[cell(line) for _, cell in columns] for line in some] for some in (lines, tail)
        )
        drawn = [column for column, _ in columns]
        return draw(title, drawn, fitted(drawn, made, below, self._width), self._width, below)

    def _count(self, label: str) -> Callable[[_Line], str]:
        return lambda line: self._numbers.count(line.counts[label])

    def _change(self, label: str) -> Callable[[_Line], str]:
        return lambda line: difference(line.changes[label], self._numbers) if line.changes else ""

    def _part(self, label: str) -> Callable[[_Line], str]:
        base = self._document.labels[0]

        def cell(line: _Line) -> str:
            if line.changes is None:
                return ""
            if line.changes[label].delta is None:
                return UNSURE
            return self._numbers.change(line.counts[base], line.counts[label])

        return cell


def _notes(document: TypesDocument, by: By, shown: Sequence[Row]) -> list[str]:
    """What the signs mean that are there, and what is counted."""
    changes = [change for row in shown for change in row.changes.values()]
    there = {
        UNSURE: any(one.delta is None for one in changes),
        ABOUT: any(
            one.delta is not None and one.interval.low != one.interval.high for one in changes
        ),
        "|": by == "field" and any(row.alternatives for row in shown),
        "=": by == "field" and any(row.also for row in shown),
    }
    told = [_SIGNS[sign] for sign, wanted in there.items() if wanted]
    notes = [" ".join([*told, _COVERS, *([_LINES] if by == "line" else [])])]
    if document.opposite_folios and not document.folded_folios:
        notes.append(_FOLIOS)
    return notes
