"""Which data the kernels of a session load and store, and which functions do."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from profdiff.base.errors import InputError
from profdiff.base.names import suggesting
from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.difference import AbsentError, Difference, summed
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics.rule import Verdict
from profdiff.profile.comparison import Comparison
from profdiff.profile.data.cells import By, Functions
from profdiff.profile.data.keys import Group
from profdiff.profile.data.table import (
    NOT_EXACT,
    DataRow,
    DataTable,
    FunctionPart,
    is_within,
    of_row,
)
from profdiff.profile.function_identity import title

# Kinds of rows that conditions name.
_NAMED = ("field", "variable", "stack-variable")


class Accesses(NamedTuple):
    """``rows``: by group, those that changed most first; of data by ``by``. ``opposite``: whether
    some kernel accesses more folios and fewer pages than the base, or the other way round."""

    comparison: Comparison
    functions: Functions
    by: By
    rows: Mapping[Group, Sequence[DataRow]]
    opposite: bool

    @staticmethod
    def of(findings: Findings, by: By = "field", *, fold_folios: bool = False) -> "Accesses":
        """Those of exact counts. ``fold_folios``: as of ``DataTable``. Raises InputError where
        accesses are not known, SessionError where what is kept is damaged."""
        comparison, table = _table(findings, fold_folios=fold_folios)
        fields = table.rows("field")
        data = fields if by == "field" else table.rows(by)
        rows: dict[Group, Sequence[DataRow]] = {
            "data": [row for row in data if row.group == "data"],
            "stack": [row for row in fields if row.group == "stack"],
            "unresolved": [row for row in fields if row.group == "unresolved"],
        }
        opposite = not fold_folios and _opposite(rows["data"])
        return Accesses(comparison, table.functions, by, rows, opposite)

    @property
    def labels(self) -> Sequence[str]:
        """The base's first."""
        return self.comparison.labels

    def title(self, row: DataRow) -> str:
        """What a row is of."""
        return of_row(row, self.by)

    def function(self, number: int) -> str:
        """What a function is called."""
        function, several = self.functions.known[number], self.functions.namesakes
        namesakes = number < len(several) and several[number]
        return title(function.name, function.object, function.file, namesakes=namesakes)


class DataChanges:
    """How often the kernels load or store fields, types and variables. Raises InputError where
    accesses are not known, SessionError where what is kept is damaged."""

    def __init__(self, findings: Findings) -> None:
        self._comparison, self._table = _table(findings)

    @cached_property
    def _fields(self) -> list[DataRow]:
        return [row for row in self._table.rows() if row.kind in _NAMED]

    @cached_property
    def _wholes(self) -> list[DataRow]:
        """The same, those of a type or variable as one: of their sum, more is certain."""
        return [row for row in self._table.rows("type") if row.kind in _NAMED]

    def changes(self, condition: Condition) -> Iterator[MeasuredChange]:
        """Those of the loads or stores of a type or variable, a field, or the fields of a member.
        Raises AbsentError where no kernel accesses that."""
        owner, _, field = condition.what.partition(".")
        every = self._fields if field else self._wholes
        rows = of_owner = [row for row in every if owner in row.types or row.symbol == owner]
        if not of_owner:
            known = {one for row in every for one in (*row.types, row.symbol)}
            raise AbsentError(suggesting(f"no kernel accesses a type {owner}", owner, known))
        if field:
            rows = [
                row
                for row in of_owner
                if any(is_within(one, field) for one in (*row.paths, *row.alternatives))
            ]
        if not rows:
            fields = {path for row in of_owner for path in row.paths}
            raise AbsentError(suggesting(f"no kernel accesses {condition.what}", field, fields))
        rows = [row for row in rows if f"{access(row)}s" == condition.metric]
        labels, ops = self._comparison.labels, self._comparison.ops
        counts = added(rows, len(labels))
        for kernel, label in enumerate(labels[1:], 1):
            own, pair = (
                summed([difference(row, kernel) for row in rows]),
                [counts[0], counts[kernel]],
            )
            note = f"not certain: {', '.join(own.causes)}" if own.low != own.high else ""
            about: Any = {"note": note, "one_run": True}
            yield MeasuredChange.of_difference(label, condition, pair, own, ops, **about)


def access(row: DataRow) -> str:
    """What is done."""
    return "store" if row.store else "load"


def added(rows: Sequence[DataRow], kernels: int) -> list[int]:
    """The sum of rows, by kernel."""
    return [sum(row.counts[kernel] for row in rows) for kernel in range(kernels)]


def difference(of: DataRow | FunctionPart, kernel: int) -> Difference:
    """A kernel's difference to the base."""
    interval = of.intervals[kernel - 1]
    return Difference(
        of.counts[kernel] - of.counts[0],
        interval.low,
        interval.high,
        Verdict.EXACT if interval.sure else Verdict.UNSURE,
        causes=tuple(sorted(interval.causes)),
    )


def largest_part(row: DataRow, kernel: int) -> FunctionPart | None:
    """The function that changed most in the direction of the row, on one kernel."""
    sign = row.counts[kernel] - row.counts[0]
    same = [part for part in row.parts if (part.counts[kernel] - part.counts[0]) * sign > 0]
    parts = sorted(same, key=lambda one: -abs(one.counts[kernel] - one.counts[0])) or row.parts
    return parts[0] if parts else None


def _table(findings: Findings, *, fold_folios: bool = False) -> tuple[Comparison, DataTable]:
    if findings.exact is None:
        raise InputError(NOT_EXACT)
    table = DataTable.of(findings.exact, findings.session, fold_folios=fold_folios)
    return findings.exact, table


def _opposite(rows: Sequence[DataRow]) -> bool:
    sums: defaultdict[int, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        if row.kind == "field" and row.types in (["page"], ["folio"]):
            for kernel, count in enumerate(row.counts):
                sums[kernel][row.types[0]] += count - row.counts[0]
    return any(one["page"] * one["folio"] < 0 for one in sums.values())
