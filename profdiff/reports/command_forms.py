"""The output forms of ``profdiff annotate``, ``blame`` and ``check``. Each loads its module when
asked."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from profdiff.base import terminal
from profdiff.base.errors import ProfdiffError
from profdiff.reports import form
from profdiff.reports.form import Form, ReportOptions, Subject
from profdiff.session.held import EVERY

if TYPE_CHECKING:
    from profdiff.base.terminal import Styled
    from profdiff.evidence.conditions.condition import Checked
    from profdiff.evidence.findings import Findings
    from profdiff.views.annotation.records import Annotation
    from profdiff.views.blame import Blame
    from profdiff.views.parts.annotation import JointAnnotation


def _annotation_text(subject: "Subject[Annotation]", target: str) -> str | None:
    from profdiff.reports.annotation.text import render

    return _styled(subject.asked, target, lambda asked: render(subject.find(), asked))


def _annotation_of_parts(subject: "Subject[JointAnnotation]", target: str) -> str | None:
    from profdiff.reports.annotation.parts_text import render

    return _styled(subject.asked, target, lambda asked: render(subject.find(), asked))


def _styled(
    asked: ReportOptions, target: str, render: "Callable[[ReportOptions], list[Styled]]"
) -> str | None:
    asked = asked.for_text(target)
    if target != "-":
        return "".join(f"{line.text}\n" for line in render(asked))
    # Some terminals cannot show arrows.
    ascii_only = asked.ascii_only or not terminal.has("╭▶→")
    terminal.say_styled(render(asked._replace(ascii_only=ascii_only)))
    return None


def _annotation_json(subject: "Subject[Annotation | JointAnnotation]", target: str) -> bytes:
    from profdiff.reports.documents import encode

    return encode(subject.find()) + b"\n"


ANNOTATION_FORMS: tuple[Form, ...] = (
    Form(
        "text",
        "Write the text.  [default: standard output, unless --json is given]",
        {"session": _annotation_text, "parts": _annotation_of_parts},
        "[FILE]",
        lambda _: "-",
    ),
    Form(
        "json",
        "Write the annotation as JSON (-: standard output).",
        {"session": _annotation_json, "parts": _annotation_json},
    ),
)


class Blamed(NamedTuple):
    """``blame``, and what it is of."""

    blame: "Blame"
    findings: "Findings"


def _blame_text(subject: Subject[Blamed], target: str) -> str:
    from profdiff.reports import blame as reports_blame

    return form.text(
        subject.asked,
        target,
        lambda asked, width: reports_blame.render(
            subject.find().blame, width=width, top=asked.selection.top, per_op=asked.per_op
        ),
    )


def _blame_page(subject: Subject[Blamed], target: str) -> bytes:
    from profdiff.reports.page import html

    blame, findings = subject.find()
    return html.render(findings, blame=blame).encode(errors="backslashreplace")


def _blame_json(subject: Subject[Blamed], target: str) -> bytes:
    from profdiff.forms import json

    return json.render(subject.find().blame)


BLAME_FORMS: tuple[Form, ...] = (
    Form(
        "text",
        "Write the table as text.  [default: standard output, unless another form is asked for]",
        {"session": _blame_text},
        "[FILE]",
        lambda _: "-",
    ),
    Form("html", "Write the report's web page with these rows in it.", {"session": _blame_page}),
    Form(
        "json",
        "Write all rows as JSON, profdiff.blame/1 (-: standard output).",
        {"session": _blame_json},
    ),
)


def _junit(subject: "Subject[Checked]", target: str) -> bytes:
    from profdiff.reports import checks

    return checks.render_junit(subject.find())


def _markdown(subject: "Subject[Checked]", target: str) -> bytes:
    from profdiff.evidence.findings import LazyFindings
    from profdiff.evidence.parts import PartsFindings
    from profdiff.reports import checks
    from profdiff.session.parts import Parts
    from profdiff.session.suite import Suite

    found, recording = subject.find(), subject.recording
    try:
        if isinstance(recording, Suite):
            context = checks.of_suite(recording)
        elif isinstance(recording, Parts):
            context = checks.of_sessions(PartsFindings.of(recording, found.at).parts.items())
        else:
            alone = LazyFindings.of(recording.sessions()[""], found.at).findings
            context = checks.of_sessions([("", alone)])
    except ProfdiffError as error:
        # What was judged is known.
        context = checks.Context([str(error)])
    return checks.render_markdown(found, context)


CHECK_FORMS: tuple[Form, ...] = (
    Form("junit", "Write a JUnit file.", dict.fromkeys(EVERY, _junit)),
    Form(
        "markdown",
        "Write Markdown for a comment on a pull request or a step's summary: conditions, what "
        "changed most, and what is acknowledged.",
        dict.fromkeys(EVERY, _markdown),
    ),
)
