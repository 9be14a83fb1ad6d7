"""The event that changed most, in one sentence for each kernel."""

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.topics.sentences import changed, told_kernels


def changed_most(findings: Findings) -> list[str]:
    """What changed most for certain: for each of few kernels, or for the last of many. Raises
    InputError where nothing is known."""
    base, *_ = labels = findings.comparisons[0].labels
    nothing = "no event is certain to have changed by more than the instructions did"
    return [
        sentence(findings, label) or f"{units.printable(label)}: {nothing}, against {base}."
        for label in (labels[kernel] for kernel in told_kernels(labels))
    ]


def sentence(findings: Findings, label: str) -> str:
    """The event of the workload that changed most on a kernel, if some event is certain to have
    changed by more than the instructions did; else ""."""
    found = findings.changed_events.get(label)
    if found is None:
        return ""
    base, ops = findings.comparisons[0].labels[0], findings.setting.ops
    change = changed(label, base, found.event.name, (found.base, found.other), ops)
    return units.printable(f"{change}: {found.event.told}.")
