"""The topics that have tables, in the order of a report."""

import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from profdiff.base.errors import InputError
from profdiff.evidence.conditions.condition import Changes
from profdiff.evidence.findings import Findings
from profdiff.shapes import rows
from profdiff.shapes.table import Section


class Topic(NamedTuple):
    """``about``: what it shows, for the list of topics. ``of_code``: it decodes all instructions,
    which takes long. ``sides``: whose instructions it tells. ``counts``: what conditions can name
    besides its tables. ``module``: of this package, where its tables are made. ``over_points``: its
    tables are of several points together."""

    name: str
    about: str
    of_code: bool = False
    sides: str = "the kernel alone"
    counts: tuple[str, ...] = ()
    module: str = ""
    over_points: bool = False

    def section(self, findings: Findings) -> Section:
        """What it shows of a session. Raises InputError where nothing can be known of it, and
        SessionError for a damaged file."""
        build: Callable[[Findings], Section] = self._shapes().section
        return build(findings)

    def changes(self, findings: Findings, name: str) -> Changes:
        """Those of one of its ``counts``, or of its tables. Raises as ``section`` does."""
        if name not in self.counts:
            return partial(rows.changes, self.section(findings), findings.results.labels)
        build: Callable[[Findings], Changes] = self._shapes().changes
        return build(findings)

    def at(self, findings: Findings) -> str:
        """Which point, or points, its tables are of; "" for the only ones."""
        if not self.over_points:
            return findings.setting.title
        try:
            told: str = self._shapes().where(findings)
        except InputError:
            return ""
        return told

    def _shapes(self) -> Any:
        return import_module(f"profdiff.topics.{self.module or f'{self.name}.shapes'}")


TOPICS = {
    topic.name: topic
    for topic in (
        Topic(
            "fits",
            "costs as lines over a sweep, and where they are equal",
            sides="both sides",
            over_points=True,
        ),
        Topic(
            "gaps",
            "how much of a second kernel's gap to the base others close",
            sides="both sides",
            module="gaps",
        ),
        Topic(
            "paths",
            "which call paths carry most of the change",
            sides="both sides",
            module="paths",
        ),
        Topic("events", "how often events happened in the kernel", counts=("events",)),
        Topic("inventory", "how often each kind of instruction ran", True, "both sides, in --csv"),
        Topic("memory", "which memory --allocations saw given out and taken back"),
        Topic("idle", "for how long vCPUs idled, and what gave way to that", module="idle"),
        Topic("probes", "what --probe read", module="probes"),
        Topic("initcalls", "how many instructions phases and initcalls of a boot executed"),
        Topic("programs", "what programs and the kernel execute (--variant)", sides="both sides"),
        Topic("traces", "how long calls of traced functions took", module="traces"),
    )
}

TYPES = Topic(
    "types",
    "which fields and variables the kernel loads and stores",
    counts=("loads", "stores"),
)
SHARING = Topic(
    "sharing",
    "which data lies in cache lines that change hands",
    counts=("transfers", "misses"),
)
# Conditions name items of the inventory without its tables, in which an item has several rows.
_EVERY = (*(topic for topic in TOPICS.values() if not topic.of_code), TYPES, SHARING)
#: What conditions can name of topics, besides their tables.
NAMES = tuple(dict.fromkeys(name for topic in _EVERY for name in (topic.name, *topic.counts)))


def topic_of(name: str) -> Topic | None:
    """The topic that has a table, or a count, of a condition's name."""
    first = re.split(r"[-.]", name)[0]
    return next((one for one in _EVERY if name in one.counts or first == one.name), None)


def sections(findings: Findings, *, of_code: bool) -> list[Section]:
    """What all topics show of a session; those of which nothing is known are left out, and without
    ``of_code`` those that take long: they decode all instructions, or read all points."""
    found = []
    for topic in TOPICS.values():
        if (topic.of_code or topic.over_points) and not of_code:
            continue
        try:
            section = topic.section(findings)
        except InputError:
            continue
        if section.tables:
            found.append(section)
    return found
