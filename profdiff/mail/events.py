"""The events of the kernel that changed, where one did by more than the instructions, and what
changed instructions would cost."""

from profdiff.base.errors import InputError
from profdiff.collectors.calibration.prices import Prices
from profdiff.evidence.findings import Findings
from profdiff.forms.text import changed
from profdiff.mail.letter import Part, Prose, Section
from profdiff.mail.tables import WIDTH, table
from profdiff.topics.events.sentences import sentence
from profdiff.topics.inventory.measure import Inventory
from profdiff.topics.inventory.prices import ALONE, PricedInventory
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


def costs(findings: Findings, label: str) -> Section:
    """What the change that would cost most costs at the prices that the session carries; nothing
    where it has none, or no exact counts."""
    if not isinstance(findings.prices, Prices):
        return Section("", [])
    try:
        priced = PricedInventory(Inventory(findings), findings.prices)
    except InputError:
        return Section("", [])
    told = priced.sentence(priced.inventory.labels.index(label))
    return Section("", [Prose(f"{told} {ALONE}")] if told else [])
