"""What is shown of the impact of a change on a program. ``docs/impact.md`` explains it."""

import math
from collections import Counter
from collections.abc import Mapping

from profdiff.base import units
from profdiff.evidence.difference import Difference, summed
from profdiff.shapes.table import Section, Table, by_kernel, of_kernel, of_row, tabulate
from profdiff.topics.impact.measure import Impact, Names, Row
from profdiff.topics.sentences import told_kernels

_NOTE = (
    "Instructions, not time. A cell has one size and one state, and the program's calls may have "
    "others: the range is that of all cells that fit as well (cells: how many), the rest of a row "
    "is of their median. near: calls whose nearest cell has another size, or outcome."
)
_STRACE = (
    "strace slows the program, so that it makes fewer calls per second than without it: give "
    "--seconds the time that it runs without strace."
)


def section(impact: Impact, seconds: float | None) -> Section:
    """What each kernel adds, and the calls without a cell. ``seconds``: how long the program runs,
    where its trace does not tell that, or not without the cost of tracing."""
    trace = impact.trace
    lasts = seconds or trace.seconds
    unit = "per second" if lasts else "in the whole trace"
    slowed = trace.tool == "strace" and lasts and not seconds
    return Section(
        name="impact",
        title="Impact",
        sentences=[
            *(_sentence(impact, number, lasts, unit) for number in told_kernels(impact.labels)),
            _coverage(impact, lasts, given=seconds is not None),
            *([_STRACE] if slowed else []),
        ],
        tables=[_rows(impact, lasts, unit), _others(impact, lasts, unit)],
        notes=[_NOTE],
    )


def _sentence(impact: Impact, kernel: int, seconds: float | None, unit: str) -> str:
    base, label, name = impact.labels[0], impact.labels[kernel], units.printable(impact.trace.name)
    if not impact.rows:
        return f"{label}: no system call of {name} has a cell."
    whole = summed([row.difference(label, base, seconds or 1) for row in impact.rows])
    before = sum(row.executed(base, seconds or 1) for row in impact.rows)
    what = f"kernel instructions {unit} on {label}"
    change = units.change(before, before + whole.delta)
    ends = units.changes(*(end / before if before else math.nan for end in (whole.low, whole.high)))
    told = f"{change}{f' ({ends})' if ends != change else ''} of what these calls execute on {base}"
    if whole.low <= 0 <= whole.high and whole.low != whole.high:
        return f"{name} may execute more {what}, or fewer: about {told}."
    more = "more" if whole.delta >= 0 else "fewer"
    return f"{name} executes {units.rounded(abs(whole.delta))} {more} {what}: {told}."


def _rate(number: int, seconds: float | None) -> float:
    """Per second, as all tables show it, or the number itself without seconds."""
    return number if seconds is None else round(number / seconds, 2)


def _coverage(impact: Impact, seconds: float | None, *, given: bool) -> str:
    calls, covered = impact.calls, impact.covered
    near = sum(row.near for row in impact.rows)
    told = f"{units.share(covered, calls, 0)} of its system calls have a cell"
    told += f", {units.share(covered - near, calls, 0)} one of their size and outcome"
    told += f" ({covered:,} and {covered - near:,} of {calls:,}, by {impact.trace.tool}"
    if seconds is None:
        return f"{told}, which does not tell seconds: --seconds does)."
    return f"{told}, {'in' if given else 'in a traced time of'} {seconds:,.2f} s)."


def _rows(impact: Impact, seconds: float | None, unit: str) -> Table:
    base, *others = impact.labels

    def difference(row: Row, label: str) -> Difference:
        return row.difference(label, base, seconds or 1)

    def between(row: Row, label: str) -> str:
        found = difference(row, label)
        if found.low == found.high:
            return ""
        return f"{units.delta(found.low)} to {units.delta(found.high)}"

    def each(row: Row, label: str) -> float:
        return round(row.cost.values[label] - row.cost.values[base], 2)

    return tabulate(
        [
            of_row("system call", "name", lambda row: units.few(_named(row.names), 3)),
            of_row("calls", "number", lambda row: _rate(row.calls, seconds)),
            *by_kernel(
                impact.labels, lambda row, k: row.executed(k, seconds or 1), difference, about=True
            ),
            *(
                of_kernel(label, "per call", "number", each, title="per call", spare=4)
                for label in others
            ),
            *(
                of_kernel(label, "between", "word", between, title="range", spare=1)
                for label in others
            ),
            of_row("all of them", "detail", lambda row: _named(row.names)),
            of_row("cell", "name", lambda row: row.cell),
            of_row("cells", "number", lambda row: row.cells, spare=3),
            of_row("near", "number", lambda row: _rate(row.near, seconds), spare=2),
        ],
        impact.rows,
        name="impact",
        title=f"instructions {unit}",
        kernels=list(impact.labels),
        ops=None,
        limit="top",
    )


def _others(impact: Impact, seconds: float | None, unit: str) -> Table:
    left: Mapping[str, int] = impact.others
    return tabulate(
        [
            of_row("system call", "name", lambda row: row[0]),
            of_row("calls", "number", lambda row: _rate(row[1], seconds)),
            of_row("share", "share", lambda row: row[1] / impact.calls),
        ],
        left.items(),
        name="without a cell",
        title=f"system calls without a cell, {unit}",
        kernels=[impact.labels[0]],
        ops=None,
        limit="top",
    )


def _named(names: Names) -> list[str]:
    return [f"{name} ×{times}" if times > 1 else name for name, times in Counter(names).items()]
