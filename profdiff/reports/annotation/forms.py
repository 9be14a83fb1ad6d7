"""The output forms of ``profdiff annotate``."""

from functools import cached_property
from typing import TYPE_CHECKING

from profdiff.base import terminal
from profdiff.reports.forms import Form

if TYPE_CHECKING:
    from collections.abc import Callable

    from profdiff.reports.annotation.text import Asked
    from profdiff.views.annotation.records import Annotation


class Subject:
    """What is shown. ``asked`` gets the width of a text that says none."""

    def __init__(self, find: "Callable[[], Annotation]", asked: "Callable[[int], Asked]") -> None:
        self._find, self.asked = find, asked

    @cached_property
    def annotation(self) -> "Annotation":
        """Made once."""
        return self._find()


def _text(subject: Subject, target: str) -> str | None:
    from profdiff.reports.annotation.text import render

    if target != "-":
        lines = render(subject.annotation, subject.asked(terminal.COLUMNS))
        return "".join(f"{line.text}\n" for line in lines)
    asked = ascii_where_needed(subject.asked(terminal.columns()))
    terminal.say_styled(render(subject.annotation, asked))
    return None


def ascii_where_needed(asked: "Asked") -> "Asked":
    """For a terminal that cannot show arrows."""
    if terminal.has("╭▶→"):
        return asked
    from dataclasses import replace

    return replace(asked, ascii_only=True)


def _json(subject: Subject, target: str) -> bytes:
    from profdiff.reports.annotation import json

    return json.encode(subject.annotation) + b"\n"


FORMS: tuple[Form[Subject], ...] = (
    Form(
        "text",
        "Write the text.  [default: standard output, unless --json is given]",
        _text,
        "[FILE]",
        lambda _: "-",
    ),
    Form("json", "Write the annotation as JSON (-: standard output).", _json),
)
