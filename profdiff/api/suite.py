"""Folders of several sessions as objects: parts and suites; and what any folder holds."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from profdiff.api.recording import Recording
from profdiff.api.session import Session
from profdiff.api.table import Table
from profdiff.base.errors import SessionError
from profdiff.base.terminal import warn
from profdiff.evidence.parts import PartsFindings, PartsResults
from profdiff.reports import documents, suite_document
from profdiff.session import opened, parts, session, suite
from profdiff.views.rows.cells import CellRow, cell_rows
from profdiff.views.rows.results import ResultRow, result_rows

if TYPE_CHECKING:
    from profdiff.views.parts.results import JointDocument
    from profdiff.views.suite import SuiteDocument


class Parts(Recording):
    """A session for each of several architectures or compilers."""

    _opened: parts.Parts

    @property
    def sessions(self) -> Mapping[str, Session]:
        """Those that were recorded, by architecture or compiler."""
        return {name: Session(one) for name, one in self._opened.sessions().items()}

    def at(self, setting: str) -> "Parts":
        """The same at another setting: ``NAME=VALUE,...``, as ``profdiff report --at``."""
        return Parts(self._opened, setting)

    def results(self) -> Table[ResultRow]:
        """What was measured: a row for each part, metric, setting and kernel. Reads no
        recording."""
        joint = PartsResults.gather(self._opened.sessions(), self._opened.kind)
        return Table(ResultRow, result_rows(joint.parts))

    def document(self) -> "JointDocument":
        """All of the report: the record that ``profdiff report --json`` writes."""
        return documents.joint_document(self._found)

    @cached_property
    def _found(self) -> PartsFindings:
        return PartsFindings.of(self._opened, self._at)


class Suite(Recording):
    """Several workloads that were recorded on the same kernels."""

    _opened: suite.Suite

    @property
    def sessions(self) -> Mapping[str, Session]:
        """Those that were recorded, by workload; ``WORKLOAD/PART`` where it has parts."""
        return {name: Session(one) for name, one in self._opened.sessions().items()}

    def cell(self, name: str) -> Session | Parts:
        """What was recorded of a cell: ``mprotect/anon,64k``, or of all cells of a workload."""
        place = suite.located(self._opened, name)
        found = opened.open(place.folder)
        if isinstance(found, suite.Suite):
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
        return suite_document.build(self._opened)


def open_recording(folder: Path) -> Session | Parts | Suite:
    """As ``profdiff.open``."""
    found = opened.open(folder)
    if not isinstance(found, suite.Suite):
        for name, one in found.sessions().items():
            for line in one.damaged:
                warn(f"{folder / name}: {line}", above=2)
    if isinstance(found, session.Session):
        return Session(found)
    return Parts(found) if isinstance(found, parts.Parts) else Suite(found)
