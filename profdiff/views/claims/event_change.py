"""Which event of the kernel changed by more than the instructions did."""

from profdiff.base.metric import INSTRUCTIONS, Metric
from profdiff.evidence.findings import Findings
from profdiff.topics.events.sentences import sentence


def sentences(findings: Findings) -> dict[tuple[Metric, str], list[str]]:
    """By metric and the label of a kernel: one sentence if an event did."""
    changed = findings.changed_events
    return {(INSTRUCTIONS, label): [sentence(findings, label)] for label in changed}
