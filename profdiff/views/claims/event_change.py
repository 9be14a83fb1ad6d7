"""Which event of the kernel changed by more than the instructions did."""

from profdiff.base.metric import INSTRUCTIONS, Metric
from profdiff.evidence.findings import Findings
from profdiff.views.events.making import known
from profdiff.views.events.sentence import sentence


def sentences(findings: Findings) -> dict[tuple[Metric, str], list[str]]:
    """By metric and the label of a kernel: one sentence if an event did."""
    document = known(findings)
    if document is None:
        return {}
    told = {label: sentence(document, label) for label in document.labels[1:]}
    return {(INSTRUCTIONS, label): [one] for label, one in told.items() if one}


def of_kernel(findings: Findings, label: str) -> str:
    """That of one kernel; "" where none did."""
    return "".join(sentences(findings).get((INSTRUCTIONS, label), []))
