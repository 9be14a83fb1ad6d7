"""The data of a report of several architectures, or compilers, put together."""

from profdiff import __version__
from profdiff.evidence.joint_findings import JointFindings
from profdiff.reports import document
from profdiff.reports.joint_text import commands
from profdiff.views import joint_document
from profdiff.views.joint_claim import joint_claim
from profdiff.views.joint_functions import joint_functions
from profdiff.views.joint_results import changes, grids
from profdiff.views.selection import Selection


def build(findings: JointFindings) -> joint_document.JointDocument:
    """Everything that was found, all functions; counts are integers, each of one part."""
    results, setting, names = findings.results, findings.setting, list(findings.names)
    claim = joint_claim(results, setting, names)
    return joint_document.JointDocument(
        schema=joint_document.SCHEMA,
        profdiff=__version__,
        kind=findings.kind.name,
        names=names,
        base=results.labels[0],
        setting=setting.title,
        sentences=claim.sentences if claim else [],
        changes=changes(results, names),
        tables=[grid.table for grid in grids(results, setting, names)],
        functions=joint_functions(findings, Selection()),
        commands=commands(findings),
        missing=dict(findings.missing),
        parts={name: document.build(part) for name, part in findings.parts.items()},
    )
