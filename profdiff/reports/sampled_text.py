"""The table of sampled metrics: shares, deltas, cycles beside instructions, and sample counts."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.profile.comparison import Comparison
from profdiff.reports import samples
from profdiff.reports.columns import Columns, Line
from profdiff.reports.names import function_name
from profdiff.reports.rows import Selection, select


class _Column(NamedTuple):
    """``cell`` takes the row's counts of each metric, int64[K], and its samples, int64[K] or None.
    ``spare``: what can be done without; the highest goes first."""

    title: str
    cell: Callable[["_Counts"], str]
    spare: int


class _Counts(NamedTuple):
    first: NDArray[np.int64]
    instructions: NDArray[np.int64] | None
    samples: NDArray[np.int64] | None
    marks: str


def render(
    group: list[Comparison], selection: Selection, *, width: int, ops: int | None
) -> list[str]:
    """The lines of one collector's metrics: the first one's table, instructions beside cycles, and
    each further metric's in its own table."""
    beside = samples.instructions_of(group)
    lines: list[str] = []
    for comparison in group:
        if comparison is beside:
            continue
        if lines:
            lines.append("")
        mine = beside if comparison is group[0] else None
        lines += _Table(comparison, mine, selection, ops, width).lines()
    return lines


class _Table:
    def __init__(
        self,
        comparison: Comparison,
        instructions: Comparison | None,
        selection: Selection,
        ops: int | None,
        width: int,
    ) -> None:
        self._comparison, self._instructions = comparison, instructions
        self._selection, self._ops = selection, ops
        self._totals = comparison.totals(selection.side)
        self._rows = select(comparison, selection)
        self._marked: set[str] = set()
        self._body = [
            (self._counts(row), function_name(comparison, row)) for row in self._rows.shown
        ]
        self._tail = self._tail_counts()
        wanted = self._all_columns()
        while True:
            self._columns = Columns(
                ([column.title for column in wanted], "function"),
                [self._line(wanted, *row) for row in self._body],
                [self._line(wanted, *row) for row in self._tail],
                width,
            )
            last = max(wanted, key=lambda column: column.spare)
            if self._columns.fits or last.spare == 0:
                break
            wanted = [column for column in wanted if column.spare < last.spare]

    def lines(self) -> list[str]:
        title = self._comparison.metric.title
        per_op = f" per op ({self._ops:,} ops)" if self._ops else ""
        beside = ", instructions beside" if self._instructions else ""
        legend = [
            f"{mark} {samples.LEGEND[mark]}" for mark in samples.LEGEND if mark in self._marked
        ]
        return [
            f"{title}, sampled{per_op}: share of each kernel's{beside}",
            *self._columns.lines(),
            *(["; ".join(legend)] if legend else []),
        ]

    def _line(self, columns: list[_Column], counts: _Counts, name: str) -> Line:
        return [column.cell(counts) for column in columns], name

    def _counts(self, row: int) -> _Counts:
        comparison = self._comparison
        others = range(1, len(comparison.labels))
        found = [samples.marks(comparison, self._instructions, row, other) for other in others]
        # Of several kernels, too few samples matters only where all have too few.
        marks = "".join(sorted(set(found) - {"", samples.FEW}))
        if not marks and samples.FEW in found:
            marks = samples.FEW
        self._marked |= set(marks)
        return _Counts(
            comparison.self_[row],
            self._instructions.self_[row] if self._instructions else None,
            comparison.samples[row] if comparison.samples is not None else None,
            marks,
        )

    def _tail_counts(self) -> list[tuple[_Counts, str]]:
        comparison, hidden = self._comparison, self._rows.hidden
        tail = []
        if len(hidden):
            sums = comparison.self_[hidden].sum(axis=0)
            beside = self._instructions
            work = beside.self_[hidden].sum(axis=0) if beside else None
            plural = "" if len(hidden) == 1 else "s"
            found = (
                comparison.samples[hidden].sum(axis=0) if comparison.samples is not None else None
            )
            tail.append(
                (_Counts(sums, work, found, ""), f"{len(hidden):,} function{plural} not shown")
            )
        for (reason, in_kernel), counts in comparison.unresolved.items():
            side = "kernel" if in_kernel else "user"
            if self._selection.side in (None, side):
                work = None
                if self._instructions:
                    zero = np.zeros_like(counts)
                    work = self._instructions.unresolved.get((reason, in_kernel), zero)
                tail.append((_Counts(counts, work, None, ""), f"unresolved: {reason} ({side})"))
        work = self._instructions.totals(self._selection.side) if self._instructions else None
        tail.append((_Counts(self._totals, work, None, ""), "all"))
        return tail

    def _all_columns(self) -> list[_Column]:
        labels = self._comparison.labels
        columns = [self._share(kernel, 0) for kernel in range(len(labels))]
        if len(labels) == 1:
            columns.insert(0, _Column(labels[0], lambda c: self._number(c.first[0]), 0))
            columns[1] = columns[1]._replace(title="share")
        for kernel in range(1, len(labels)):
            suffix = f" {labels[kernel]}" if len(labels) > 2 else ""
            if len(labels) == 2:
                columns.append(_Column("delta", self._delta, 1))
            columns.append(
                _Column(f"change{suffix}", _change(kernel), 0 if len(labels) == 2 else 2)
            )
            if self._instructions:
                if len(labels) == 2:
                    columns.append(_Column("instr. delta", self._work_delta, 5))
                columns.append(_Column(f"instr.{suffix}", _work_change(kernel), 2))
        if self._instructions:
            for kernel, label in enumerate(labels):
                columns.append(_Column(f"CPI {label}", _per_instruction(kernel), 4))
        columns.append(_Column("samples", _samples, 3))
        if len(labels) > 1:
            columns.append(_Column("", lambda counts: counts.marks, 0))
        return columns

    def _share(self, kernel: int, spare: int) -> _Column:
        whole = int(self._totals[kernel])
        label = self._comparison.labels[kernel]
        return _Column(label, lambda c: units.share(int(c.first[kernel]), whole), spare)

    def _delta(self, counts: _Counts) -> str:
        return self._signed(int(counts.first[1] - counts.first[0]))

    def _work_delta(self, counts: _Counts) -> str:
        work = counts.instructions
        return "" if work is None else self._signed(int(work[1] - work[0]))

    def _signed(self, value: int) -> str:
        return units.delta(value / self._ops, per_op=True) if self._ops else units.delta(value)

    def _number(self, value: float) -> str:
        return units.count(value / self._ops, per_op=True) if self._ops else units.count(value)


def _change(kernel: int) -> Callable[[_Counts], str]:
    return lambda counts: units.change(int(counts.first[0]), int(counts.first[kernel]))


def _work_change(kernel: int) -> Callable[[_Counts], str]:
    def cell(counts: _Counts) -> str:
        work = counts.instructions
        return "" if work is None else units.change(int(work[0]), int(work[kernel]))

    return cell


def _per_instruction(kernel: int) -> Callable[[_Counts], str]:
    def cell(counts: _Counts) -> str:
        work = counts.instructions
        if work is None or not work[kernel]:
            return "-"
        return f"{int(counts.first[kernel]) / int(work[kernel]):.2f}"

    return cell


def _samples(counts: _Counts) -> str:
    return "" if counts.samples is None else "/".join(f"{int(n)}" for n in counts.samples)
