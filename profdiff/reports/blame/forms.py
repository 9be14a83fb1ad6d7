"""The output forms of ``profdiff blame``."""

from typing import TYPE_CHECKING, NamedTuple

from profdiff.reports import form
from profdiff.reports.form import Form, Subject

if TYPE_CHECKING:
    from profdiff.evidence.findings import Findings
    from profdiff.views.blame import Blame


class Blamed(NamedTuple):
    """``blame``, and what it is of."""

    blame: "Blame"
    findings: "Findings"


def _text(subject: Subject[Blamed], target: str) -> str:
    from profdiff.reports.blame import text

    return form.text(
        subject.asked,
        target,
        lambda asked, width: text.render(
            subject.find().blame, width=width, top=asked.selection.top, per_op=asked.per_op
        ),
    )


def _page(subject: Subject[Blamed], target: str) -> bytes:
    from profdiff.reports.page import html

    blame, findings = subject.find()
    return html.render(findings, blame=blame).encode(errors="backslashreplace")


def _json(subject: Subject[Blamed], target: str) -> bytes:
    from profdiff.reports.blame import json

    return json.render(subject.find().blame)


FORMS: tuple[Form, ...] = (
    Form(
        "text",
        "Write the table as text.  [default: standard output, unless another form is asked for]",
        {"session": _text},
        "[FILE]",
        lambda _: "-",
    ),
    Form("html", "Write the report's web page with these rows in it.", {"session": _page}),
    Form(
        "json",
        "Write all rows as JSON, profdiff.blame/1 (-: standard output).",
        {"session": _json},
    ),
)
