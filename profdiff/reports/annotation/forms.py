"""The output forms of ``profdiff annotate``."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from profdiff.base import terminal
from profdiff.reports.form import Form, ReportOptions, Subject

if TYPE_CHECKING:
    from profdiff.base.terminal import Styled
    from profdiff.views.annotation.records import Annotation
    from profdiff.views.parts.annotation import JointAnnotation


def _text(subject: "Subject[Annotation]", target: str) -> str | None:
    from profdiff.reports.annotation.text import render

    return _styled(subject.asked, target, lambda asked: render(subject.find(), asked))


def _parts_text(subject: "Subject[JointAnnotation]", target: str) -> str | None:
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


def _json(subject: "Subject[Annotation | JointAnnotation]", target: str) -> bytes:
    from profdiff.reports.annotation import json

    return json.encode(subject.find()) + b"\n"


FORMS: tuple[Form, ...] = (
    Form(
        "text",
        "Write the text.  [default: standard output, unless --json is given]",
        {"session": _text, "parts": _parts_text},
        "[FILE]",
        lambda _: "-",
    ),
    Form(
        "json",
        "Write the annotation as JSON (-: standard output).",
        {"session": _json, "parts": _json},
    ),
)
