"""The report as plain text: for a terminal, and for a mail to a kernel list."""

import textwrap
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from profdiff.comparison import Comparison
from profdiff.reports import summary, units
from profdiff.reports.rows import Rows, Selection, select

MIN_WIDTH = 60


def render(
    comparison: Comparison, selection: Selection, *, width: int, per_op: bool | None = None
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``).

    ``per_op``: counts per operation; None means where ops are known.
    """
    width = max(width, MIN_WIDTH)
    ops = comparison.ops if per_op is not False else None
    parts = [*_head(comparison, selection, width), ""]
    rows = select(comparison, selection)
    parts += _Table(comparison, selection, rows, ops, width).lines()
    return "\n".join(line.rstrip() for line in parts) + "\n"


def _head(comparison: Comparison, selection: Selection, width: int) -> list[str]:
    lines: list[str] = []
    for sentence in summary.answers(comparison, selection.side):
        lines += _wrap(sentence, width)
    lines.append("")
    label_width = max(map(len, comparison.labels))
    for index, kernel in enumerate(comparison.kernels):
        facts = [
            kernel.release or "release unknown",
            f"build id {kernel.build_id[:12]}" if kernel.build_id else "no build id",
            kernel.compiler or "compiler unknown",
            *(["the base"] if index == 0 else []),
        ]
        text = f"{kernel.label:{label_width}}  {units.printable(', '.join(facts))}"
        lines += _wrap(text, width, label_width + 2)
    lines += _wrap(f"workload: {summary.workload(comparison)}", width, 2)
    for line in summary.evidence(comparison):
        lines += _wrap(line, width, 2)
    return lines


def _wrap(text: str, width: int, indent: int = 0) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=" " * indent) or [""]


class _Table:
    """Numbers in columns as wide as they need; the function's name takes what is left."""

    def __init__(
        self,
        comparison: Comparison,
        selection: Selection,
        rows: Rows,
        ops: int | None,
        width: int,
    ) -> None:
        self._comparison = comparison
        self._rows = rows
        self._ops = ops
        self._width = width
        self._side = selection.side
        self._totals = comparison.totals(selection.side)
        self._pair = len(comparison.labels) <= 2

    def lines(self) -> list[str]:
        comparison, rows = self._comparison, self._rows
        body = [
            (self._cells(comparison.self_[row], comparison.total[row]), self._name(row))
            for row in rows.shown
        ]
        tail = self._tail()
        header = self._header()
        widths = [
            max(map(units.width, column))
            for column in zip(header, *(cells for cells, _ in body + tail), strict=True)
        ]
        room = max(self._width - sum(widths) - 2 * len(widths), 12)
        lines = [f"instructions{f' per op ({self._ops:,} ops)' if self._ops else ''}"]
        lines.append(self._line(header, widths, "function"))
        lines += [self._line(cells, widths, units.shorten(name, room)) for cells, name in body]
        lines.append("-" * min(self._width, sum(widths) + 2 * len(widths) + 12))
        lines += [self._line(cells, widths, units.shorten(name, room)) for cells, name in tail]
        lines += ["", *self._notes()]
        return lines

    @staticmethod
    def _line(cells: Iterable[str], widths: Iterable[int], name: str) -> str:
        padded = (
            " " * (w - units.width(cell)) + cell for cell, w in zip(cells, widths, strict=True)
        )
        return "".join(f"{cell}  " for cell in padded) + name

    def _header(self) -> list[str]:
        labels = self._comparison.labels
        if self._pair:
            return [*labels, *["delta", "change", "share", "total delta"][: 4 if labels[1:] else 0]]
        return [labels[0], *(cell for label in labels[1:] for cell in (label, "change"))]

    def _cells(self, self_: NDArray[np.int64], total: NDArray[np.int64]) -> list[str]:
        """``self_`` and ``total``: int64[K] of one row."""
        show = self._shower(units.count)
        if not self._pair:
            cells = [show(self_[0])]
            for value in self_[1:]:
                cells += [show(value), units.change(int(self_[0]), int(value))]
            return cells
        if len(self_) == 1:
            return [show(self_[0])]
        base, other = int(self_[0]), int(self_[1])
        signed = self._shower(units.delta)
        whole = int(self._totals[1] - self._totals[0])
        return [
            show(base),
            show(other),
            signed(other - base),
            units.change(base, other),
            units.share(other - base, whole),
            signed(int(total[1] - total[0])),
        ]

    def _shower(self, show: Callable[..., str]) -> Callable[[float], str]:
        ops = self._ops
        if ops is None:
            return lambda value: show(int(value))
        return lambda value: show(float(value) / ops, per_op=True)

    def _name(self, row: int) -> str:
        comparison = self._comparison
        function = comparison.functions[row]
        place = [] if function.object == "vmlinux" else [function.object]
        if comparison.namesakes[row] and function.file:
            place.append(function.file)
        folded = sorted({text for texts in comparison.symbols[row].values() for text in texts})
        suffixes = [text.removeprefix(function.name) for text in folded]
        name = function.name + (f" [{', '.join(suffixes)}]" if suffixes else "")
        return units.printable(f"{name} ({', '.join(place)})" if place else name)

    def _tail(self) -> list[tuple[list[str], str]]:
        """Rows that are not shown, what could not be resolved, and the sum: they add up."""
        comparison, hidden = self._comparison, self._rows.hidden
        tail = []
        if len(hidden):
            sums = comparison.self_[hidden].sum(axis=0)
            tail.append((self._cells(sums, sums), f"{len(hidden):,} functions not shown"))
        for (reason, in_kernel), counts in comparison.unresolved.items():
            if self._side in (None, "kernel" if in_kernel else "user"):
                side = "kernel" if in_kernel else "user"
                tail.append((self._cells(counts, counts), f"unresolved: {reason} ({side})"))
        tail.append((self._cells(self._totals, self._totals), "all"))
        return tail

    def _notes(self) -> list[str]:
        base = self._comparison.labels[0]
        text = f"self counts; change and delta are against {base}"
        if self._pair and len(self._comparison.labels) > 1:
            text += (
                "; share: part of the whole delta; total delta: with the functions inlined into it"
            )
        return _wrap(f"{text}.", self._width)
