"""The events that a suite's report has of its cells are those of each cell's own report, which are
those of its recordings."""

from pathlib import Path

from msgspec.structs import replace

from profdiff.evidence.event_counts import KeptCounts
from profdiff.evidence.events import EventTable, outweighing
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results
from profdiff.evidence.suite.results import SuiteResults
from profdiff.profile import session_facts
from profdiff.session.session import Session
from profdiff.session.suite import Suite


def check(folder: Path) -> dict[tuple[str, str], dict[str, int]]:
    """By cell and kernel, in how many states each event that changed was seen."""
    found: dict[tuple[str, str], dict[str, int]] = {}
    for cell in SuiteResults.gather(Suite.open(folder)).cells:
        session = Session.open(cell.folder)
        facts, results = session_facts.read(session), Results.gather(session.manifest)
        table = Findings.of(session, cell.setting, results, facts).events
        assert isinstance(table, EventTable)
        assert KeptCounts.of(table.comparison, session)
        session.manifest = replace(session.manifest, events=None)
        assert table.rows == EventTable(table.comparison, session).rows
        ops = table.comparison.ops or 1
        assert set(cell.events) == set(table.labels[1:])
        for number, label in enumerate(table.labels[1:], 1):
            wanted = _changed(table, number)
            mine = [
                (one.event.name, (round(one.base * ops), round(one.other * ops)), one.states)
                for one in cell.events[label]
            ]
            assert mine == wanted
            largest = table.largest(number)
            assert (largest.event.name if largest else None) == (mine[0][0] if mine else None)
            found[cell.name, label] = {name: states for name, _, states in mine}
    return found


def _changed(table: EventTable, number: int) -> list[tuple[str, tuple[int, int], int]]:
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
