"""The data of a report of several architectures, or compilers, put together."""

from profdiff import __version__
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.reports.documents import session
from profdiff.reports.text.parts.report import commands
from profdiff.topics.functions.selection import Selection
from profdiff.views.parts import document as parts_document
from profdiff.views.parts.claim import parts_claim
from profdiff.views.parts.functions import parts_functions
from profdiff.views.parts.results import changes, grids


def build(findings: PartsFindings) -> parts_document.JointDocument:
    """Everything that was found, all functions; counts are integers, each of one part."""
    results, setting, names = findings.results, findings.setting, list(findings.names)
    claim = parts_claim(results, setting, names)
    return parts_document.JointDocument(
        schema=parts_document.SCHEMA,
        profdiff=__version__,
        kind=findings.kind.name,
        names=names,
        base=results.labels[0],
        setting=setting.title,
        sentences=claim.sentences if claim else [],
        changes=changes(results, names),
        tables=[grid.table for grid in grids(results, setting, names)],
        functions=parts_functions(findings, Selection()),
        commands=commands(findings),
        missing=dict(findings.missing),
        parts={name: session.build(part) for name, part in findings.parts.items()},
    )
