"""Which event of the kernel changed by more than the instructions did."""

from profdiff.base.metric import INSTRUCTIONS, Metric
from profdiff.evidence.findings import Findings
from profdiff.views.events.sentence import sentence


def sentences(findings: Findings) -> dict[tuple[Metric, str], list[str]]:
    """By metric and the label of a kernel: one sentence if an event did."""
    table = findings.events
    if isinstance(table, str):
        return {}
    others = enumerate(table.labels[1:], 1)
    told = {label: sentence(table, kernel) for kernel, label in others}
    return {(INSTRUCTIONS, label): [one] for label, one in told.items() if one}


def of_kernel(findings: Findings, label: str) -> str:
    """That of one kernel; "" where none did."""
    table = findings.events
    if isinstance(table, str) or label not in table.labels[1:]:
        return ""
    return sentence(table, table.labels.index(label))
