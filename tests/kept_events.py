"""The events and items that a suite's report has of its cells are those of each cell's own report,
which are those of its recordings."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from profdiff.evidence.events import MUCH, ChangedEvent, EventTable, KeptCounts, outweighing
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results
from profdiff.evidence.suite import SuiteResults
from profdiff.profile import session_facts
from profdiff.profile.code.classes import ITEMS
from profdiff.session.session import Session
from profdiff.session.suite import Suite
from profdiff.topics.inventory.measure import Inventory

# An event or item: with both counts, and in how many states its change was seen.
_Change = tuple[str, tuple[int, int], int]


def check(folder: Path) -> dict[tuple[str, str], dict[str, int]]:
    """By cell and kernel, in how many states each event that changed was seen."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for cell in SuiteResults.gather(Suite.open(folder)).cells:
        session = Session.open(cell.folder)
        facts, results = session_facts.read(session), Results.gather(session.manifest)
        findings = Findings.of(session, cell.setting, results, facts)
        table, inventory = findings.events, Inventory(findings)
        assert isinstance(table, EventTable)
        assert KeptCounts.of(table.comparison, session)
        session.manifest = replace(session.manifest, events=None)
        assert table.rows == EventTable(table.comparison, session).rows
        ops = table.comparison.ops or 1
        assert set(cell.events) == set(cell.items) == set(table.labels[1:])
        for number, label in enumerate(table.labels[1:], 1):
            wanted = _changed(table, number)
            mine = _told(cell.events[label], ops)
            assert mine == wanted
            assert _told(cell.items[label], ops) == _items(inventory, number)
            largest = table.largest(number)
            assert (largest.event.name if largest else None) == (mine[0][0] if mine else None)
            found[cell.name, label] = {name: states for name, _, states in mine}
    return found


def _told(some: Sequence[ChangedEvent], ops: int) -> list[_Change]:
    return [
        (one.event.name, (round(one.base * ops), round(one.other * ops)), one.states)
        for one in some
    ]


def _items(inventory: Inventory, number: int) -> list[_Change]:
    """The items that a cell's own report is sure of, and that changed by much more than the
    instructions."""
    rows = {row.item.name: row for row in inventory.rows if row.item.name in ITEMS}
    counts = {
        name: (base, other)
        for name, row in rows.items()
        if (base := row.counts[0]) is not None and (other := row.counts[number]) is not None
    }
    totals = inventory.comparison.totals().tolist()
    both, changes = (totals[0], totals[number]), {n: r.changes[number - 1] for n, r in rows.items()}
    names = outweighing(counts, both, inventory.comparison.ops, MUCH)
    found = [
        (name, counts[name], change.states)
        for name in sorted(names, key=lambda name: not ITEMS[name].costly)
        if (change := changes[name]) is not None and change.verdict.is_sure
    ]
    largest = inventory.largest(number)
    if largest is not None and largest.item.name in ITEMS:
        assert found[0][0] == largest.item.name
    return found


def _changed(table: EventTable, number: int) -> list[_Change]:
    """The events of the workload that a report calls exact and that changed by more than the
    instructions: with both counts, and in how many states they were seen."""
    rows = {row.event.name: row for row in table.rows if row.context == "own"}
    counts = {
        name: (base, other)
        for name, row in rows.items()
        if (base := row.counts[0]) is not None and (other := row.counts[number]) is not None
    }
    totals = table.comparison.totals().tolist()
    changes = {name: row.changes[number - 1] for name, row in rows.items()}
    return [
        (name, counts[name], change.states)
        for name in outweighing(counts, (totals[0], totals[number]), table.comparison.ops)
        if (change := changes[name]) is not None and change.verdict == "exact"
    ]
