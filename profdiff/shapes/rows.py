"""Rows of tables by name, as conditions name them."""

from collections.abc import Iterator, Sequence
from typing import cast

from profdiff.base.errors import InputError
from profdiff.base.names import suggesting
from profdiff.evidence.conditions.condition import Condition, MeasuredChange
from profdiff.evidence.difference import AbsentError, Difference, summed
from profdiff.evidence.statistics.rule import Verdict
from profdiff.shapes.table import Cell, Section, Table

_Row = Sequence[Cell]
# Verdicts of differences whose ends are no limits.
_UNSURE = (Verdict.UNSURE, Verdict.DEPENDS, Verdict.SCHEDULE)


def changes(
    section: Section, labels: Sequence[str], condition: Condition
) -> Iterator[MeasuredChange]:
    """The change of a row of a topic's tables on the kernels ``labels``, the base first. METRIC is
    a table, or the topic for the first table that has the row; behind a dot, a count where the
    table has several. A row is known by its first name, one of a path by each function on it, the
    first sum as the total; rows of one name add up. Raises AbsentError if no row has the name,
    InputError if the topic has no such table, or the table no such count."""
    what, (wanted, _, count) = condition.what, condition.metric.partition(".")
    tables = [table for table in section.tables if wanted in (section.name, table.name)]
    if not tables:
        why = f"{section.name} has no table {wanted!r}"
        raise InputError(suggesting(why, wanted, [table.name for table in section.tables]))
    known = list[str]()
    for table in tables:
        named = [(row, _names(table, row)) for row in (*table.all_rows, *table.sums)]
        rows = [row for row, names in named if what in names]
        rows = rows if condition.function or rows else table.sums[:1]
        if rows:
            return _of_rows(table, rows, _count(table, count), labels, condition)
        known += [name for _, names in named for name in names]
    raise AbsentError(suggesting(f"{wanted} has no row {what!r}", what, known))


def _names(table: Table, row: _Row) -> list[str]:
    """What a row is known by: also what it ``was`` called."""
    was = [
        str(cell)
        for one, cell in zip(table.columns, row, strict=True)
        if cell and one.name == "was"
    ]
    for column, cell in zip(table.columns, row, strict=True):
        if column.kind in ("name", "path", "number") and column.kernel is None:
            return [*(str(name) for name in (cell if isinstance(cell, list) else [cell])), *was]
    return []


def _count(table: Table, name: str) -> str:
    """The name of the count that is meant. Raises InputError where there is none, or several."""
    counts = sorted({one.name for one in table.columns if one.kind == "count" and one.kernel})
    if name in counts or (counts and not name and len(counts) == 1):
        return name or counts[0]
    written = ", ".join(f"{table.name}.{one}" for one in counts) or "none"
    raise InputError(f"name a count of {table.name} that kernels have: {written}")


def _of_rows(
    table: Table, rows: Sequence[_Row], count: str, labels: Sequence[str], condition: Condition
) -> Iterator[MeasuredChange]:
    """The change of the sum of some rows."""
    bounded = any(column.kind in ("bound", "verdict") for column in table.columns)
    for kernel in labels[1:]:
        lacking = [label for label in (labels[0], kernel) if label not in table.kernels]
        each = [] if lacking else [_difference(table, row, count, kernel) for row in rows]
        known = [difference for difference in each if difference is not None]
        if lacking or len(known) < len(each):
            of = f" of {' and '.join(lacking)}" if lacking else ""
            why = f"{condition.what} is not known{of}"
            yield MeasuredChange.unknown(kernel, why, of_row=True)
            continue
        difference, ops = summed(known), table.ops
        columns = [table.index(count, label) for label in (labels[0], kernel)]
        words = [str(difference.verdict), ", ".join(difference.causes)]
        yield MeasuredChange.of_difference(
            kernel,
            condition,
            [sum(cast("int", row[column]) for row in rows) for column in columns],
            difference,
            [ops[0], ops[table.kernels.index(kernel)]] if isinstance(ops, list) else ops,
            undecided=": ".join(filter(None, words)) if difference.verdict in _UNSURE else "",
            one_run=not bounded,
        )


def _difference(table: Table, row: _Row, count: str, kernel: str) -> Difference | None:
    """A kernel's difference to the base; one number where the table has no ends of it. None where
    it is not known."""
    labels = table.kernels[0], kernel
    values = [row[table.index(count, label)] for label in labels]
    if any(value is None or isinstance(value, str) for value in values):
        return None
    own = {
        column.name: cell
        for column, cell in zip(table.columns, row, strict=True)
        if column.kernel == kernel and (column.kind != "delta" or column.of == count)
    }
    prefix = "" if "delta" in own else f"{count}_"
    ops = [table.ops_of(label) or 1 if isinstance(table.ops, list) else 1 for label in labels]
    base, other = (value / by for value, by in zip(cast("list[int]", values), ops, strict=True))
    low, high = (own.get(f"{prefix}{end}", other - base) for end in ("low", "high"))
    if not isinstance(low, int | float) or not isinstance(high, int | float):
        return None
    has_delta = own.get(f"{prefix}delta", 0) is not None
    verdict = Verdict(str(own.get("verdict") or (Verdict.EXACT if has_delta else Verdict.UNSURE)))
    causes = cast("Sequence[str]", own.get("causes") or ())
    return Difference(other - base, low, high, verdict, causes=tuple(causes))
