"""Which data the kernels of a session load and store, and which functions do."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from profdiff.base.errors import InputError
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics.rule import Verdict
from profdiff.profile.comparison import Comparison
from profdiff.profile.data import naming
from profdiff.profile.data.cells import Functions
from profdiff.profile.data.keys import Group
from profdiff.profile.data.pairing import By
from profdiff.profile.data.table import NOT_EXACT, DataRow, DataTable, FunctionPart
from profdiff.profile.function_identity import title


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
        comparison = findings.exact
        if comparison is None:
            raise InputError(NOT_EXACT)
        table = DataTable.of(comparison, findings.session, fold_folios=fold_folios)
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
        return naming.of_row(row, self.by)

    def function(self, number: int) -> str:
        """What a function is called."""
        function, several = self.functions.known[number], self.functions.namesakes
        namesakes = number < len(several) and several[number]
        return title(function.name, function.object, function.file, namesakes=namesakes)


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
    same = [one for one in row.parts if (one.counts[kernel] - one.counts[0]) * sign > 0]
    parts = sorted(same, key=lambda one: -abs(one.counts[kernel] - one.counts[0])) or row.parts
    return parts[0] if parts else None


def _opposite(rows: Sequence[DataRow]) -> bool:
    sums: defaultdict[int, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        if row.kind == "field" and row.types in (["page"], ["folio"]):
            for kernel, count in enumerate(row.counts):
                sums[kernel][row.types[0]] += count - row.counts[0]
    return any(one["page"] * one["folio"] < 0 for one in sums.values())
