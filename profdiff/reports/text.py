"""The report as plain text: for a terminal, and for a mail to a kernel list."""

from collections.abc import Callable
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.function_verdicts import function_verdicts
from profdiff.profile.comparison import Comparison
from profdiff.reports import calls, evidence_text, sampled_text, state_lines, summary
from profdiff.reports.columns import MIN_WIDTH, Columns
from profdiff.reports.names import function_name
from profdiff.reports.rows import Rows, Selection, select


def render(
    findings: Findings,
    selection: Selection,
    *,
    width: int,
    per_op: bool | None = None,
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``).

    ``per_op``: counts per operation; None means where ops are known.
    """
    width = max(width, MIN_WIDTH)
    parts = _head(findings, selection, width)
    parts += ["", *evidence_text.render(findings.evidence, findings.setting, width)]
    while parts[-1] == "":
        parts.pop()
    if shown := tables(findings, selection, width=width, per_op=per_op):
        parts += ["", *shown]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def tables(
    findings: Findings, selection: Selection, *, width: int, per_op: bool | None = None
) -> list[str]:
    """The lines of the function tables alone, as in ``render``, with blank lines between them."""
    width = max(width, MIN_WIDTH)
    ops = findings.ops if per_op is not False else None
    parts: list[str] = []
    for _, members in groupby(
        findings.comparisons, key=lambda comparison: comparison.runs[0].collector
    ):
        group = list(members)
        parts += [""] if parts else []
        if group[0].metric.exact:
            parts += _exact(group[0], selection, ops, width)
        else:
            parts += sampled_text.render(group, selection, width=width, ops=ops)
            note = f"self counts; change and delta are against {group[0].labels[0]}."
            parts += ["", *units.wrap(note, width)] if len(group[0].labels) > 1 else []
    return parts


def _exact(comparison: Comparison, selection: Selection, ops: int | None, width: int) -> list[str]:
    """As many tables as are needed to show all kernels, and what their columns mean."""
    rows = select(comparison, selection)
    others = list(range(1, len(comparison.labels)))
    parts: list[str] = []
    while True:
        table, taken = _fitting(comparison, selection, rows, ops, width, others)
        parts += table.lines()
        others = others[taken:]
        if not others:
            break
        parts.append("")
    parts += ["", *_notes(comparison, table, width)]
    if calls_table := calls.render(comparison, rows, ops, width):
        parts += ["", *calls_table]
    return parts


def _fitting(
    comparison: Comparison,
    selection: Selection,
    rows: Rows,
    ops: int | None,
    width: int,
    others: list[int],
) -> tuple["_Table", int]:
    """The table with as many of ``others`` as fit beside the base, and how many those are.

    Columns that a reader can do without go first; a single kernel is shown in any case.
    """
    for taken in range(len(others), 0, -1):
        for level in range(_Table.LEVELS):
            kernels = [0, *others[:taken]]
            table = _Table(comparison, selection, rows, ops, width, kernels, level)
            if table.fits:
                return table, taken
    level = _Table.LEVELS - 1
    return _Table(comparison, selection, rows, ops, width, [0, *others[:1]], level), 1


def _head(findings: Findings, selection: Selection, width: int) -> list[str]:
    comparisons = findings.comparisons
    lines: list[str] = []
    for sentence in evidence_text.answers(findings.evidence, findings.setting):
        lines += units.wrap(units.printable(sentence), width)
    for comparison in comparisons:
        for sentence in summary.answers(comparison, selection.side):
            lines += units.wrap(sentence, width)
    if lines:
        lines.append("")
    kernels = findings.kernels
    label_width = max(len(kernel.label) for kernel in kernels)
    for index, kernel in enumerate(kernels):
        facts = [
            kernel.release or "release unknown",
            f"build id {kernel.build_id[:12]}" if kernel.build_id else "no build id",
            kernel.compiler or "compiler unknown",
            *(["the base"] if index == 0 and len(kernels) > 1 else []),
        ]
        text = f"{kernel.label:{label_width}}  {units.printable(', '.join(facts))}"
        lines += units.wrap(text, width, label_width + 2)
    for line in findings.facts.summaries([kernel.label for kernel in kernels]):
        lines += units.wrap(f"differs: {units.printable(line)}", width, 2)
    for line in state_lines.lines(findings.state):
        lines += units.wrap(units.printable(line), width, 2)
    lines += units.wrap(
        f"workload: {summary.workload(findings.manifest, findings.setting)}", width, 2
    )
    for line in (*findings.remarks, *summary.evidence(comparisons)):
        lines += units.wrap(units.printable(line), width, 2)
    return lines


def _notes(comparison: Comparison, table: "_Table", width: int) -> list[str]:
    text = f"self counts; change and delta are against {comparison.labels[0]}"
    if "share" in table.header:
        text += "; share: part of the whole delta"
    if "verdict" in table.header:
        text += (
            "; verdict: by the boots of both kernels, corrected for the number of functions (-: "
            "too small to be tested; exact: equal in all boots)"
        )
    if "total delta" in table.header:
        what = "inlined into it" if comparison.calls is None else "that it calls or inlines"
        text += f"; total delta: with the functions {what}"
    return units.wrap(f"{text}.", width)


def _verdicts(comparison: Comparison) -> list[str] | None:
    """What the boots of two kernels tell of each function; None where one run tells all."""
    if len(comparison.labels) != 2:
        return None
    tests = function_verdicts(comparison, 1)
    if tests is None:
        return None
    pairs = zip(tests.verdicts, tests.tested.tolist(), strict=True)
    return [verdict if tested or verdict == "exact" else "-" for verdict, tested in pairs]


class _Table:
    """Numbers in columns as wide as they need; the function's name takes what is left.

    ``kernels``: their numbers, the base's first. ``level``: how many of the columns that a reader
    can do without are left out.
    """

    LEVELS = 4

    def __init__(
        self,
        comparison: Comparison,
        selection: Selection,
        rows: Rows,
        ops: int | None,
        width: int,
        kernels: list[int],
        level: int,
    ) -> None:
        self._comparison = comparison
        self._rows = rows
        self._ops = ops
        self._side = selection.side
        self._kernels = kernels
        self._level = level
        self._totals = comparison.totals(selection.side)
        self._verdicts = _verdicts(comparison)
        self.header = self._header()
        body = [
            (
                self._cells(comparison.self_[row], comparison.total[row], int(row)),
                function_name(comparison, row),
            )
            for row in rows.shown
        ]
        self._columns = Columns((self.header, "function"), body, self._tail_rows(), width)
        self.fits = self._columns.fits

    def lines(self) -> list[str]:
        """The table, line by line."""
        per_op = f" per op ({self._ops:,} ops)" if self._ops else ""
        return [f"{self._comparison.metric.title}{per_op}", *self._columns.lines()]

    def _header(self) -> list[str]:
        base, *others = (self._comparison.labels[kernel] for kernel in self._kernels)
        if len(self._comparison.labels) == 2:
            optional = ["delta", "change", "share", "total delta"]
            verdict = ["verdict"] if self._verdicts else []
            return [base, *others, *verdict, *optional[: 4 - self._level]]
        change = ["change"] if self._level == 0 else []
        return [base, *(cell for label in others for cell in (label, *change))]

    def _cells(
        self, self_: NDArray[np.int64], total: NDArray[np.int64], row: int | None = None
    ) -> list[str]:
        """``self_`` and ``total``: int64[K] of one row; ``row``: which function's, if it is one."""
        show, signed = self._shower(units.count), self._shower(units.delta)
        base = int(self_[0])
        if len(self._comparison.labels) == 2:
            other = int(self_[1])
            cells = [
                signed(other - base),
                units.change(base, other),
                units.share(other - base, int(self._totals[1] - self._totals[0])),
                signed(int(total[1] - total[0])),
            ]
            verdict = []
            if self._verdicts:
                verdict = [self._verdicts[row] if row is not None else ""]
            return [show(base), show(other), *verdict, *cells[: 4 - self._level]]
        cells = [show(base)]
        for kernel in self._kernels[1:]:
            cells.append(show(self_[kernel]))
            if self._level == 0:
                cells.append(units.change(base, int(self_[kernel])))
        return cells

    def _shower(self, show: Callable[..., str]) -> Callable[[float], str]:
        ops = self._ops
        if ops is None:
            return lambda value: show(int(value))
        return lambda value: show(float(value) / ops, per_op=True)

    def _tail_rows(self) -> list[tuple[list[str], str]]:
        """Rows that are not shown, what could not be resolved, and the sum: they add up."""
        comparison, hidden = self._comparison, self._rows.hidden
        tail = []
        if len(hidden):
            sums = comparison.self_[hidden].sum(axis=0)
            plural = "" if len(hidden) == 1 else "s"
            name = f"{len(hidden):,} function{plural} not shown"
            tail.append((self._cells(sums, sums), name))
        for (reason, in_kernel), counts in comparison.unresolved.items():
            side = "kernel" if in_kernel else "user"
            if self._side in (None, side):
                tail.append((self._cells(counts, counts), f"unresolved: {reason} ({side})"))
        tail.append((self._cells(self._totals, self._totals), "all"))
        return tail
