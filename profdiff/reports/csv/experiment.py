"""The experiment as CSV: a row for each metric, point and kernel, unrounded."""

import math
from collections.abc import Iterator, Sequence

from profdiff.base.errors import InputError
from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence.beside import beside
from profdiff.evidence.results import Result, Results
from profdiff.reports.csv.rows import Line, text, written
from profdiff.session.manifest import Kernel
from profdiff.views.results.result import Median

_BEFORE = ("metric", "kernel")
_BEHIND = (
    "value",
    "per_op",
    "unit",
    "better",
    "spread",
    "ratio",
    "change",
    "low",
    "high",
    "verdict",
    "quality",
    "noise_floor",
    "boots",
    "failed",
    "collector",
    "beside",
    "states",
    "tick_floor",
)


def render(results: Results) -> str:
    """Metrics in the order of the report's tables, their points, and of each all kernels, the base
    first; parameters of the sweep are columns of their own name. What is not known is empty.
    Kernels that could not be built follow, with why in the column ``not_built``.

    Raises InputError where nothing was measured.
    """
    if not results.every:
        raise InputError("--csv-experiment: there is no experiment; --csv writes the functions")
    holes = [_hole(one, results.swept) for one in results.manifest.holes]
    behind = ["not_built"] if holes else []
    built: list[Line] = [[*row, *([""] * len(behind))] for row in rows(results, results.swept)]
    return written([*header(results.swept), *behind], [*built, *holes])


def _hole(kernel: Kernel, swept: Sequence[str]) -> Line:
    """A row of a kernel that could not be built, with the reason in a column of its own."""
    blank = [""] * (len(swept) + len(_BEHIND))
    return ["", text(kernel.label), *blank, text(kernel.hole)]


def header(swept: Sequence[str]) -> list[str]:
    """The names of the columns; ``swept``: the parameters that have one."""
    return [*_BEFORE, *map(text, swept), *_BEHIND]


def rows(results: Results, swept: Sequence[str]) -> Iterator[Line]:
    """The rows of all metrics."""
    for metric in results.metrics():
        for result in results.of(*metric):
            yield from _rows(results, result, swept)


def _rows(results: Results, result: Result, swept: Sequence[str]) -> Iterator[Line]:
    metric, point = result.metric, [result.setting.value(name) for name in swept]
    apart = (
        beside(results.runs, result.setting, results.labels, result.collector)
        if metric.name == INSTRUCTIONS.name
        else None
    )
    for label, cell, change in zip(results.labels, result.cells, result.changes, strict=True):
        middle = Median.of(cell)
        value = middle.value
        whole = None if value is None else value * (result.ops or 1)
        base, other = change.medians if change else (math.nan, math.nan)
        interval = change.median if change else None
        ends = (interval.estimate, interval.low, interval.high) if interval else (None,) * 3
        yield [
            *map(text, (metric.name, label, *point)),
            _number(whole),
            _number(value if result.per_op else None),
            text(metric.unit),
            metric.better,
            _number(middle.spread.part),
            _number(other / base if base > 0 else None),
            *map(_number, ends),
            change.verdict if change else "",
            change.quality if change else "",
            _number(result.noise),
            len(cell.boots),
            cell.failed,
            result.collector,
            "" if apart is None else apart[label],
            change.states if change else "",
            _number(change.tick_floor * (result.ops or 1))
            if change and change.tick_floor is not None
            else "",
        ]


def _number(value: float | None) -> str:
    """As many digits as a float holds for sure; empty for what is not a number."""
    return "" if value is None or not math.isfinite(value) else f"{value:.15g}"
