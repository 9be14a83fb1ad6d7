"""The reports of a suite's cells, one after the other."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.profile import session_facts
from profdiff.reports.documents import session as document
from profdiff.session.facts import Facts
from profdiff.session.session import Session
from profdiff.session.state import State, compare_states
from profdiff.views.document import Document
from profdiff.views.suite.records import SuiteCell, SuiteDocument


def reports(folder: Path, shown: SuiteDocument) -> Iterator[tuple[SuiteCell, Document | None]]:
    """The report of each cell of the suite in ``folder``, in order; None of one that has none: no
    kernel has a value there, or its recording is damaged. Each session is opened once,
    and let go. Raises SessionError for one that cannot be read."""
    for place, cells in groupby(shown.cells, key=lambda cell: cell.session):
        session = Session.open(folder / place)
        results = Results.gather(session.manifest)
        facts, state = session_facts.read(session), compare_states(session, results.runs)
        for cell in cells:
            measured = any(value is not None for value in cell.values.values())
            yield cell, _report(session, cell, results, facts, state) if measured else None


def _report(
    session: Session, cell: SuiteCell, results: Results, facts: Facts, state: State
) -> Document | None:
    try:
        setting = choose(session.manifest, cell.at or None)
        found = Findings.of(session, setting, results, facts, state)
        return document.build(found) if found.kernels else None
    except (InputError, SessionError):
        return None
