"""A recorded session as an object."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profdiff.api import annotated, blamed
from profdiff.api.recording import Recording
from profdiff.api.table import Table, of_topic
from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.findings import LazyFindings, choose
from profdiff.evidence.results import Results
from profdiff.reports import documents
from profdiff.reports.form import Subject
from profdiff.reports.topics import TOPICS, TopicOptions
from profdiff.session import points
from profdiff.session.session import Session as Opened
from profdiff.views.rows.functions import (
    AddressRow,
    CallRow,
    FunctionRow,
    address_rows,
    call_rows,
    function_rows,
)
from profdiff.views.rows.results import (
    KernelRow,
    ResultRow,
    RunRow,
    kernel_rows,
    result_rows,
    run_rows,
)

if TYPE_CHECKING:
    from profdiff.views.annotation.records import Annotation
    from profdiff.views.blame import Blame
    from profdiff.views.document import Document


class Session(Recording):
    """A session, looked at in one of its settings: the one that ``profdiff report`` chooses, or the
    one that ``at`` names. Results are of all settings, all else is of this one."""

    _opened: Opened

    @property
    def sessions(self) -> Mapping[str, "Session"]:
        """This session alone, under the name ""."""
        return {"": self}

    @property
    def labels(self) -> Sequence[str]:
        """The kernels' labels, the base's first."""
        return self._results.labels

    @property
    def settings(self) -> Sequence[str]:
        """What ``at`` takes, ``size=4096,vCPUs=2``; "" for the only one."""
        return [points.name(setting) for setting in self._results.settings]

    @property
    def setting(self) -> str:
        """The one of them that is looked at."""
        return points.name(choose(self._opened.manifest, self._at, self._results))

    @property
    def ops(self) -> int | None:
        """How many operations the counts of this setting are of; None if that is not known."""
        return self._found.ops

    @property
    def metrics(self) -> Sequence[str]:
        """The metrics whose functions are known, ``COLLECTOR:NAME``, the first of the report
        first."""
        return [comparison.full_name for comparison in self._found.findings.comparisons]

    def at(self, setting: str) -> "Session":
        """The session at another setting: ``NAME=VALUE,...``, as ``profdiff report --at``."""
        choose(self._opened.manifest, setting)
        return Session(self._opened, setting)

    def kernels(self) -> Table[KernelRow]:
        """The kernels, the base first: releases, builds and sources. Reads no recording."""
        return Table(KernelRow, kernel_rows(self._opened.manifest))

    def runs(self) -> Table[RunRow]:
        """Every run of all settings, and why it failed if it did. Reads no recording."""
        return Table(RunRow, run_rows(self._opened.manifest))

    def results(self) -> Table[ResultRow]:
        """What was measured: a row for each metric, setting and kernel. Reads no recording."""
        return Table(ResultRow, result_rows({"": self._results}))

    def functions(self, metric: str | None = None) -> Table[FunctionRow]:
        """What functions cost: a row for each and kernel. ``metric``: one of ``metrics``, or its
        name alone; the first by default."""
        found = self._found.findings.comparison(metric)
        return Table(FunctionRow, function_rows(found))

    def addresses(self, metric: str | None = None) -> Table[AddressRow]:
        """What each address cost: a row for each that a kernel executed."""
        found = self._found.findings.comparison(metric)
        return Table(AddressRow, address_rows(found))

    def calls(self) -> Table[CallRow]:
        """How often functions were called: a row for each that was, and kernel."""
        found = self._found.findings.comparison()
        return Table(CallRow, call_rows(found))

    def topic(self, name: str) -> Mapping[str, Table[Any]]:
        """The tables of ``profdiff report TOPIC`` by name: ``events``, ``inventory``,
        ``memory``, ``idle``, ``probes``, ``traces``, ``initcalls``, ``types`` or ``sharing``. A row
        for each row of the table and kernel, with the columns that ``--json`` names."""
        topics = {topic: kind.section for topic, kind in TOPICS.items() if kind.section}
        if name not in topics:
            raise InputError(f"{units.printable(name)}: name one of {', '.join(topics)}")
        subject = Subject(self._opened, lambda: self._found)
        section = topics[name](subject, TopicOptions(at=self._at), False)
        return {table.name: of_topic(table) for table in section.tables}

    def annotate(
        self,
        function: str,
        *,
        kernels: Sequence[str] = (),
        inlined_at: str | None = None,
        metric: str | None = None,
        sources: Mapping[str, str] | None = None,
    ) -> "Annotation":
        """The code of a function as it was executed: the record that ``profdiff annotate --json``
        writes. ``sources``: by label, the tree that source lines are from, DIR or REPO@REV."""
        trees = [f"{label}={tree}" for label, tree in (sources or {}).items()]
        wanted = annotated.AnnotationRequest(function, self._at, metric, inlined_at, kernels, trees)
        return annotated.of_session(self._opened, wanted, per_op=None)

    def blame(
        self,
        repo: str | Path | None = None,
        *,
        base: str | None = None,
        new: str | None = None,
        kernel: str | None = None,
    ) -> "Blame":
        """Which commits the delta of a kernel belongs to, by default the last one: the record that
        ``profdiff blame --json`` writes. ``repo``, ``base`` and ``new``: as its options."""
        place = None if repo is None else Path(repo)
        return blamed.of_findings(self._found.findings, place, (base, new), kernel)

    def document(self) -> "Document":
        """All of the report: the record that ``profdiff report --json`` writes."""
        return documents.session_document(self._found.findings)

    @cached_property
    def _results(self) -> Results:
        return Results.gather(self._opened.manifest)

    @cached_property
    def _found(self) -> LazyFindings:
        return LazyFindings.of(self._opened, self._at)
