"""What belongs to each row of shared lines, for programs and for the page: which functions miss it,
and who accesses which bytes; and what was recorded of each kernel."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from profdiff.evidence.sharing import SharingRow
from profdiff.profile.sharing.sums import FieldUse
from profdiff.shapes.table import Table, of_kernel, of_row, tabulate
from profdiff.topics.sharing.measure import Lines


class RowPart(NamedTuple):
    """``number``: of the row; ``of``: what belongs to it."""

    number: int
    row: SharingRow
    of: Any


class _Use(NamedTuple):
    """An access to the largest line, of ``size`` bytes, of a row on a kernel."""

    kernel: str
    size: int
    use: FieldUse


def details(lines: Lines) -> list[Table]:
    """Tables whose rows readers do not see."""
    return [_functions(lines), _fields(lines), _kernels(lines)]


def _functions(lines: Lines) -> Table:
    rows = [
        RowPart(number, row, found)
        for number, row in enumerate(lines.rows)
        for found in lines.missing(row)
    ]
    columns = [
        of_row("row", "detail", lambda row: row.number),
        of_row("function", "name", lambda row: lines.function(row.of.function)),
        *(
            of_kernel(label, "misses", "count", lambda row, k: row.of.misses[lines.labels.index(k)])
            for label in lines.labels
        ),
        of_row("within", "detail", lambda row: [lines.function(one) for one in row.of.within]),
        of_row("object", "detail", lambda row: lines.table.function(row.of.function).object),
        of_row("file", "detail", lambda row: lines.table.function(row.of.function).file),
    ]
    return tabulate(
        columns,
        name="sharing-functions",
        title="misses of",
        kernels=lines.labels,
        ops=lines.ops if lines.per_op else None,
        rows=[],
        hidden=rows,
        within="sharing-lines",
    )


def _fields(lines: Lines) -> Table:
    columns = [
        of_row("row", "detail", lambda row: row.number),
        of_row("kernel", "name", lambda row: row.of.kernel),
        of_row("size", "number", lambda row: row.of.size),
        of_row("offset", "number", lambda row: row.of.use.offset),
        of_row("bytes", "number", lambda row: row.of.use.size),
        of_row("field", "name", lambda row: field(lines, row.of.use)),
        of_row("loads", "detail", lambda row: row.of.use.loads),
        of_row("stores", "detail", lambda row: row.of.use.stores),
    ]
    return tabulate(
        columns,
        name="sharing-fields",
        title="accesses to the largest line, by vCPU",
        kernels=lines.labels,
        ops=None,
        rows=[],
        hidden=_uses(lines),
        within="sharing-lines",
    )


def _uses(lines: Lines) -> Iterator[RowPart]:
    for number, row in enumerate(lines.rows):
        for label, sums in zip(lines.labels, row.sums, strict=True):
            if line := sums.largest:
                for use in line.fields:
                    yield RowPart(number, row, _Use(label, line.size, use))


def field(lines: Lines, use: FieldUse) -> str:
    """What lies there, "" where that is not known."""
    return "" if use.named is None else lines.title(*use.named)


def _kernels(lines: Lines) -> Table:
    columns = [
        of_row("kernel", "name", lambda one: one.kernel.label),
        of_row("release", "detail", lambda one: one.kernel.release),
        of_row("ops", "number", lambda one: one.lines.all_ops),
        of_row("ops_by_vcpu", "detail", lambda one: one.lines.ops.tolist()),
        of_row("ops_end_with", "detail", lambda one: one.lines.ops_by),
        of_row("instructions", "number", lambda one: int(one.lines.instructions.sum())),
        of_row("runs", "number", lambda one: one.runs),
        of_row("line_size", "number", lambda one: one.lines.line_size),
        of_row("without_names", "detail", lambda one: one.missing),
    ]
    return tabulate(
        columns,
        name="sharing-kernels",
        title="what was recorded",
        kernels=lines.labels,
        ops=None,
        rows=[],
        hidden=lines.table.kernels,
    )
