"""What a report says of a kernel whose time changed while its instructions did not."""

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.same_instructions import same_instructions
from profdiff.views.results import result


def sentences(findings: Findings) -> list[str]:
    """One for each such kernel, at the setting."""
    base = findings.results.labels[0]
    return [
        f"{one.label} executes the instructions of {base}, and of each class as many, but "
        f"{units.printable(one.time.metric.name)} changes by {result.delta(one.change)}: same "
        "instructions: layout of code or data (profdiff report --layout)."
        for one in same_instructions(findings)
    ]
