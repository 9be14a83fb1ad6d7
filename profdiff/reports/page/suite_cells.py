"""What is made of the reports of a suite's cells, one after the other."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TypeVar

from profdiff.base.errors import InputError, SessionError
from profdiff.base.processes import made_in_order
from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.profile import session_facts
from profdiff.session.session import Session
from profdiff.session.state import compare_states
from profdiff.views.suite.records import SuiteCell, SuiteDocument

Made = TypeVar("Made")


def made(
    folder: Path, shown: SuiteDocument, make: Callable[[SuiteCell, Findings], Made]
) -> Iterator[tuple[SuiteCell, Made | None]]:
    """What ``make`` makes of each cell of the suite in ``folder``, in order; None of one that has
    none: no kernel has a value there, or its recording is damaged. Each session is opened once,
    and let go. Raises SessionError for one that cannot be read."""
    sessions = [list(cells) for _, cells in groupby(shown.cells, key=lambda cell: cell.session)]
    parts = made_in_order(partial(_of_session, folder, make), sessions)
    for cells, part in zip(sessions, parts, strict=True):
        yield from zip(cells, part, strict=True)


def _of_session(
    folder: Path, make: Callable[[SuiteCell, Findings], Made], cells: Sequence[SuiteCell]
) -> list[Made | None]:
    session = Session.open(folder / cells[0].session)
    results = Results.gather(session.manifest)
    facts, state = session_facts.read(session), compare_states(session, results.runs)

    def of_cell(cell: SuiteCell) -> Made | None:
        try:
            setting = choose(session.manifest, cell.at or None)
            found = Findings.of(session, setting, results, facts, state)
            return make(cell, found) if found.kernels else None
        except (InputError, SessionError):
            return None

    return [
        of_cell(cell) if any(value is not None for value in cell.values.values()) else None
        for cell in cells
    ]
