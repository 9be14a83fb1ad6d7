"""What a condition on data is about, measured: where fields lie, how often they are accessed."""

import math
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.conditions.names import LAYOUT, LINES, STORES
from profdiff.evidence.findings import Findings
from profdiff.profile.code.classes import class_names
from profdiff.profile.comparison import Comparison
from profdiff.profile.data.table import DataRow, DataTable
from profdiff.profile.data.type_layout import (
    AccessedType,
    AllAccessed,
    FieldPlace,
    accessed,
    accessed_types,
)

_NO_COUNTS = "only exact counts tell what is accessed: record with --collector exact"
_FIELDS = ("field", "variable", "stack-variable")


class _Untold(NamedTuple):
    """Why a change cannot be told. ``absent``: no kernel accesses what is asked for."""

    why: str
    absent: bool = False


class DataChanges:
    """Changes of the data behind the exact metric at one setting. Each figure is made when it is
    first asked for; what is not known is inconclusive, with the reason."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._labels = findings.results.labels
        self._session, self._at = findings.session, findings.setting.title

    @cached_property
    def _comparison(self) -> Comparison | None:
        return next((one for one in self._findings.comparisons if class_names(one)), None)

    @cached_property
    def _accessed(self) -> AllAccessed:
        if self._comparison is None:
            return AllAccessed([None], [_NO_COUNTS])
        return accessed(self._comparison, self._session)

    @cached_property
    def _types(self) -> dict[str, AccessedType]:
        return {one.name: one for one in accessed_types(self._accessed.kernels)}

    @cached_property
    def _table(self) -> DataTable:
        """Raises InputError, SessionError."""
        if self._comparison is None:
            raise InputError(_NO_COUNTS)
        return DataTable.of(self._comparison, self._session)

    @cached_property
    def _rows(self) -> list[DataRow]:
        """The accesses to fields. Raises InputError, SessionError."""
        return [row for row in self._table.rows() if row.kind in _FIELDS]

    @cached_property
    def _wholes(self) -> list[DataRow]:
        """The same, those of a type or variable as one: of their sum, more is certain."""
        return [row for row in self._table.rows("type") if row.kind in _FIELDS]

    def accesses(self, name: str) -> bool:
        """Whether some kernel is known to access a type or variable."""
        try:
            return any(_is_of(row, name) for row in self._wholes)
        except (InputError, SessionError):
            return False

    def changes(self, condition: Condition) -> Iterator[MeasuredChange]:
        """The change on every kernel but the base."""
        labels = self._comparison.labels if self._comparison else self._labels
        for kernel, label in enumerate(labels[1:], 1):
            found = self._change(condition, labels, kernel)
            if isinstance(found, _Untold):
                nothing = MeasuredChange(label, math.nan, math.nan, math.nan, math.nan)
                why, absent = found
                found = replace(nothing, decided=False, undecided=why, absent=absent)
            yield replace(found, at=self._at, of_data=True)

    def _change(
        self, condition: Condition, labels: Sequence[str], kernel: int
    ) -> MeasuredChange | _Untold:
        """On one kernel, or why it cannot be told."""
        if condition.metric not in (LAYOUT, LINES):
            return self._counted(condition, labels, kernel)
        for at in (0, kernel) if self._comparison else (0,):
            if self._accessed.kernels[at] is None:
                why = self._accessed.missing[at]
                return _Untold(f"accessed data is not known: {why} ({labels[at]})")
        name, _, field = condition.what.partition(".")
        type_ = self._types.get(name)
        if type_ is None:
            return _Untold(f"no kernel accesses a type {name}{_near(name, self._types)}", True)
        lacking = [labels[at] for at in (0, kernel) if type_.layouts[at] is None]
        if lacking:
            return _Untold(f"{units.listed(lacking)} accesses nothing of {name}")
        if condition.metric == LINES:
            return _lines(type_, labels, kernel)
        return _moved(type_, field, labels, kernel)

    def _counted(
        self, condition: Condition, labels: Sequence[str], kernel: int
    ) -> MeasuredChange | _Untold:
        """How often a type or variable, a field, or the fields of a member are loaded or stored."""
        name, _, field = condition.what.partition(".")
        try:
            every = self._rows if field else self._wholes
        except (InputError, SessionError) as error:
            return _Untold(str(error))
        rows = of_type = [row for row in every if _is_of(row, name)]
        if not of_type:
            known = {one for row in every for one in (*row.types, row.symbol)}
            return _Untold(f"no kernel accesses a type {name}{_near(name, known)}", True)
        if field:
            rows = [
                row
                for row in of_type
                if any(_within(path, field) for path in (*row.paths, *row.alternatives))
            ]
        if not rows:
            fields = {path for row in of_type for path in row.paths}
            return _Untold(f"no kernel accesses {condition.what}{_near(field, fields)}", True)
        rows = [row for row in rows if row.store == (condition.metric == STORES)]
        counts = [sum(row.counts[at] for row in rows) for at in (0, kernel)]
        low = sum(row.intervals[kernel - 1].low for row in rows)
        high = sum(row.intervals[kernel - 1].high for row in rows)
        causes = sorted({one for row in rows for one in row.intervals[kernel - 1].causes})
        comparison = self._comparison
        ops = (comparison and comparison.ops) or None
        repeated = comparison.repetitions if comparison else []
        differ = [labels[at] for at in (0, kernel) if repeated and not repeated[at].identical]
        factor = (ops or 1) if condition.unit == "/op" else 1
        base, other = (count / factor for count in counts)
        ends = low / factor, high / factor
        return MeasuredChange(
            kernel=labels[kernel],
            base=base,
            other=other,
            low=ends[0] / base if base else math.nan,
            high=ends[1] / base if base else math.nan,
            note=f"not certain: {', '.join(causes)}" if low != high else "",
            difference=ends,
            decided=not differ,
            undecided=f"the runs of {units.listed(differ)} differ" if differ else "",
            ops=ops if condition.unit == "%" else None,
        )


def _lines(type_: AccessedType, labels: Sequence[str], kernel: int) -> MeasuredChange:
    base, other = (type_.lines(at) or 0 for at in (0, kernel))
    change = (other - base) / base if base else math.nan
    return MeasuredChange(
        kernel=labels[kernel],
        base=base,
        other=other,
        low=change,
        high=change,
        note="lines, if objects are aligned to one",
    )


def _moved(
    type_: AccessedType, field: str, labels: Sequence[str], kernel: int
) -> MeasuredChange | _Untold:
    """Whether a field, or all fields of a member, lie in other lines than on the base."""
    layouts = (type_.layouts[at] for at in (0, kernel))
    base, other = (None if layout is None else layout.place(field) for layout in layouts)
    what = f"{type_.name}.{field}"
    if base is None:
        layout = type_.layouts[0]
        known = set(_members(layout.leaves)) if layout else set[str]()
        return _Untold(f"{type_.name} has no {field} on {labels[0]}{_near(field, known)}")
    first = _told(base)
    return MeasuredChange(
        kernel=labels[kernel],
        base=base.lines[0],
        other=math.nan if other is None else other.lines[0],
        low=math.nan,
        high=math.nan,
        differs=other is None or base.lines != other.lines,
        note=f"{what} is not there ({labels[0]}: {first})"
        if other is None
        else f"{what} in {_told(other)} ({labels[0]}: {first})",
    )


def _told(place: FieldPlace) -> str:
    lines = place.lines
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {lines[0]} to {lines[-1]}"


def _members(paths: Iterable[str]) -> Iterator[str]:
    """Paths, and those of the members on the way."""
    for path in paths:
        parts = path.split(".")
        yield from (".".join(parts[:number]) for number in range(1, len(parts) + 1))


def _is_of(row: DataRow, name: str) -> bool:
    """Whether a row is of a type, a variable of it, or the variable of that name."""
    return name in row.types or row.symbol == name


def _within(path: str, field: str) -> bool:
    """Whether a path is a field, or leads into it."""
    return path == field or path.startswith((f"{field}.", f"{field}["))


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 3)
    return f"; did you mean {' or '.join(near)}?" if near else ""
