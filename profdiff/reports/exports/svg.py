"""Flamegraphs as static SVG: self-contained, without scripts, fit for a bug tracker."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from xml.sax.saxutils import escape

import numpy as np
from numpy.typing import NDArray

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports.stacks import FrameName, frame_names
from profdiff.session import inlines
from profdiff.views.results import recording


@dataclass(frozen=True)
class FlameLayout:
    """Frames of S stacks: ``left`` and ``width``, float64[S], in the unit of the counts; ``depth``,
    int64[S]. ``total``: int64[S, K] inclusive counts. ``whole``: the width of everything."""

    left: NDArray[np.float64]
    width: NDArray[np.float64]
    depth: NDArray[np.int64]
    total: NDArray[np.int64]
    whole: float

    @staticmethod
    def of(comparison: Comparison, kernels: list[int]) -> "FlameLayout":
        """A frame is as wide as the larger of the kernels' totals, and at least as its callees
        together, so that frames which vanished or are new are drawn where they stood; callees
        stand in the order of their names."""
        stacks = comparison.stacks
        total = stacks.inclusive(comparison.counts)
        functions = [*comparison.functions, *comparison.unnamed]
        rank = np.empty(len(functions), np.int64)
        rank[sorted(range(len(functions)), key=lambda row: functions[row])] = np.arange(
            len(functions)
        )
        width = total[:, kernels].max(axis=1, initial=0).astype(np.float64)
        left = np.zeros(len(stacks))
        # A comparison's stacks are in order of their depth.
        starts_at = np.flatnonzero(np.diff(stacks.depth, prepend=-1)).tolist()
        levels = [slice(*ends) for ends in pairwise([*starts_at, len(stacks)])]
        below = np.zeros(len(stacks))
        for rows in reversed(levels):
            np.maximum(width[rows], below[rows], out=width[rows])
            if stacks.parent[rows.start] >= 0:
                np.add.at(below, stacks.parent[rows], width[rows])
        for rows in levels:
            order = np.lexsort((rank[stacks.function[rows]], stacks.parent[rows])) + rows.start
            parent = stacks.parent[order]
            ends = np.cumsum(width[order])
            starts = ends - width[order]
            first = np.ones(len(order), np.bool_)
            first[1:] = parent[1:] != parent[:-1]
            offset = starts[np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))]
            above = np.where(parent >= 0, left[parent], 0.0) if len(left) else starts
            left[order] = above + starts - offset
        whole = float(width[levels[0]].sum()) if levels else 0.0
        return FlameLayout(left, width, stacks.depth, total, whole)


_WIDTH = 1200
_MARGIN = 10
_ROW = 17
_FONT = "ui-monospace,'DejaVu Sans Mono',Menlo,Consolas,monospace"
# Advance of a character of 11 px in those fonts.
_CHARACTER = 6.7
_NARROWEST = 0.3
# A picture that is higher shows nobody more: a program that calls itself without end.
_MOST_ROWS = 1_000
# Blue for less, vermilion for more (Okabe and Ito): told apart with any colour vision.
_LESS, _NEUTRAL, _MORE = (0, 114, 178), (236, 236, 236), (213, 94, 0)
_UNRESOLVED = "#bdbdbd"


def difference(comparisons: Sequence[Comparison], told: Sequence[str]) -> bytes:
    """One graph of the first comparison: the base against each other kernel, one below the other;
    of a single kernel its own. ``told``: what the report says first. Raises InputError where
    nothing was counted."""
    comparison = comparisons[0]
    others = list(range(1, len(comparison.labels)))
    drawing = _Drawing(comparison, told)
    for kernel in others or [0]:
        drawing.graph([0, kernel] if others else [0], kernel, 0, _WIDTH)
        drawing.next_band()
    return drawing.finish()


def side_by_side(comparisons: Sequence[Comparison], told: Sequence[str]) -> bytes:
    """The base left and another kernel right, in the same order of frames and on one scale; a pair
    for each other kernel. ``told``: as of ``difference``. Raises InputError for one kernel, or
    where nothing was counted."""
    comparison = comparisons[0]
    if len(comparison.labels) < 2:
        raise InputError("--svg-side-by-side: there is one kernel; --svg draws it")
    drawing = _Drawing(comparison, told)
    for kernel in range(1, len(comparison.labels)):
        # Not the totals: stacks below nothing (two lengths) make these less than what is drawn.
        most = max(FlameLayout.of(comparison, [one]).whole for one in (0, kernel))
        drawing.graph([0], kernel, 0, _WIDTH // 2, most)
        drawing.graph([kernel], kernel, _WIDTH // 2, _WIDTH // 2, most)
        drawing.next_band()
    return drawing.finish()


class _Drawing:
    """Elements below each other, from ``_top`` on."""

    def __init__(self, comparison: Comparison, told: Sequence[str]) -> None:
        if not comparison.counts.any():
            raise InputError("there is nothing to draw: nothing was counted")
        self._comparison = comparison
        self._names = frame_names(comparison)
        self._elements: list[str] = []
        self._top = 8.0
        self._bottom = 0.0
        metric, ops = comparison.metric, comparison.ops
        title = f"{metric.title}{', exact' if metric.exact else ', sampled'}"
        title += f"; {units.counted(ops, 'op')}" if ops else ""
        workload = recording.workload(comparison.manifest, comparison.setting)
        lines = [
            *told,
            *inlines.told(comparison.manifest.compared),
            f"{workload.description}: {title}",
        ]
        for text in lines:
            for line in textwrap.wrap(units.printable(text), 155):
                self._top += 17
                self._text(_MARGIN, self._top, line, _WIDTH - 2 * _MARGIN, size=12)
        self._legend()
        self._top += 12

    def graph(
        self, widths: list[int], other: int, left: int, room: int, whole: float | None = None
    ) -> None:
        """Draw the stacks, as wide as the larger of the kernels ``widths``, coloured by what
        ``other`` has more than the base; ``whole`` counts are as wide as the ``room``."""
        comparison = self._comparison
        layout = FlameLayout.of(comparison, widths)
        scale = (room - 2 * _MARGIN) / (whole or layout.whole or 1)
        labels = [comparison.labels[kernel] for kernel in widths]
        what = labels[0]
        if len(widths) > 1:
            what = f"{labels[1]} against {labels[0]}; width: the larger of both"
        elif whole:
            what += f": {comparison.totals()[widths[0]]:,}"
        top = self._top + 16
        self._text(left + _MARGIN, top, what, room - 2 * _MARGIN, size=12)
        top += 6
        delta = _sure_deltas(comparison, other)
        largest = int(np.abs(delta).max(initial=0))
        wide = layout.width * scale >= _NARROWEST
        drawn = wide & (layout.depth < _MOST_ROWS)
        for row in np.flatnonzero(drawn).tolist():
            tint = _colour(int(delta[row]), largest)
            x = left + _MARGIN + layout.left[row] * scale
            y = top + int(layout.depth[row]) * _ROW
            self._frame(row, x, y, layout.width[row] * scale, tint, other, layout)
        depth = int(layout.depth[drawn].max(initial=0)) + 1
        bottom = top + depth * _ROW + 14
        for hidden, why in (
            (~wide & (layout.width > 0), "too narrow to draw"),
            (wide & ~drawn, f"below the {_MOST_ROWS:,} rows that are drawn"),
        ):
            if not hidden.any():
                continue
            counts = np.maximum(comparison.counts[hidden][:, widths], 0)
            part = float(counts.sum(axis=0).max()) / layout.whole
            note = f"{int(hidden.sum()):,} frames {why} hold {units.percent(part, '.2f')} of it"
            self._text(left + _MARGIN, bottom, note, room, size=10)
            bottom += 14
        self._bottom = max(self._bottom, bottom)

    def next_band(self) -> None:
        """What comes next stands below what was drawn."""
        self._top = self._bottom + 6

    def finish(self) -> bytes:
        """The whole picture."""
        height = round(self._bottom + 10)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
            f'viewBox="0 0 {_WIDTH} {height}" font-family="{_FONT}" font-size="11">\n'
            f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>\n'
        )
        text = head + "\n".join(self._elements) + "\n</svg>\n"
        return text.encode("utf-8", "backslashreplace")

    def _legend(self) -> None:
        comparison = self._comparison
        if len(comparison.labels) < 2:
            return
        self._top += 18
        x = float(_MARGIN)
        base = comparison.labels[0]
        for colour, dash, text in (
            (_rgb(_LESS), "", f"self: less than {base}"),
            (_rgb(_NEUTRAL), "", "equal"),
            (_rgb(_MORE), "", f"more than {base}"),
            ("#ffffff", ' stroke-dasharray="2 2"', "inlined"),
            (_UNRESOLVED, "", "unresolved"),
        ):
            self._elements.append(
                f'<rect x="{x:g}" y="{self._top - 10:g}" width="14" height="11" fill="{colour}" '
                f'stroke="#555"{dash}/>'
            )
            self._text(x + 18, self._top, text, 300, size=11)
            x += 18 + _CHARACTER * len(text) + 20

    def _frame(
        self, row: int, x: float, y: float, width: float, tint: str, other: int, layout: FlameLayout
    ) -> None:
        comparison = self._comparison
        function = int(comparison.stacks.function[row])
        name = self._names[function]
        unresolved = function >= len(comparison.functions)
        inlined = bool(comparison.inlined[row].any())
        dash = ' stroke="#555" stroke-dasharray="2 2"' if inlined and width > 3 else ""
        fill = _UNRESOLVED if unresolved else tint
        title = "\n".join(self._title(row, name, inlined, other, layout))
        shape = (
            f'<g><title>{escape(title)}</title><rect x="{x:.2f}" y="{y:g}" '
            f'width="{max(width - 0.4, 0.2):.2f}" height="{_ROW - 1}" fill="{fill}"{dash}/>'
        )
        if width > 4 * _CHARACTER:
            text = units.shorten(name.name, int((width - 5) / _CHARACTER))
            shape += f'<text x="{x + 3:.2f}" y="{y + 12:g}">{escape(text)}</text>'
        self._elements.append(shape + "</g>")

    def _title(
        self, row: int, name: FrameName, inlined: bool, other: int, layout: FlameLayout
    ) -> Iterator[str]:
        comparison, ops = self._comparison, self._comparison.ops
        place = f"{name.file}:{name.line}" if name.line else name.file
        yield f"{name.name}{' (inlined)' if inlined else ''}"
        if where := ", ".join(text for text in (name.object, place) if text):
            yield where
        for what, values in (("self", comparison.counts[row]), ("total", layout.total[row])):
            base, value = int(values[0]), int(values[other])
            if other == 0:
                line = f"{what}: {value:,}"
            else:
                line = (
                    f"{what}: {comparison.labels[0]} {base:,}, {comparison.labels[other]} "
                    f"{value:,}, delta {value - base:+,} ({units.change(base, value)})"
                )
            yield f"{line}; per op {(value - base * (other > 0)) / ops:+,.2f}" if ops else line

    def _text(self, x: float, y: float, text: str, room: float, *, size: int) -> None:
        columns = int(room / (_CHARACTER * size / 11))
        shown = units.shorten(units.printable(text), max(columns, 1))
        self._elements.append(
            f'<text x="{x:g}" y="{y:g}" font-size="{size}">{escape(shown)}</text>'
        )


def _sure_deltas(comparison: Comparison, other: int) -> NDArray[np.int64]:
    """int64[S]: what each stack's self count on kernel number ``other`` differs from the base's;
    of samples 0 where it is below three standard errors, as chance can make it."""
    delta: NDArray[np.int64] = comparison.counts[:, other] - comparison.counts[:, 0]
    if comparison.samples is None:
        return delta
    samples = comparison.samples[:, [0, other]].sum(axis=0)
    counts = np.abs(comparison.self_[:, [0, other]]).sum(axis=0)
    # What one sample counts, on average; a stack has at least one.
    weight = counts / np.maximum(samples, 1)
    square = (weight * np.maximum(np.abs(comparison.counts[:, [0, other]]), weight)).sum(axis=1)
    return np.where(delta.astype(float) ** 2 >= 9 * square, delta, 0)


def _colour(delta: int, largest: int) -> str:
    """Neutral for none, the full colour for the largest; those between by the page's root, so that
    what it leaves grey is grey here."""
    part = (abs(delta) / (largest or 1)) ** 0.5
    end = _MORE if delta > 0 else _LESS
    # Light enough for black text.
    mixed = (a + (b - a) * part * 0.8 for a, b in zip(_NEUTRAL, end, strict=True))
    return _rgb(tuple(round(value) for value in mixed))


def _rgb(colour: Sequence[int]) -> str:
    return "#" + "".join(f"{value:02x}" for value in colour)
