"""The data that kernels access, as far as the session keeps it and the page has room; and which of
its rows an instruction's access is in."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, get_args

from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.findings import Findings
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.data.cells import Functions
from profdiff.profile.data.guard import Cause, Interval
from profdiff.profile.data.table import DataRow, DataTable, FunctionPart, of_row
from profdiff.reports import documents
from profdiff.reports.page.records import (
    AccessGroup,
    AccessRows,
    EmbeddedAccesses,
    PageAccesses,
    element,
)
from profdiff.session.session import Session
from profdiff.views.annotation.records import Access
from profdiff.views.record import by_label

# Of a row, so many functions are kept, and names.
PARTS = 12
NAMES = 20
_CAUSES: tuple[Cause, ...] = get_args(Cause)
_GROUPS = ("data", "stack", "unresolved")
_NONE = -1
# Functions that the metric lacks are numbered from here downwards.
_OTHERS = -2


class Packing:
    """``known``: how many of the functions the page's metric has."""

    def __init__(self, labels: Sequence[str], functions: Functions, known: int) -> None:
        self._labels, self._functions, self._known = labels, functions, known
        self._strings: dict[str, int] = {"": 0}
        self._others: dict[str, int] = {}

    def packed(self, rows: dict[AccessGroup, Sequence[DataRow]], most: int) -> PageAccesses:
        """``rows``: all that there are; ``most``: so many of data are kept, and half as many of the
        stack."""
        every = rows["field"]
        unresolved = [row.counts for row in every if row.group == "unresolved"]
        made = {group: self._rows(kept(own, most), group) for group, own in rows.items()}
        return PageAccesses(
            rows=made,
            totals=by_label(self._labels, self._sums([row.counts for row in every])),
            unresolved=by_label(self._labels, self._sums(unresolved)),
            causes=list(_CAUSES),
            others=list(self._others),
            strings=list(self._strings),
        )

    def _sums(self, counts: Sequence[Sequence[int]]) -> list[int]:
        return [sum(count[at] for count in counts) for at in range(len(self._labels))]

    def _rows(self, rows: Sequence[DataRow], by: AccessGroup) -> AccessRows:
        parts = [part for row in rows for part in row.parts[:PARTS]]
        low, high = self._ends([row.intervals for row in rows])
        part_low, part_high = self._ends([part.intervals for part in parts])
        return AccessRows(
            name=[self._text(of_row(row, by)) for row in rows],
            names=[self._names(row, by) for row in rows],
            group=[_GROUPS.index(row.group) for row in rows],
            store=[int(row.store) for row in rows],
            line=self._known_or_not([row.lines for row in rows]),
            offset=self._known_or_not([row.offsets for row in rows]),
            counts=self._by_label([row.counts for row in rows]),
            low=low,
            high=high,
            causes={
                label: [_bits(row.intervals[at]) for row in rows]
                for at, label in enumerate(self._labels[1:])
            },
            parts=[min(len(row.parts), PARTS) for row in rows],
            more=[max(len(row.parts) - PARTS, 0) for row in rows],
            function=[self._function(part.function) for part in parts],
            within=[self._within(part) for part in parts],
            part_counts=self._by_label([part.counts for part in parts]),
            part_low=part_low,
            part_high=part_high,
        )

    def _text(self, text: str) -> int:
        return self._strings.setdefault(text, len(self._strings))

    def _names(self, row: DataRow, by: AccessGroup) -> list[int]:
        every = [*row.paths, *row.alternatives] if by == "field" else []
        return [self._text(one) for one in every[:NAMES]] if len(every) > 1 else []

    def _by_label(self, values: Sequence[Sequence[int]]) -> dict[str, list[int]]:
        return {label: [value[at] for value in values] for at, label in enumerate(self._labels)}

    def _known_or_not(self, values: Sequence[Sequence[int | None]]) -> dict[str, list[int]]:
        return self._by_label([[_NONE if one is None else one for one in own] for own in values])

    def _ends(
        self, intervals: Sequence[Sequence[Interval]]
    ) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
        low, high = {}, {}
        for at, label in enumerate(self._labels[1:]):
            low[label] = [own[at].low for own in intervals]
            high[label] = [own[at].high for own in intervals]
        return low, high

    def _within(self, part: FunctionPart) -> int:
        return self._function(part.within[0]) if part.within else _NONE

    def _function(self, number: int) -> int:
        if number < self._known:
            return number
        name = self._functions.known[number].name
        return _OTHERS - self._others.setdefault(name, len(self._others))


def kept(rows: Sequence[DataRow], most: int) -> list[DataRow]:
    """The rows that a page has, in order."""
    left = {"data": most, "stack": most // 2, "unresolved": most}
    found = []
    for row in rows:
        left[row.group] -= 1
        if left[row.group] >= 0:
            found.append(row)
    return found


def _bits(interval: Interval) -> int:
    return sum(1 << _CAUSES.index(cause) for cause in interval.causes)


# Rows of data that a page has, by what a row is, and what all of them may take, in bytes.
MOST = 500
ROOM = 150_000

_Key = tuple[object, ...]


class RowNumbers:
    """Which row an access is in, by its number."""

    def __init__(self, rows: Sequence[DataRow] = ()) -> None:
        self._numbers: dict[_Key, int] = {}
        for number, row in enumerate(rows):
            for path in row.paths or [""]:
                key = _key(row.store, row.kind, "|".join(row.types), row.symbol, row.reason, path)
                self._numbers.setdefault(key, number)

    def of(self, accesses: Iterable[Access]) -> int | None:
        """The row of the first of them that is shown, of its load if it loads and stores; None
        where there is no such."""
        shown = next((access for access in accesses if access.title), None)
        if shown is None:
            return None
        for store, does in ((False, shown.load), (True, shown.store)):
            key = _key(store, shown.kind, shown.type, shown.symbol, shown.reason, shown.field)
            if does and key in self._numbers:
                return self._numbers[key]
        return None


class ShownAccesses(NamedTuple):
    """``held``: None where nothing is known; ``numbers``: by metric."""

    held: EmbeddedAccesses | None
    elements: str
    numbers: Mapping[int, RowNumbers]


_NOTHING = ShownAccesses(None, "", {})


def page_accesses(findings: Findings) -> ShownAccesses:
    """Those of the exact metric. What the session does not keep takes seconds to find out: a page
    is made without it."""
    for number, comparison in enumerate(documents.shown(findings)):
        if class_names(comparison) and findings.session and _are_kept(findings.session, comparison):
            try:
                return _shown(number, comparison, DataTable.of(comparison, findings.session))
            except (InputError, SessionError):
                return _NOTHING
    return _NOTHING


def _are_kept(opened: Session, comparison: Comparison) -> bool:
    kernels = [opened.kernel(kernel.label) for kernel in comparison.kernels]
    return all(kernel.accesses and opened.whole(kernel.accesses) for kernel in kernels)


def _shown(number: int, comparison: Comparison, table: DataTable) -> ShownAccesses:
    groups: tuple[AccessGroup, ...] = ("field", "type", "line")
    rows: dict[AccessGroup, Sequence[DataRow]] = {group: table.rows(group) for group in groups}
    if not rows["field"]:
        return _NOTHING
    most, text = MOST, ""
    while (
        most
        and len(text := element("held-accesses", _packed(comparison, table, rows, most))) > ROOM
    ):
        most //= 2
    if not most:
        return _NOTHING
    held = {group: kept(own, most) for group, own in rows.items()}
    return ShownAccesses(
        EmbeddedAccesses(
            metric=number,
            held={group: len(own) for group, own in held.items()},
            all={group: len(own) for group, own in rows.items()},
        ),
        text,
        {number: RowNumbers(held["field"])},
    )


def _packed(
    comparison: Comparison,
    table: DataTable,
    rows: dict[AccessGroup, Sequence[DataRow]],
    most: int,
) -> bytes:
    packing = Packing(comparison.labels, table.functions, len(comparison.functions))
    made: PageAccesses = packing.packed(rows, most)
    return documents.encode(made)


def _key(store: bool, kind: str, type_: str, symbol: str, reason: str, path: str) -> _Key:
    # A variable is one whatever its type is, and accesses of no field have none.
    return (store, kind, "" if kind == "variable" else type_, symbol, reason, path)
