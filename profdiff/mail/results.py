"""The sections that show results: tables of the experiment, every boot, and the functions."""

from collections.abc import Sequence
from itertools import groupby

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.measurements import Evidence
from profdiff.mail import measured
from profdiff.mail.letter import Notes, Part, Prose, Section, Table
from profdiff.reports import evidence_rows, evidence_text, text
from profdiff.reports.rows import Selection
from profdiff.session import points

_WIDTH = 100
# Of more metrics one table is shorter than one each.
_FEW = 8


def functions(findings: Findings, top: int) -> Section:
    """The report's tables of functions."""
    lines = text.tables(findings, Selection(top=top), width=_WIDTH)
    return Section("Which functions", _tables(lines))


def section(findings: Findings) -> Section:
    """Sweep or ladder, every boot's value, and how the numbers came about; of recordings that exist
    each one's whole."""
    evidence, setting = findings.evidence, findings.setting
    if not evidence.results:
        return Section("Result", [measured.totals(findings)] if findings.comparisons else [])
    parts: list[Part] = []
    for table in _experiment(evidence, setting):
        parts += _tables(evidence_text.draw(table, _WIDTH))
    if floors := [one for one in evidence.at(setting) if one.noise]:
        told = [f"{one.metric.name} {evidence_rows.floor(one)}" for one in floors]
        parts.append(Prose(f"A/A: {', '.join(told)}."))
    at = points.title(evidence.swept, setting)
    title = f"Every boot's value{f' at {at}' if at else ''}, not rounded:"
    boots = [
        line
        for told in evidence_rows.boots(evidence, setting)
        for line in units.wrap(units.printable(told), _WIDTH, 2)
    ]
    parts += [Table([units.printable(title)], boots), Notes(evidence_text.notes(evidence))]
    return Section("Result", parts)


def _experiment(evidence: Evidence, setting: points.Setting) -> list[evidence_rows.Table]:
    """The report's tables, but only the ladder or those kernel by kernel, which say the same."""
    if not evidence_text.worth_showing(evidence):
        return []
    tables = evidence_rows.tables(evidence, setting)
    metrics = len(evidence.at(setting))
    if len(evidence.kernels) < 3 or evidence.swept:
        return tables
    return tables[-metrics:] if metrics <= _FEW else tables[:-metrics]


def _tables(lines: Sequence[str]) -> list[Part]:
    """Tables of a report: title and columns' names stay, and so do the sums below the rule. What
    has no columns is prose."""
    found: list[Part] = []
    for blank, members in groupby(lines, key=lambda line: not line.strip()):
        block = list(members)
        if blank:
            continue
        columns = [index for index, line in enumerate(block) if "  " in line.strip()]
        if not columns:
            found.append(Prose(" ".join(block)))
            continue
        first = columns[0] + 1
        rules = [index for index, line in enumerate(block) if set(line.strip()) == {"-"}]
        end = max(rules[0] if rules else len(block), first)
        found.append(Table(block[:first], block[first:end], block[end:]))
    return found
