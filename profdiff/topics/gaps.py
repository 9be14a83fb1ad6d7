"""How much of the gap between the base and a second kernel, which is worse, later kernels close: of
each metric at each point, and of functions at one."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, NamedTuple

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.cell import Cell
from profdiff.evidence.findings import Findings
from profdiff.evidence.outside_workload import larger
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Estimate
from profdiff.profile.function_identity import title
from profdiff.profile.kept_functions import FunctionCounts
from profdiff.shapes.table import Cells, Section, Table, of_kernel, of_row, tabulate
from profdiff.topics.sentences import more_rows, told_kernels

# A share that is not known to within so much is not shown.
_WIDEST = 0.1
_SHOWN: Mapping[str, Any] = {"title": "closed", "digits": 0}
# Points that differ by less are told as one.
_WORTH_TWO = 0.005
# The least part of the whole gap that a function's is, and so many of them are seen.
_LEAST, _MAX_ROWS = 0.01, 20


class Closed(NamedTuple):
    """Below 0 where a kernel widens the gap. ``low`` and ``high``: its ends."""

    share: float
    low: float
    high: float


class Row(NamedTuple):
    """``values``: of each kernel, None without a result. ``closed``: by the kernels behind the
    second, None where it is not sure."""

    name: str
    values: Mapping[str, float | None]
    closed: Mapping[str, Closed | None]


def section(findings: Findings) -> Section:
    """Metrics with a gap that is sure, and functions at the findings' setting. Raises InputError
    without one, with less than three kernels, and of a bisection, which compares its own;
    SessionError for a damaged file."""
    labels = findings.results.labels
    if len(labels) < 3 or findings.manifest.bisection is not None:
        raise InputError("gaps: a gap needs a base, a kernel that is worse, and a third one")
    sentences, tables = list[str](), list[Table]()
    for collector, metric in findings.results.metrics():
        some = findings.results.of(collector, metric)
        rows = [] if metric.kind.of_parts else [_of_result(labels, one) for one in some]
        if any(closed for row in rows for closed in row.closed.values()):
            unit = f"{metric.title}{' per op' if some[0].per_op else ''}"
            tables.append(_points(labels, rows, unit, f"gaps-{len(tables)}"))
            sentences += _sentences(labels, rows, unit)
    if not tables:
        raise InputError(
            f"gaps: no gap is certain, and closed by a share known to within {_WIDEST:.0%}: record "
            "more ops or boots"
        )
    return Section(
        name="gaps",
        title="The gap that is closed",
        sentences=sentences,
        tables=[*tables, *_functions(findings)],
    )


def _of_result(labels: Sequence[str], result: Result) -> Row:
    values = {label: cell.value for label, cell in zip(labels, result.cells, strict=True)}
    opened = result.changes[1]
    closed = {label: _closed(result, at) for at, label in enumerate(labels[2:], 2)}
    is_open = opened is not None and opened.verdict.is_sure and _is_worse(result, opened)
    return Row(result.setting.title, values, closed if is_open else dict.fromkeys(closed))


def _is_worse(result: Result, opened: Estimate) -> bool:
    base, other = opened.medians
    return base > 0 and (other > base) == (result.metric.better == "lower")


def _closed(result: Result, kernel: int) -> Closed | None:
    """What a kernel closes of the gap of a result, where both its ends and the kernel are sure."""
    opened, step = result.changes[1], result.steps[kernel]
    cells = [result.cells[at] for at in (0, 1, kernel)]
    if opened is None or not all(cell.boots for cell in cells):
        return None
    if opened.counted:
        return _of_counts(cells)
    # Steps are against the kernel before.
    if kernel > 2 or step is None or not step.verdict.is_sure:
        return None
    ends = product(
        (opened.median.low, opened.median.high, opened.median.estimate),
        (step.median.low, step.median.high, step.median.estimate),
    )
    shares = [-change * (1 + gap) / gap for gap, change in ends if gap]
    return _sure(shares[-1], min(shares), max(shares))


def _of_counts(cells: Sequence[Cell]) -> Closed | None:
    """What is closed by exact counts; None where boots differ, or the change depends on state."""
    floor = larger(cell.tick_floor for cell in cells)
    if any(cell.scattered for cell in cells) or cells[0].state:
        return None
    base, bad, fixed = (cell.value or 0.0 for cell in cells)
    return of_exact(base, bad, fixed, floor or 0.0)


def of_exact(base: float, bad: float, fixed: float, floor: float = 0.0) -> Closed | None:
    """What ``fixed`` closes between exact counts, each difference of which timer ticks can make
    larger or smaller by ``floor``; None where that is not sure."""
    gap, won = abs(bad - base), (bad - fixed) * (1 if bad > base else -1)
    if gap <= floor:
        return None
    shares = [(won + a) / (gap + b) for a, b in product((-floor, floor), repeat=2)]
    return _sure(won / gap, min(shares), max(shares))


def _sure(share: float, low: float, high: float) -> Closed | None:
    return Closed(share, low, high) if high - low <= _WIDEST else None


def _points(labels: Sequence[str], rows: Sequence[Row], unit: str, name: str) -> Table:
    return tabulate(
        [
            of_row("point", "name", lambda row: row.name or "all"),
            *(
                of_kernel(label, "value", "number", lambda row, kernel: row.values[kernel])
                for label in labels
            ),
            *_columns(labels),
        ],
        name=name,
        title=f"{unit}, and the gap closed",
        kernels=[*labels],
        ops=None,
        rows=rows,
        by_kernel=False,
    )


def _columns(labels: Sequence[str]) -> Iterator[Cells]:
    def end(row: Row, kernel: str, of: str) -> float | None:
        closed = row.closed[kernel]
        return None if closed is None else float(getattr(closed, of))

    for label in labels[2:]:
        yield of_kernel(label, "closed", "share", partial(end, of="share"), **_SHOWN)
        for name in ("low", "high"):
            yield of_kernel(label, name, "bound", partial(end, of=name), title=name)


def _sentences(labels: Sequence[str], rows: Sequence[Row], unit: str) -> Iterator[str]:
    base, bad = labels[:2]
    for label in (labels[kernel] for kernel in told_kernels(labels) if kernel > 1):
        known = [(closed, row.name) for row in rows if (closed := row.closed[label])]
        if not known:
            continue
        low, high = min(known), max(known)
        told = _told(*low, f"the gap in {unit} that {bad} opens to {base}")
        if high[0].share - low[0].share >= _WORTH_TWO:
            told += f", and {_told(*high, '')}"
        rest = len(rows) - len(known)
        more = f" (not sure at {units.counted(rest, 'point')})" if rest else ""
        yield f"{label} {told}{more}."


def _told(closed: Closed, point: str, gap: str) -> str:
    at = f" at {point}" if point else ""
    verb, word = ("adds", " to ") if closed.share < 0 else ("closes", " of ")
    ends = sorted(abs(end) for end in (closed.low, closed.high))
    ends = ends if closed.low * closed.high > 0 else [abs(closed.share)]
    percents = dict.fromkeys(units.percent(end, ".0f") for end in ends)
    return f"{verb} {' to '.join(percents)}{word + gap if gap else ''}{at}"


def _functions(findings: Findings) -> list[Table]:
    """Those that cost more on the second kernel, by their own exact counts; none where boots
    differ."""
    session, results, setting = findings.session, findings.results, findings.setting
    state = results.state(setting)
    found = FunctionCounts.of(session).at(setting, state) if session else None
    labels = results.labels
    counted = [one for one in results.at(setting) if one.deterministic and not one.virtual]
    if found is None or list(found.labels) != labels or not counted:
        return []
    cells = counted[0].cells
    if any(cell.scattered for cell in cells):
        return []
    floor = (larger(cell.tick_floor for cell in cells) or 0.0) * (setting.ops or 1)
    gaps = found.counts[:, 1] - found.counts[:, 0]
    least = max(floor, _LEAST * abs(int(gaps.sum())))
    rows = []
    for number in (-gaps).argsort(kind="stable").tolist():
        if gaps[number] <= least:
            break
        function, counts = found.functions[number], found.counts[number].tolist()
        closed = {
            label: of_exact(counts[0], counts[1], count)
            for label, count in zip(labels[2:], counts[2:], strict=True)
        }
        name = title(function.name, function.object, "", namesakes=False)
        rows.append(Row(name, dict(zip(labels, counts, strict=True)), closed))
    at = f" at {setting.title}" if setting.title else ""
    columns = [
        *(
            of_kernel(label, "self", "count", lambda row, kernel: row.values[kernel])
            for label in labels
        ),
        *_columns(labels),
        of_row("function", "name", lambda row: row.name),
    ]
    shown = tabulate(
        columns,
        name="gaps-functions",
        title="instructions",
        remark=f" of functions that cost more on {labels[1]}{at}, and the gap closed",
        kernels=labels,
        ops=setting.ops,
        rows=rows[:_MAX_ROWS],
        hidden=rows[_MAX_ROWS:],
        by_kernel=False,
        limit="top",
        notes=more_rows(len(rows) - _MAX_ROWS),
    )
    return [shown] if rows else []
