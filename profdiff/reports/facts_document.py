"""The facts in the report's data: what differs between the kernels, and what is not known."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.views.facts import Difference, Facts, MetricShares, Option, Shares

_Value = TypeVar("_Value")


def facts(findings: Findings) -> Facts:
    """``facts`` of ``profdiff.report/1``: of the kernels that have a result."""
    comparisons, known = findings.comparisons, findings.facts
    labels = [kernel.label for kernel in findings.kernels]
    # Other collectors may know more of the machine: only samplers ask it.
    machines: dict[str, dict[str, str]] = {
        label: dict(machine) for label, machine in known.machines.items()
    }
    for one in reversed(comparisons):
        for label, machine in one.facts.machines.items():
            machines.setdefault(label, {}).update(machine)
    return Facts(
        differences=[
            Difference(what=one.what, values=_of(labels, one.values)) for one in known.differences()
        ],
        config=[
            Option(option=one.option, values=_of(labels, one.values), relevant=one.relevant)
            for one in known.config
        ],
        config_summary=known.summaries(labels),
        command_lines=_of(labels, known.command_lines),
        machine=_of(labels, machines),
        shares=[
            MetricShares(
                metric=one.metric.name,
                collector=one.runs[0].collector,
                unresolved=_shares(one),
                lost=_of(one.labels, one.facts.lost),
            )
            for one in comparisons
        ],
    )


def _of(labels: Sequence[str], values: Mapping[str, _Value]) -> dict[str, _Value]:
    """Values of kernels that are compared, the base's first."""
    return {label: values[label] for label in labels if label in values}


def _shares(comparison: Comparison) -> Shares:
    """The part of each kernel's total that could not be given a function, 0 to 1."""
    unresolved = comparison.unresolved_total().tolist()
    totals = comparison.totals().tolist()
    pairs = zip(comparison.labels, unresolved, totals, strict=True)
    return {label: part / whole if whole else 0.0 for label, part, whole in pairs}
