"""The report's data, ``profdiff.report/2``, put together and as JSON."""

import json
import shlex

import msgspec
from msgspec.structs import replace

from profdiff import __version__
from profdiff.base import program
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.topics.registry import sections
from profdiff.views import bisection, document
from profdiff.views.claims.answered import leading
from profdiff.views.kernels import built_from, facts
from profdiff.views.profile.code import code
from profdiff.views.record import Record
from profdiff.views.results import experiment, lengths, recording, states
from profdiff.views.results.heading import heading


def build(findings: Findings) -> document.Document:
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
    remarks = [*recording.remarks(comparisons, findings.lengths), *states.remarks(findings)]
    stacks, metrics = document.tables(shown(findings))
    found = bisection.bisection(manifest.bisection)
    return document.Document(
        schema=document.SCHEMA,
        profdiff=__version__,
        heading=heading(findings),
        answers=[
            *findings.foremost,
            *(found.sentences if found else []),
            *states.sentences(findings, depending=True),
            *leading(findings),
            *states.sentences(findings, depending=False),
        ],
        bisection=found,
        evidence=[*findings.cautions, *(one.text for one in remarks)],
        base=labels[0],
        kernels=document.kernels(findings),
        without_result=comparisons[0].without_result if comparisons else [],
        holes=built_from.holes(findings),
        workload=recording.workload(manifest, findings.setting),
        lengths=lengths.lengths(findings.lengths),
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
    return [one for one in findings.comparisons if one.labels == labels]


def encode(built: Record) -> bytes:
    """A document as JSON in ASCII, which no terminal takes for an order. Paths of the command line
    may hold what is not UTF-8."""
    return json.dumps(msgspec.to_builtins(built), separators=(",", ":")).encode()
