"""The topics that have tables, in the order of a report."""

from collections.abc import Callable
from importlib import import_module
from typing import NamedTuple

from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.shapes.table import Section


class Topic(NamedTuple):
    """``about``: what it shows, for the list of topics. ``of_code``: it decodes all instructions,
    which takes long. ``sides``: whose instructions it tells."""

    name: str
    about: str
    of_code: bool = False
    sides: str = "the kernel alone"

    def section(self, findings: Findings) -> Section:
        """What it shows of a session. Raises InputError where nothing can be known of it, and
        SessionError for a damaged file."""
        module = import_module(f"profdiff.topics.{self.name}.shapes")
        build: Callable[[Findings], Section] = module.section
        return build(findings)


TOPICS = {
    topic.name: topic
    for topic in (
        Topic("events", "how often events happened in the kernel"),
        Topic("inventory", "how often each kind of instruction ran", True, "both sides, in --csv"),
        Topic("idle", "for how long vCPUs idled, and what gave way to that"),
        Topic("probes", "what --probe read"),
        Topic("traces", "how long calls of traced functions took"),
    )
}


def sections(findings: Findings, *, of_code: bool) -> list[Section]:
    """What all topics show of a session; those of which nothing is known are left out, and without
    ``of_code`` those that decode all instructions."""
    found = []
    for topic in TOPICS.values():
        if topic.of_code and not of_code:
            continue
        try:
            section = topic.section(findings)
        except InputError:
            continue
        if section.tables:
            found.append(section)
    return found
