"""The output forms of ``profdiff annotate`` for a folder of parts: those of a session."""

from functools import cached_property
from typing import TYPE_CHECKING

from profdiff.base import terminal
from profdiff.reports.annotation.forms import FORMS, ascii_where_needed
from profdiff.reports.forms import Form

if TYPE_CHECKING:
    from collections.abc import Callable

    from profdiff.reports.annotation.text import Asked
    from profdiff.session.kinds import Kind
    from profdiff.views.parts.annotation import JointAnnotation


class Subject:
    """What is shown. ``asked`` gets the width of a text that says none."""

    def __init__(
        self,
        kind: "Kind",
        find: "Callable[[], JointAnnotation]",
        asked: "Callable[[int], Asked]",
    ) -> None:
        self.kind, self._find, self.asked = kind, find, asked

    @cached_property
    def annotation(self) -> "JointAnnotation":
        """Made once."""
        return self._find()


def _text(subject: Subject, target: str) -> str | None:
    from profdiff.reports.annotation.parts_text import render

    if target != "-":
        lines = render(subject.annotation, subject.kind, subject.asked(terminal.COLUMNS))
        return "".join(f"{line.text}\n" for line in lines)
    asked = ascii_where_needed(subject.asked(terminal.columns()))
    terminal.say_styled(render(subject.annotation, subject.kind, asked))
    return None


def _json(subject: Subject, target: str) -> bytes:
    from profdiff.reports.annotation import json

    return json.encode(subject.annotation) + b"\n"


_RENDER = {"text": _text, "json": _json}
JOINT_FORMS: tuple[Form[Subject], ...] = tuple(
    Form(form.name, form.help, _RENDER[form.name], form.takes, form.default) for form in FORMS
)
