"""The evidence of an experiment as plain text: tables at most so many columns wide, and notes."""

from collections.abc import Sequence
from itertools import chain

from profdiff.base import units
from profdiff.collectors.registry import profiles
from profdiff.evidence.measurements import Evidence, Result
from profdiff.evidence.statistics import Estimate, smallest_p
from profdiff.reports import evidence_rows
from profdiff.reports.evidence_rows import Table
from profdiff.session import points

_ANSWERED = 2


def render(evidence: Evidence, setting: points.Setting, width: int) -> list[str]:
    """Lines; none where there is nothing that the function table does not say."""
    if not worth_showing(evidence):
        return []
    lines: list[str] = []
    for table in evidence_rows.tables(evidence, setting):
        lines += [*draw(table, width), ""]
    return [
        *lines,
        *chain.from_iterable(units.wrap(note, width, 2) for note in notes(evidence)),
        "",
    ]


def answers(evidence: Evidence, setting: points.Setting) -> list[str]:
    """One sentence for each metric that nothing else shows and each kernel but the base."""
    sentences = []
    results = [one for one in evidence.at(setting) if not profiles(one.collector)]
    # What the workload says of itself comes before the time of the whole command.
    for result in sorted(results, key=lambda one: one.metric.name == "wall-time")[:_ANSWERED]:
        for label, change in zip(evidence.labels, result.changes, strict=True):
            if change is not None:
                sentences.append(_answer(evidence, result, label, change))
    return sentences


def _answer(evidence: Evidence, result: Result, label: str, change: Estimate) -> str:
    base, other = (evidence_rows.number(one) for one in change.medians)
    interval = evidence_rows.interval(change)
    sure = (
        f", {100 * evidence.rule.confidence:g} % interval {interval}" if interval[:1] == "[" else ""
    )
    at = points.title(evidence.swept, result.setting)
    return (
        f"{label} has {evidence_rows.what(result, with_kind=False)} {other}, "
        f"{evidence.labels[0]} {base}{f' at {at}' if at else ''}: "
        f"{evidence_rows.change_text(change)}{sure} ({evidence_rows.verdict(change)}"
        f"{', instruction counts by an emulated clock' if result.virtual else ''})."
    )


def worth_showing(evidence: Evidence) -> bool:
    """Whether there is more than the exact counts of two kernels, equal in every boot, which the
    functions' table has as its last row."""
    results = evidence.results
    return bool(results) and (
        evidence.scattered
        or len(results) > 1
        or len(evidence.kernels) > 2
        or not profiles(results[0].collector)
    )


def notes(evidence: Evidence) -> list[str]:
    """How the numbers came about, and what they can tell; one line each."""
    manifest, rule = evidence.manifest, evidence.rule
    lines = []
    cells = [cell for result in evidence.results for cell in result.cells]
    counts = sorted({len(cell.boots) for cell in cells})
    boots = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    inside = f", {manifest.boot_runs} executions in each" if manifest.boot_runs > 1 else ""
    at = " at each point" if evidence.swept else ""
    failed = sum(run.failure is not None for run in manifest.runs)
    drawn = (
        f", in rounds of all kernels, each in an order drawn with seed {manifest.order.seed}; the "
        "boot is the unit of replication"
    )
    lines.append(
        f"{boots} boot{'' if boots == '1' else 's'} of each kernel{at}{inside}"
        f"{drawn if evidence.repeated else ''}; {failed} failed run{'' if failed == 1 else 's'}"
    )
    if any(run.boot for run in manifest.runs):
        lines.append("runs on a machine that was not rebooted in between are one boot")
    if manifest.order.vary:
        lines.append(
            "each repetition had its own random numbers, user addresses and time of settling"
        )
    statistical = [
        change
        for result in evidence.results
        for change in result.changes
        if change and change.verdict != "exact"
    ]
    if any(change and change.verdict == "exact" for r in evidence.results for change in r.changes):
        lines.append(
            "exact: counts, equal in every boot; no statistics are needed"
            if evidence.repeated
            else "exact: counted, not sampled; whether counts repeat, one boot cannot show"
        )
    if statistical:
        least = min(min(change.boots) for change in statistical)
        lines.append(
            f"changed: Mann-Whitney p at most {rule.alpha:g} and the {100 * rule.confidence:g} % "
            f"interval outside 0 and at least {100 * rule.relevance:g} %; unchanged: the interval "
            f"within ±{100 * rule.relevance:g} %; else unsure (docs/statistics.md)"
        )
        smallest = f"{smallest_p(least, least):.2g} at the smallest"
        lines.append(f"{least} against {least} boots can reach p = {smallest}")
        reasons = dict.fromkeys(change.reason for change in statistical if change.reason)
        reasons.pop(f"{least} against {least} boots reach p = {smallest}", None)
        lines += [f"why unsure or not reliable: {reason}" for reason in list(reasons)[:3]]
    if any(result.noise for result in evidence.results):
        lines.append(
            f"A/A: what {evidence.labels[0]} differs from itself by; a smaller change is none"
        )
    return lines


def draw(table: Table, width: int) -> list[str]:
    """A table in lines of at most ``width`` columns; columns that do not fit follow below, under
    the row's name again."""
    title = units.wrap(units.printable(table.title), width)
    lines: list[str] = [*title]
    rows = [[units.printable(cell) for cell in row] for row in (table.header, *table.rows)]
    widths = [max(map(units.width, column)) for column in zip(*rows, strict=True)]
    limit = max(width // 3, 8)
    widths[: table.names] = [min(one, limit) for one in widths[: table.names]]
    start = table.names
    while start < len(widths) or start == table.names:
        taken = start
        used = sum(widths[: table.names]) + 2 * (table.names - 1)
        while taken < len(widths) and (taken == start or used + 2 + widths[taken] <= width):
            used += 2 + widths[taken]
            taken += 1
        if start > table.names:
            lines.append("")
        lines += [_line(row, widths, table.names, range(start, taken)) for row in rows]
        if taken >= len(widths):
            break
        start = taken
    return lines


def _line(row: Sequence[str], widths: Sequence[int], names: int, columns: range) -> str:
    cells = [
        units.shorten(row[i], widths[i]).ljust(widths[i])
        if i < names
        else " " * (widths[i] - units.width(row[i])) + row[i]
        for i in (*range(names), *columns)
    ]
    return "  ".join(cells).rstrip()
