"""What is shown of the impact of a change on a program. ``docs/impact.md`` explains it."""

from collections import Counter
from collections.abc import Mapping

from profdiff.base import units
from profdiff.evidence.difference import Difference, summed
from profdiff.shapes.table import Section, Table, by_kernel, of_kernel, of_row, tabulate
from profdiff.topics.impact.measure import Impact, Names, Row

_NOTE = (
    "Instructions, not time. A cell has one size and one state, and the program's calls may have "
    "others: the range is that of all cells that fit as well (cells: how many), the rest of a row "
    "is of their median. near: calls whose nearest cell has another size, or outcome."
)
_STRACE = (
    "strace slows the program, so that it makes fewer calls per second than without it: --seconds "
    "takes how long it runs alone."
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
            *(_sentence(impact, label, lasts or 1, unit) for label in impact.labels[1:]),
            _coverage(impact, lasts, given=seconds is not None),
            *([_STRACE] if slowed else []),
        ],
        tables=[_rows(impact, lasts or 1, unit), _others(impact, lasts or 1, unit)],
        notes=[_NOTE],
    )


def _sentence(impact: Impact, label: str, seconds: float, unit: str) -> str:
    if not impact.rows:
        return f"{label}: no system call of {units.printable(impact.trace.name)} has a cell"
    base = impact.labels[0]
    whole = summed([row.difference(label, base, seconds) for row in impact.rows])
    before = sum(row.times * row.cost.values[base] for row in impact.rows) / seconds
    name, what = units.printable(impact.trace.name), f"kernel instructions {unit} on {label}"
    ends = f"{units.delta(whole.low)} to {units.delta(whole.high)}"
    change = f"{units.change(before, before + whole.delta)} of what these calls execute on {base}"
    if whole.low <= 0 <= whole.high and whole.low != whole.high:
        return f"{name} may execute more {what}, or fewer ({ends}); about {change}"
    more = "more" if whole.delta >= 0 else "fewer"
    return f"{name} executes {units.rounded(abs(whole.delta))} {more} {what} ({ends}): {change}"


def _coverage(impact: Impact, seconds: float | None, *, given: bool) -> str:
    calls, covered = impact.calls, impact.covered
    near = sum(row.near for row in impact.rows)
    told = f"{units.share(covered, calls, 0)} of its system calls have a cell"
    told += f", {units.share(covered - near, calls, 0)} one of their size and outcome"
    told += f" ({covered:,} and {covered - near:,} of {calls:,}, by {impact.trace.tool}"
    if seconds is None:
        return f"{told}, which does not tell seconds: --seconds does)"
    return f"{told}, {'in' if given else 'in a traced time of'} {seconds:,.2f} s)"


def _rows(impact: Impact, seconds: float, unit: str) -> Table:
    base, *others = impact.labels

    def difference(row: Row, label: str) -> Difference:
        return row.difference(label, base, seconds)

    def between(row: Row, label: str) -> str:
        found = difference(row, label)
        if found.low == found.high:
            return ""
        return f"{units.delta(found.low)} to {units.delta(found.high)}"

    def each(row: Row, label: str) -> float:
        return round(row.cost.values[label] - row.cost.values[base], 2)

    def count(row: Row, label: str) -> int:
        return round(row.times * row.cost.values[label] / seconds)

    return tabulate(
        [
            of_row("system call", "name", lambda row: units.few(_named(row.names), 3)),
            of_row("calls", "number", lambda row: round(row.calls / seconds, 1)),
            *by_kernel(impact.labels, count, difference, about=True),
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
            of_row("near", "number", lambda row: round(row.near / seconds, 1), spare=2),
        ],
        impact.rows,
        name="impact",
        title=f"instructions {unit}",
        kernels=list(impact.labels),
        ops=None,
        limit="top",
    )


def _others(impact: Impact, seconds: float, unit: str) -> Table:
    left: Mapping[str, int] = impact.others
    return tabulate(
        [
            of_row("system call", "name", lambda row: row[0]),
            of_row("calls", "number", lambda row: round(row[1] / seconds, 1)),
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
