"""A suite as an object."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from profdiff.api.parts import Parts
from profdiff.api.recording import Recording
from profdiff.api.session import Session
from profdiff.api.table import Table
from profdiff.base.errors import SessionError
from profdiff.reports.documents import suite
from profdiff.session import opened, parts, suite_cells
from profdiff.session.suite import Suite as Opened
from profdiff.views.rows.cells import CellRow, cell_rows

if TYPE_CHECKING:
    from profdiff.views.suite.records import SuiteDocument


class Suite(Recording):
    """Several workloads that were recorded on the same kernels."""

    _opened: Opened

    @property
    def sessions(self) -> Mapping[str, Session]:
        """Those that were recorded, by workload; ``WORKLOAD/PART`` where it has parts."""
        return {name: Session(one) for name, one in self._opened.sessions().items()}

    def cell(self, name: str) -> Session | Parts:
        """What was recorded of a cell: ``mprotect/anon,64k``, or of all cells of a workload."""
        place = suite_cells.located(self._opened, name)
        found = opened.open(place.folder)
        if isinstance(found, Opened):
            raise SessionError(f"{place.folder} is a suite in a suite")
        if isinstance(found, parts.Parts):
            return Parts(found, place.at)
        return Session(found, place.at)

    def results(self) -> Table[CellRow]:
        """What each cell costs: a row for each cell, kernel and metric, which ``profdiff report
        --csv`` writes."""
        return Table(CellRow, cell_rows(self._found))

    def document(self) -> "SuiteDocument":
        """All of the report, with its cells: the record that ``profdiff report --json`` writes."""
        return self._found

    @cached_property
    def _found(self) -> "SuiteDocument":
        return suite.build(self._opened)
