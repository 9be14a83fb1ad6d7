"""Tables of evidence as rows of text cells: sweep, ladder, patch by patch, and every boot's value.

Text, mail and page show the same tables.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from profdiff.base.metric import TIMED
from profdiff.collectors.registry import collector
from profdiff.evidence.measurements import Cell, Evidence, Result
from profdiff.evidence.statistics import Estimate
from profdiff.session import points

# A spread below this shows as nothing.
_NO_SPREAD = 0.0005


@dataclass(frozen=True)
class Table:
    """``title``: what the values are. ``header`` and ``rows``: cells; the first ``names`` columns
    name the row and stand left, the others are numbers."""

    title: str
    names: int
    header: list[str]
    rows: list[list[str]]


def tables(evidence: Evidence, setting: points.Setting) -> list[Table]:
    """All tables of an experiment, ``setting`` being the one that is looked at."""
    swept = evidence.swept
    found: list[Table] = []
    if swept:
        for collector, metric in evidence.metrics():
            found += _matrix(evidence, evidence.of(collector, metric), swept)
    else:
        by_kind: dict[str, list[Result]] = {}
        for result in evidence.at(setting):
            by_kind.setdefault(kind(result), []).append(result)
        for results in by_kind.values():
            found += _matrix(evidence, results, [])
    if len(evidence.kernels) > 2:
        found += [_patches(evidence, result) for result in evidence.at(setting)]
    return found


def _matrix(evidence: Evidence, results: Sequence[Result], swept: Sequence[str]) -> list[Table]:
    """Rows of settings or metrics against kernels: the sweep and the ladder."""
    if not results:
        return []
    first = results[0]
    names = list(swept) or ["metric"]
    noisy = any(result.noise for result in results)
    header = [*names, evidence.labels[0]]
    for label in evidence.labels[1:]:
        header += [label, "change", "verdict"]
    rows = []
    for result in results:
        row = (
            [points.value_of(result.setting, name) for name in swept]
            if swept
            else [what(result, with_kind=False)]
        )
        row.append(value(result.cells[0]))
        for cell, change in zip(result.cells[1:], result.changes[1:], strict=True):
            row += [value(cell), change_text(change), verdict(change)]
        rows.append([*row, floor(result)] if noisy else row)
    title = what(first) if swept else kind(first)
    return [Table(title, len(names), [*header, "A/A"] if noisy else header, rows)]


def _patches(evidence: Evidence, result: Result) -> Table:
    """Kernel by kernel: against the base, and against the one before."""
    header = [
        "kernel",
        "median",
        "spread",
        "to base",
        "interval",
        "verdict",
        "to previous",
        "verdict",
    ]
    rows = []
    columns = zip(evidence.labels, result.cells, result.changes, result.steps, strict=True)
    for label, cell, change, step in columns:
        rows.append(
            [
                label,
                number(_median(cell)) if cell.boots else "-",
                spread(cell),
                change_text(change),
                interval(change),
                verdict(change),
                change_text(step),
                verdict(step),
            ]
        )
    at = points.title(evidence.swept, result.setting)
    return Table(f"{what(result)}, kernel by kernel{f' ({at})' if at else ''}", 1, header, rows)


def boots(evidence: Evidence, setting: points.Setting) -> list[str]:
    """A line for each metric and kernel: the values of every boot, not rounded; equal ones once."""
    lines = []
    for result in evidence.at(setting):
        for label, cell in zip(evidence.labels, result.cells, strict=True):
            told = [_boot(boot) for boot in cell.boots]
            distinct = list(dict.fromkeys(told))
            text = " ".join(told) if len(distinct) > 1 else f"{distinct[0]}" if told else "none"
            times = f" ({len(told)} times)" if len(distinct) == 1 and len(told) > 1 else ""
            failed = f"; {cell.failed} failed" if cell.failed else ""
            lines.append(f"{result.metric.name}, {label}: {text}{times}{failed}")
    return lines


def _boot(values: list[float]) -> str:
    told = [f"{value:.10g}" for value in values]
    return told[0] if len(told) == 1 else f"[{' '.join(told)}]"


def what(result: Result, *, with_kind: bool = True) -> str:
    """A metric with its unit: ``wall-time, ns per op (timed, virtual)``."""
    name, unit = result.metric.name, result.metric.unit
    per_op = " per op" if result.per_op else ""
    told = f"{name}, {unit}" if unit and unit != name else name
    where = f" ({kind(result)})" if with_kind else ""
    return f"{told}{per_op}{where}"


def kind(result: Result) -> str:
    """Where values come from, in words."""
    if result.virtual:
        return "timed by the guest's clock, 1 ns an instruction: instruction counts, NOT time"
    known = collector(result.collector).kind
    if result.deterministic and known is TIMED:
        return "of timed runs in an emulated guest"
    return known.words


def value(cell: Cell) -> str:
    """Median over boots and spread: ``27.50``, ``27.50 ±1.2 %``; ``-`` without a boot."""
    if not cell.boots:
        return "-"
    text = spread(cell)
    return f"{number(_median(cell))} {text}" if text not in ("", "0") else number(_median(cell))


def spread(cell: Cell) -> str:
    """Coefficient of variation over boots; ``0`` where all are equal, nothing for one boot."""
    medians = [median(boot) for boot in cell.boots]
    if len(medians) < 2:
        return ""
    if len(set(medians)) == 1:
        return "0"
    mean = math.fsum(medians) / len(medians)
    if mean == 0:
        return ""
    # Not by squares, which overflow.
    deviation = math.hypot(*(one - mean for one in medians)) / math.sqrt(len(medians) - 1)
    part = deviation / abs(mean)
    return f"±{100 * part:.1f} %" if part >= _NO_SPREAD else "±0.0 %"


def change_text(change: Estimate | None) -> str:
    """The change of the median, in percent; from ten times on as how many times."""
    if change is None:
        return ""
    base, other = change.medians
    if base == other:
        return "0 %"
    if base == 0:
        return "new"
    if base < 0:
        return "-"
    if other / base >= 10:
        return f"{other / base:,.0f} times"
    return f"{100 * (other / base - 1):+.1f} %"


def interval(change: Estimate | None) -> str:
    """The confidence interval of the change of the median."""
    if change is None or math.isnan(change.median.low):
        return ""
    low, high = (100 * end for end in (change.median.low, change.median.high))
    return "exact" if low == high else f"[{low:+.1f}, {high:+.1f}]"


def verdict(change: Estimate | None) -> str:
    """The verdict, with its class where that is not *reliable*."""
    if change is None:
        return ""
    if change.quality != "reliable" and change.verdict != "exact":
        return f"{change.verdict} ({change.quality})"
    return change.verdict


def floor(result: Result) -> str:
    """What A/A runs differ by."""
    if result.noise is None or math.isnan(result.noise.floor):
        return ""
    return f"±{100 * result.noise.floor:.1f} %" if result.noise.floor else "0"


def number(value: float) -> str:
    """A value as tables show it: at most five significant digits behind a point."""
    size = abs(value)
    if size >= 10_000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:,.2f}" if size >= 1 else f"{value:.5g}"


def _median(cell: Cell) -> float:
    return median(median(boot) for boot in cell.boots)
