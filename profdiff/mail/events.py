"""The events of the kernel that changed, where one did by more than the instructions, and the kinds
of instructions."""

from msgspec.structs import replace

from profdiff.evidence.findings import Findings
from profdiff.forms.text import changed
from profdiff.mail.letter import Part, Prose, Section
from profdiff.mail.tables import WIDTH, table
from profdiff.topics.events.sentences import sentence
from profdiff.topics.inventory import sentences, shapes
from profdiff.topics.inventory.measure import Inventory
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


def items(inventory: Inventory | None, label: str, at: str) -> Section:
    """The item that changed by much more than the instructions, and those that cost more than
    others of which it is certain that they changed; all items where none of those did."""
    if inventory is None or label not in inventory.labels[1:]:
        return Section("", [])
    every = shapes.items(inventory)
    costly = [row for row in every.rows if row[every.index("costly")]]
    title = f"Kinds of instructions that changed{at}"
    blocks = changed(replace(every, rows=costly), label, title, _MOST, WIDTH)
    blocks = blocks or changed(every, label, title, _MOST, WIDTH)
    said = sentences.sentence(inventory, label)
    return Section("", [*([Prose(said)] if said else []), *map(table, blocks)])
