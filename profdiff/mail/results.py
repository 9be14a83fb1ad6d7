"""The sections that show results: tables of the experiment, every boot, and the functions."""

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.measurements import Evidence
from profdiff.mail import measured
from profdiff.mail.letter import Notes, Part, Prose, Section, Table
from profdiff.reports import evidence_rows, evidence_text, text
from profdiff.reports.table import Block
from profdiff.session import points
from profdiff.views import experiment
from profdiff.views.selection import Selection

_WIDTH = 100
# Of more metrics one table is shorter than one each.
_FEW = 8


def functions(findings: Findings, top: int) -> Section:
    """The report's tables of functions."""
    blocks = text.tables(findings, Selection(top=top), width=_WIDTH)
    return Section("Which functions", list(map(_part, blocks)))


def section(findings: Findings) -> Section:
    """Sweep or ladder, every boot's value, and how the numbers came about; of recordings that exist
    each one's whole."""
    evidence, setting = findings.evidence, findings.setting
    if not evidence.results:
        return Section("Result", [measured.totals(findings)] if findings.comparisons else [])
    parts: list[Part] = []
    for table in _experiment(evidence, setting):
        parts += map(_part, evidence_text.draw(table, _WIDTH))
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


def _experiment(evidence: Evidence, setting: points.Setting) -> list[experiment.Table]:
    """The report's tables, but only the ladder or those kernel by kernel, which say the same."""
    if not evidence_text.worth_showing(evidence):
        return []
    tables = evidence_rows.tables(evidence, setting)
    metrics = len(evidence.at(setting))
    if len(evidence.kernels) < 3 or evidence.swept:
        return tables
    return tables[-metrics:] if metrics <= _FEW else tables[:-metrics]


def _part(block: Block | str) -> Part:
    """A table of the report, of which title and columns' names stay, and so do the sums below the
    rule; or a paragraph."""
    return Prose(block) if isinstance(block, str) else Table(block.head, block.body, block.tail)
