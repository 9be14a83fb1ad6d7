"""The data that kernels access, as far as the session keeps it and the page has room; and which of
its rows an instruction's access is in."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.findings import Findings
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.data.table import DataRow, DataTable
from profdiff.reports.documents import session
from profdiff.reports.page.element import element
from profdiff.reports.page.packed_accesses import Packing, kept
from profdiff.reports.page.records import AccessGroup, EmbeddedAccesses, PageAccesses
from profdiff.session.session import Session
from profdiff.views.annotation.access import Access

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
        shown = next((one for one in accesses if one.title), None)
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
    for number, comparison in enumerate(session.shown(findings)):
        if class_names(comparison) and findings.session and _are_kept(findings.session, comparison):
            try:
                return _shown(number, comparison, DataTable.of(comparison, findings.session))
            except (InputError, SessionError):
                return _NOTHING
    return _NOTHING


def _are_kept(opened: Session, comparison: Comparison) -> bool:
    kernels = [opened.kernel(one.label) for one in comparison.kernels]
    return all(one.accesses and opened.whole(one.accesses) for one in kernels)


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
    return session.encode(made)


def _key(store: bool, kind: str, type_: str, symbol: str, reason: str, path: str) -> _Key:
    # A variable is one whatever its type is, and accesses of no field have none.
    return (store, kind, "" if kind == "variable" else type_, symbol, reason, path)
