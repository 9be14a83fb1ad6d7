"""What sessions, parts and suites have in common, a report in a notebook too."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from profdiff.api.judged import CheckRequest, checked
from profdiff.api.table import Table
from profdiff.reports.form import DEFAULT_TOP, Form, ReportOptions, Subject
from profdiff.reports.forms import FORMS
from profdiff.session.held import refuse
from profdiff.topics.functions.selection import Selection
from profdiff.views.record import Record
from profdiff.views.rows.judgements import JudgementRow, judgement_rows

if TYPE_CHECKING:
    from profdiff.session.opened import Opened


class Recording(ABC):
    """A folder that ``profdiff.open`` opened. Nothing is read before it is asked for. Methods raise
    ``profdiff.ProfdiffError``, with the line that the command line prints."""

    def __init__(self, opened: "Opened", at: str | None = None) -> None:
        self._opened = opened
        self._at = at

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._opened.folder

    @abstractmethod
    def results(self) -> Table[Any]:
        """What was measured."""

    @abstractmethod
    def document(self) -> Record:
        """All of the report: the record that ``profdiff report --json`` writes."""

    @property
    @abstractmethod
    def _found(self) -> Any:
        """What the forms of a report show."""

    def check(
        self,
        *conditions: str,
        kernels: Sequence[str] = (),
        acknowledge: Path | None = None,
        history: Path | None = None,
    ) -> Table[JudgementRow]:
        """What ``profdiff check`` judges, with ``--fail-if`` for each of ``conditions``; of these
        ``kernels``, or of all. ``acknowledge`` and ``history``: as its options."""
        request = CheckRequest.of(conditions, acknowledge, history)
        found = checked(self._opened, request, kernels, self._at)
        return Table(JudgementRow, judgement_rows(found.judgements))

    def text(self, *, top: int = DEFAULT_TOP, width: int = 100) -> str:
        """The report as ``profdiff report`` prints it, with at most ``top`` rows a table."""
        return str(formed(self, FORMS, "text", ReportOptions(Selection(top=top), width=width)))

    def html(self) -> str:
        """The report's page, which ``profdiff report --html`` writes."""
        page: bytes = formed(self, FORMS, "html", ReportOptions())
        return page.decode()

    def _repr_html_(self) -> str:
        """The page for a notebook, in a sandbox."""
        return framed(self._opened.stem, self.html(), self.text())

    def __repr__(self) -> str:
        return f"<{self._opened.title.partition(' ')[2]} {self.folder}>"


def formed(recording: Recording, forms: Sequence[Form], name: str, asked: ReportOptions) -> Any:
    """What a form of a report writes. Raises InputError where it does not show what this is."""
    opened = recording._opened
    (form,) = (one for one in forms if one.name == name)
    if opened.held not in form.render:
        refuse(f"--{name}", list(form.render), opened.folder, form.instead)
    return form.render[opened.held](Subject(opened, lambda: recording._found, asked), "")


# A notebook keeps what it shows: a larger page would make the file slow to open.
_MAX_PAGE = 16 * 2**20


def framed(title: str, page: str, text: str) -> str:
    """A page in a frame that can run its scripts and reach nothing of the notebook; where it is
    larger than 16 MiB, the report's ``text`` instead."""
    if len(page) > _MAX_PAGE:
        told = f"The page is too large for a notebook ({len(page) / 2**20:,.0f} MiB): see html()."
        return f"<p>{told}</p><pre>{escape(text)}</pre>"
    return (
        f'<iframe sandbox="allow-scripts" title="{escape(title)}" srcdoc="{escape(page)}" '
        'style="width: 100%; height: 40em; border: 0"></iframe>'
    )
