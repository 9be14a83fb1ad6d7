"""The events of the kernel that changed, where one did by more than the instructions."""

from profdiff.evidence.findings import Findings
from profdiff.forms.text import changed
from profdiff.mail.letter import Part, Section
from profdiff.mail.tables import WIDTH, table
from profdiff.topics.events.sentences import sentence
from profdiff.topics.registry import TOPICS

_MOST = 6


def section(findings: Findings, label: str, at: str) -> Section:
    """What is certain to have changed of the workload's own events, the largest first; nothing
    where no event is worth a sentence. ``at``: which figures these are."""
    if not sentence(findings, label):
        return Section("", [])
    own = TOPICS["events"].section(findings).tables[0]
    blocks = changed(own, label, f"Events of the kernel that changed{at}", _MOST, WIDTH)
    return Section("", list[Part](map(table, blocks)))
