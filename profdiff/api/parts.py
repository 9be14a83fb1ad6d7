"""A folder of parts as an object."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from profdiff.api.recording import Recording
from profdiff.api.session import Session
from profdiff.api.table import Table
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.evidence.parts.results import PartsResults
from profdiff.reports.documents import parts
from profdiff.session.parts import Parts as Opened
from profdiff.views.rows.results import ResultRow, result_rows

if TYPE_CHECKING:
    from profdiff.views.parts.document import JointDocument


class Parts(Recording):
    """A session for each of several architectures or compilers."""

    _opened: Opened

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
        return parts.build(self._found)

    @cached_property
    def _found(self) -> PartsFindings:
        return PartsFindings.of(self._opened, self._at)
