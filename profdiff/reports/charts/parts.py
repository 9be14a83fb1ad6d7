"""The change on each architecture, or under each compiler: bars beside each other for every
setting, in percent of the base there. Percentages are drawn together, counts of two parts never."""

import math
from collections.abc import Iterator, Sequence

from profdiff.base import units
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.evidence.parts.results import PartsMetric, PartsResults, PartsSetting
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Verdict
from profdiff.reports.charts import words
from profdiff.reports.charts.bars import LESS, MORE, REST, Panel, Row, draw
from profdiff.reports.charts.layout import Caption, Chart
from profdiff.views.results.result import ABSENT, Median, Pair, delta
from profdiff.views.shown_command import command_line

_MOST_METRICS = 12
_MOST_PANELS = 16
# A bar of a change of more would leave the others no room.
_LONGEST = 10.0


def charts(findings: PartsFindings) -> Iterator[Chart]:
    """``architectures-METRIC``, ``compilers-METRIC`` of every metric, at most 12."""
    joint, names = findings.results, findings.names
    metrics = [one for one in joint.metrics() if _is_measured(joint, one)]
    for metric in metrics[:_MOST_METRICS]:
        rows = joint.of_metric(metric)
        panels = [panel for row in rows for panel in _panels(joint, row, names)]
        example = next(result for _, by_part in rows for result in by_part.values())
        against = f"change relative to {joint.labels[0]}"
        notes = [
            *_notes(findings, rows),
            *words.left_out((len(panels) - _MOST_PANELS, "settings or kernels")),
            *words.left_out((len(metrics) - _MOST_METRICS, "metrics")),
        ]
        caption = Caption(words.title(example, f"{against}, by {findings.kind.name}"), notes)
        legend = [(MORE, "more"), (LESS, "less"), (REST, "unsure or unchanged")]
        used = {colour for _, panel in panels for row in panel for _, colour in row.bars}
        shown = [(colour, text) for colour, text in legend if colour in used]
        figure = draw(caption, panels[:_MOST_PANELS], "change in percent of the base", shown, 1)
        name = f"{findings.kind.plural}-{words.file_part(metric.metric.name)}"
        yield Chart(name, "parts", caption, figure)


def _is_measured(joint: PartsResults, metric: PartsMetric) -> bool:
    return len(joint.labels) > 1 and any(
        any(result.changes) for _, by_part in joint.of_metric(metric) for result in by_part.values()
    )


def _panels(
    joint: PartsResults, row: tuple[PartsSetting, dict[str, Result]], names: Sequence[str]
) -> Iterator[Panel]:
    """A row for each part, of each kernel beside the base."""
    setting, by_part = row
    several = len(joint.labels) > 2
    for label in joint.labels[1:]:
        heading = ", ".join(filter(None, [setting.title, label if several else ""]))
        yield (
            words.short(heading, 60),
            [
                _row(name, joint.parts[name], by_part[name], label)
                if name in by_part and label in joint.parts[name].labels
                else Row(name, [], ABSENT)
                for name in names
            ],
        )


def _row(name: str, results: Results, result: Result, label: str) -> Row:
    kernel = results.labels.index(label)
    change = results.change(result, label)
    pair = Pair(
        base=Median(value=Median.of(result.cells[0]).value),
        other=Median(value=Median.of(result.cells[kernel]).value),
    )
    if change is None:
        return Row(name, [], str(pair))
    value = f"{delta(change)}  {pair}"
    if change.verdict is Verdict.UNSURE:
        value += f"  {change.verdict}"
    estimate, low, high = change.median.estimate, change.median.low, change.median.high
    if math.isnan(estimate) or abs(estimate) > _LONGEST:
        return Row(name, [], value)
    sure = change.verdict.is_sure
    colour = (MORE if estimate > 0 else LESS) if sure else REST
    known = not math.isnan(low) and low != high and max(abs(low), abs(high)) <= _LONGEST
    return Row(name, [(100 * estimate, colour)], value, (100 * low, 100 * high) if known else None)


def _notes(
    findings: PartsFindings, rows: Sequence[tuple[PartsSetting, dict[str, Result]]]
) -> list[str]:
    """Kernels, workload and where values come from: once where all parts have it alike."""
    told: dict[str, list[str]] = {}
    every = 0
    for name, results in findings.results.parts.items():
        mine = [by_part[name] for _, by_part in rows if name in by_part]
        command = command_line(results.manifest.workload.argv)
        every += bool(mine)
        for text in words.notes(results, mine, command) if mine else ():
            told.setdefault(text, []).append(name)
    own = [f"{', '.join(names)}: {text}" for text, names in told.items() if len(names) < every]
    alike = [text for text, names in told.items() if len(names) == every]
    return [*map(units.printable, own), *alike]
