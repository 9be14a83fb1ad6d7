"""The output forms of ``profdiff report`` for several architectures, or compilers: those that
have a meaning for all of them together. The others are of one part."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from profdiff.reports.forms import FORMS, Asked, Files, Form, as_text
from profdiff.session.held import refuse

if TYPE_CHECKING:
    from profdiff.evidence.parts.findings import JointFindings
    from profdiff.session.parts import Parts


class Subject(NamedTuple):
    """What is reported. ``find`` makes the findings, once."""

    find: "Callable[[], JointFindings]"
    asked: Asked


def refuse_others(targets: Mapping[str, str], asked: Asked, several: "Parts") -> None:
    """Raise InputError for what is of one part alone."""
    known = {form.name for form in JOINT_FORMS}
    others = [f"--{form.name}" for form in FORMS if form.name in targets and form.name not in known]
    others += ["--classes"] if asked.classes else []
    if others:
        refuse(others[0], ["session"], several.folder)


def _text(subject: Subject, target: str) -> str:
    from profdiff.reports.text.parts import report

    asked, found = subject.asked, subject.find()
    return as_text(
        asked,
        target,
        lambda selection, width: report.render(
            found, selection, width=width, per_op=asked.per_op, ratios=asked.ratios
        ),
    )


def _page(subject: Subject, target: str) -> bytes:
    from profdiff.reports.page import parts as joint_page

    return joint_page.render(subject.find()).encode(errors="backslashreplace")


def _charts(subject: Subject, target: str) -> None:
    from profdiff.reports import charts

    charts.write_joint(subject.find(), Path(target))


def _json(subject: Subject, target: str) -> bytes:
    from profdiff.reports.documents import parts as joint_document
    from profdiff.reports.documents import session

    return session.encode(joint_document.build(subject.find())) + b"\n"


def _csv(subject: Subject, target: str) -> str:
    from profdiff.reports.csv import parts as joint_csv

    return joint_csv.functions(subject.find(), subject.asked.selection)


def _csv_experiment(subject: Subject, target: str) -> str:
    from profdiff.reports.csv import parts as joint_csv

    return joint_csv.experiment(subject.find())


_RENDER: Mapping[str, Callable[[Subject, str], str | bytes | Files | None]] = {
    "text": _text,
    "html": _page,
    "charts": _charts,
    "json": _json,
    "csv": _csv,
    "csv-experiment": _csv_experiment,
}
JOINT_FORMS: tuple[Form[Subject], ...] = tuple(
    Form(form.name, form.help, _RENDER[form.name], form.takes, form.default)
    for form in FORMS
    if form.name in _RENDER
)
