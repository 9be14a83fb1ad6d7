"""The record of which data kernels load and store."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import cast

from profdiff import __version__
from profdiff.base.cache_line import LINE
from profdiff.base.errors import InputError
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.data.functions import Functions
from profdiff.profile.data.guard import Interval
from profdiff.profile.data.keys import Group
from profdiff.profile.data.known import NOT_EXACT
from profdiff.profile.data.table import DataRow, DataTable
from profdiff.profile.data.table import FunctionPart as Part
from profdiff.session.session import Session
from profdiff.views.profile.functions import title
from profdiff.views.record import by_label
from profdiff.views.types import records
from profdiff.views.types.records import Direction, FunctionPart, Kind, Row, Total, TypesDocument


def build(
    comparison: Comparison, session: Session | None, *, fold_folios: bool = False
) -> TypesDocument:
    """Raises InputError where accesses are not known, SessionError where what is kept is
    damaged."""
    table = DataTable.of(comparison, session, fold_folios=fold_folios)
    return of_table(comparison, table, fold_folios=fold_folios)


def of_table(
    comparison: Comparison, table: DataTable, *, fold_folios: bool = False
) -> TypesDocument:
    """The same of a table that was made before."""
    labels = comparison.labels
    making = _Making(labels, table.functions)
    types = making.rows(row for row in table.rows("type") if row.group == "data")
    fields = table.rows("field")
    return TypesDocument(
        schema=records.SCHEMA,
        profdiff=__version__,
        kernels=[
            records.KernelSide(label=one.label, release=one.release) for one in comparison.kernels
        ],
        ops=comparison.ops,
        unit="accesses",
        line_size=LINE,
        one_boot=comparison.scattered,
        folded_folios=fold_folios,
        opposite_folios=_opposite(types),
        fields=making.rows(fields),
        types=types,
        lines=making.rows(row for row in table.rows("line") if row.group == "data"),
        totals=_totals(labels, fields),
        not_covered=["user-space"],
    )


class _Making:
    def __init__(self, labels: Sequence[str], functions: Functions) -> None:
        self._labels, self._functions = labels, functions

    def rows(self, rows: Iterable[DataRow]) -> list[Row]:
        """Their records, in order."""
        return [self._row(row) for row in rows]

    def _row(self, row: DataRow) -> Row:
        labels = self._labels
        field, *also = row.paths or [""]
        return Row(
            access=_direction(row),
            group=row.group,
            kind=cast(Kind, row.kind),
            type="|".join(row.types),
            symbol=row.symbol,
            field=field,
            also=also,
            alternatives=row.alternatives,
            reason=row.reason,
            line=by_label(labels, row.lines),
            offset=by_label(labels, row.offsets),
            counts=by_label(labels, row.counts),
            changes=self._changes(row.counts, row.intervals),
            functions=[self._part(one) for one in row.parts],
        )

    def _part(self, part: Part) -> FunctionPart:
        function = self._functions.known[part.function]
        return FunctionPart(
            name=self._name(part.function),
            object=function.object,
            file=function.file,
            within=[self._name(one) for one in part.within],
            counts=by_label(self._labels, part.counts),
            changes=self._changes(part.counts, part.intervals),
        )

    def _name(self, number: int) -> str:
        function, several = self._functions.known[number], self._functions.namesakes
        namesakes = number < len(several) and several[number]
        return title(function.name, function.object, function.file, namesakes=namesakes)

    def _changes(
        self, counts: Sequence[int], intervals: Sequence[Interval]
    ) -> dict[str, records.Change]:
        base = counts[0]
        return {
            label: records.Change(
                delta=count - base if interval.sure else None,
                interval=records.Interval(low=interval.low, high=interval.high),
                verdict="exact" if interval.sure else "unsure",
                causes=sorted(interval.causes),
            )
            for label, count, interval in zip(self._labels[1:], counts[1:], intervals, strict=True)
        }


def _direction(row: DataRow) -> Direction:
    return "store" if row.store else "load"


def _totals(labels: Sequence[str], rows: Sequence[DataRow]) -> list[Total]:
    sums: defaultdict[tuple[Direction, Group, str], list[int]] = defaultdict(
        lambda: [0] * len(labels)
    )
    for row in rows:
        known = sums[_direction(row), row.group, row.reason]
        known[:] = [one + more for one, more in zip(known, row.counts, strict=True)]
    return [
        Total(access=access, group=group, reason=reason, counts=by_label(labels, values))
        for (access, group, reason), values in sorted(sums.items())
    ]


def _opposite(types: Sequence[Row]) -> bool:
    """Whether some kernel accesses more folios and fewer pages than the base, or the other way
    round."""
    sums: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in types:
        if row.kind == "field" and row.type in ("page", "folio"):
            base = next(iter(row.counts.values()))
            for label in row.changes:
                sums[label][row.type] += row.counts[label] - base
    return any(one["page"] * one["folio"] < 0 for one in sums.values())


def comparison_of(comparisons: Sequence[Comparison]) -> Comparison:
    """The one whose instructions were counted exactly. Raises InputError where none is."""
    found = next((one for one in comparisons if class_names(one)), None)
    if found is None:
        raise InputError(NOT_EXACT)
    return found
