"""The output forms of ``profdiff report`` for a suite: those that have a meaning for all of its
cells. The others are of one cell."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from profdiff.base.errors import InputError
from profdiff.reports.forms import FORMS, Asked, Files, Form, as_text

if TYPE_CHECKING:
    from profdiff.evidence.suite.results import SuiteResults
    from profdiff.session.suite import Suite
    from profdiff.views.suite.records import SuiteDocument


class Subject(NamedTuple):
    """What is reported. ``results`` gathers them, once, and ``document`` is made of them, once."""

    suite: "Suite"
    results: "Callable[[], SuiteResults]"
    document: "Callable[[], SuiteDocument]"
    asked: Asked


def refuse_others(targets: Mapping[str, str], asked: Asked, suite: "Suite") -> None:
    """Raise InputError for what is of one cell alone."""
    known = {form.name for form in SUITE_FORMS}
    others = [f"--{form.name}" for form in FORMS if form.name in targets and form.name not in known]
    others += ["--classes"] if asked.classes else []
    others += ["--min-delta"] if asked.selection.min_delta else []
    others += ["--absolute"] if asked.per_op is False else []
    if asked.selection.sort not in ("delta", "name"):
        others.append(f"--sort {asked.selection.sort}")
    if others:
        raise InputError(
            f"{others[0]} is of one cell: name one with --cell (profdiff report {suite.folder} "
            "lists them)"
        )


def _text(subject: Subject, target: str) -> str:
    from profdiff.reports.text.suite import report

    asked = subject.asked
    return as_text(
        asked,
        target,
        lambda selection, width: report.render(
            subject.document(),
            str(subject.suite.folder),
            width=width,
            top=selection.top or 0,
            ratios=asked.ratios,
            side=selection.side,
            by_name=selection.sort == "name",
        ),
    )


def _page(subject: Subject, target: str) -> bytes:
    from profdiff.reports.page import suite as suite_page
    from profdiff.reports.page import suite_cells

    shown = subject.document()
    reports = suite_cells.reports(subject.suite.folder, shown)
    return suite_page.render(shown, reports).encode(errors="backslashreplace")


def _site(subject: Subject, target: str) -> None:
    from profdiff.reports.page import site, suite_cells

    shown = subject.document()
    site.write(Path(target), shown, suite_cells.reports(subject.suite.folder, shown))


def _json(subject: Subject, target: str) -> bytes:
    from profdiff.reports.documents import session

    return session.encode(subject.document()) + b"\n"


def _csv(subject: Subject, target: str) -> str:
    from profdiff.reports.csv import suite as suite_csv

    return suite_csv.render(subject.document())


_RENDER: Mapping[str, Callable[[Subject, str], str | bytes | Files | None]] = {
    "text": _text,
    "html": _page,
    "site": _site,
    "json": _json,
    "csv": _csv,
}
SUITE_FORMS: tuple[Form[Subject], ...] = tuple(
    Form(form.name, form.help, _RENDER[form.name], form.takes, form.default)
    for form in FORMS
    if form.name in _RENDER
)
