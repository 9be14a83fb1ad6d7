"""The documents that ``--json`` writes of a session, and of several architectures or compilers, put
together."""

import json
import shlex

import msgspec
from msgspec.structs import replace

from profdiff import __version__
from profdiff.base import program
from profdiff.evidence.findings import Findings
from profdiff.evidence.parts import PartsFindings
from profdiff.profile.comparison import Comparison
from profdiff.reports.text.parts import commands
from profdiff.topics.functions.selection import Selection
from profdiff.topics.registry import sections
from profdiff.views import bisection, document
from profdiff.views.claims.answered import leading
from profdiff.views.kernels import facts
from profdiff.views.parts.claim import parts_claim
from profdiff.views.parts.functions import parts_functions
from profdiff.views.parts.results import SCHEMA, JointDocument, changes, grids
from profdiff.views.profile import code
from profdiff.views.record import Record
from profdiff.views.results import experiment, notes, recording, result
from profdiff.views.results.recording import heading


def session_document(findings: Findings) -> document.Document:
    """Everything that was found; counts are integers.

    Metrics of a collector that has a result for fewer kernels are left out; the evidence says so.
    """
    made = _built(findings, of_code=True)
    metrics = [
        replace(metric, code=code(comparison, findings.session))
        for metric, comparison in zip(made.metrics, shown(findings), strict=True)
    ]
    return replace(made, metrics=metrics)


def without_code(findings: Findings) -> document.Document:
    """As ``build``, but for the inventory of instructions and the code of functions, which take as
    long as all else."""
    return _built(findings, of_code=False)


def _built(findings: Findings, *, of_code: bool) -> document.Document:
    comparisons, manifest = findings.comparisons, findings.manifest
    labels = [kernel.label for kernel in findings.kernels]
    remarks = [*recording.remarks(comparisons, findings.lengths), *result.remarks(findings)]
    stacks, metrics = document.tables(shown(findings))
    found = bisection.bisection(manifest.bisection)
    return document.Document(
        schema=document.SCHEMA,
        profdiff=__version__,
        heading=heading(findings),
        answers=[
            *findings.foremost,
            *(found.sentences if found else []),
            *result.sentences(findings, depending=True),
            *leading(findings),
            *result.sentences(findings, depending=False),
        ],
        bisection=found,
        evidence=[*findings.cautions, *(remark.text for remark in remarks)],
        base=labels[0],
        kernels=document.kernels(findings),
        without_result=comparisons[0].without_result if comparisons else [],
        holes=facts.holes(findings),
        workload=recording.workload(manifest, findings.setting),
        lengths=notes.lengths(findings.lengths),
        guest=document.guest(findings),
        facts=facts.facts(findings),
        experiment=experiment.experiment(findings),
        report_command=shlex.join(program.called()),
        recorded=document.Recorded(created=manifest.created, command=manifest.command),
        runs=document.runs(findings),
        stacks=stacks,
        metrics=metrics,
        sections=sections(findings, of_code=of_code),
    )


def shown(findings: Findings) -> list[Comparison]:
    """The comparisons whose metrics the document has, in its order."""
    labels = [kernel.label for kernel in findings.kernels]
    return [comparison for comparison in findings.comparisons if comparison.labels == labels]


def encode(built: Record) -> bytes:
    """A document as JSON in ASCII, which no terminal takes for an order. Paths of the command line
    may hold what is not UTF-8."""
    return json.dumps(msgspec.to_builtins(built), separators=(",", ":")).encode()


def joint_document(findings: PartsFindings) -> JointDocument:
    """Everything that was found, all functions; counts are integers, each of one part."""
    results, setting, names = findings.results, findings.setting, list(findings.names)
    claim = parts_claim(results, setting, names)
    return JointDocument(
        schema=SCHEMA,
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
        parts={name: session_document(part) for name, part in findings.parts.items()},
    )
