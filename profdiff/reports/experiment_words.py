"""What charts of an experiment say in words: metric, unit, and the notes below."""

from collections.abc import Sequence
from statistics import median

from profdiff.base import units
from profdiff.evidence.results import Cell, Result, Results
from profdiff.reports.chart_figures import kernels_line
from profdiff.views.result import source

_METRIC, _UNIT, _LABEL = 30, 16, 24


def boots_of(cell: Cell) -> list[float]:
    """What each boot is in a chart: the median of its runs."""
    return [median(boot) for boot in cell.boots]


def label_of(label: str) -> str:
    """A kernel's label, short enough for a chart."""
    return units.shorten(label, _LABEL)


def title(result: Result, what: str) -> str:
    """The metric, and ``what`` is shown of it. That virtual time is no time stands at the end,
    which is never cut off."""
    name, unit = result.metric.name, result.metric.unit
    told = units.shorten(name, _METRIC)
    if unit and unit != name:
        told += f", {units.shorten(unit, _UNIT)}"
    told += " per op" if result.per_op else ""
    return f"{told}, {what}{': instruction counts, NOT time' if result.virtual else ''}"


def axis_of(result: Result) -> str:
    """What stands along the values."""
    unit = units.shorten(result.metric.unit or result.metric.name, _METRIC)
    per_op = " per op" if result.per_op else ""
    return f"{unit}{per_op}{', by a virtual clock' if result.virtual else ''}"


def notes(evidence: Results, results: Sequence[Result], workload: str) -> list[str]:
    """Kernels, workload, where the values of one metric come from, and failed runs."""
    labels = [label_of(label) for label in evidence.labels]
    lines = [
        kernels_line(labels, evidence.kernels),
        f"workload: {workload}",
        f"{source(results[0])}; {results[0].metric.better} is better",
    ]
    failed = [
        f"{label} {count:,}"
        for place, label in enumerate(labels)
        if (count := sum(result.cells[place].failed for result in results))
    ]
    return [*lines, *([f"failed runs: {', '.join(failed)}"] if failed else [])]


def one_boot(result: Result) -> str:
    """What can be said of how boots scatter where each cell has one."""
    if result.deterministic:
        return "one boot of each cell, whose counts are exact"
    return "one boot of each cell: how boots scatter is not known"


def left_out(*counted: tuple[int, str]) -> list[str]:
    """A note for each of (how many, of what) that is not shown, where there are any."""
    return [f"{count:,} more {what} are not shown" for count, what in counted if count > 0]
