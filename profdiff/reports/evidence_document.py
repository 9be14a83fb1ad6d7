"""The experiment in the report's data: settings, values of every boot, verdicts, and its tables."""

import math

from profdiff.evidence import measurements
from profdiff.evidence.findings import Findings
from profdiff.evidence.measurements import Cell
from profdiff.evidence.statistics import Estimate, Interval
from profdiff.reports import evidence_rows, evidence_text, state_lines
from profdiff.session import points
from profdiff.views.experiment import Change, Experiment, KernelResult, Result


def experiment(findings: Findings) -> Experiment:
    """``experiment`` of ``profdiff.report/1``. What is not a number (the change to nothing) is
    null."""
    evidence = findings.evidence
    shown = evidence_text.worth_showing(evidence)
    tables = evidence_rows.tables(evidence, findings.setting) if shown else []
    return Experiment(
        setting=points.title(evidence.swept, findings.setting),
        results=[_result(findings, result) for result in evidence.results],
        tables=tables,
        notes=evidence_text.notes(evidence) if tables else [],
        state=state_lines.lines(findings.state),
        state_differs=bool(findings.state.differences),
    )


def _result(findings: Findings, result: measurements.Result) -> Result:
    labels = findings.evidence.labels
    return Result(
        metric=result.metric.name,
        unit=result.metric.unit,
        better=result.metric.better,
        collector=result.collector,
        parameters=dict(result.setting.parameters),
        cpus=result.setting.cpus,
        per_op=result.per_op,
        virtual_time=result.virtual,
        kernels=[
            _cell(label, cell, change)
            for label, cell, change in zip(labels, result.cells, result.changes, strict=True)
        ],
        noise_floor=None if result.noise is None else _number(result.noise.floor),
    )


def _cell(label: str, cell: Cell, change: Estimate | None) -> KernelResult:
    return KernelResult(
        label=label,
        boots=cell.boots,
        planned=cell.planned,
        failed=cell.failed,
        change=None
        if change is None
        else Change(
            median=_interval(change.median),
            mean=_interval(change.mean),
            mann_whitney=_number(change.mann_whitney),
            welch=_number(change.welch),
            smallest_p=_number(change.smallest_p),
            verdict=change.verdict,
            quality=change.quality,
            reason=change.reason,
        ),
    )


def _interval(interval: Interval) -> list[float | None]:
    """Estimate, low and high, as fractions of the base."""
    return [_number(one) for one in (interval.estimate, interval.low, interval.high)]


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
