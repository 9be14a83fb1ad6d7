"""The output forms of ``profdiff report --events``. Each loads its module when asked."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from profdiff.reports.form import Form, Subject, text

if TYPE_CHECKING:
    from profdiff.evidence.one_setting import OneSetting
    from profdiff.views.events.records import EventsDocument

    OfSession = Subject[OneSetting]


@cache
def _document(subject: "OfSession") -> "EventsDocument":
    from profdiff.views.events.making import build

    return build(subject.find().findings)


def _text(subject: "OfSession", target: str) -> str:
    from profdiff.reports.events import text as form

    return text(
        subject.asked,
        target,
        lambda asked, width: form.render(
            _document(subject), width=width, per_op=asked.per_op, ratios=asked.ratios
        ),
    )


def _json(subject: "OfSession", target: str) -> bytes:
    from profdiff.reports.layout import json

    return json.render(_document(subject))


def _csv(subject: "OfSession", target: str) -> str:
    from profdiff.reports.events import csv

    return csv.render(_document(subject))


FORMS: Sequence[Form] = (
    Form("text", "Write the events as text.", {"session": _text}, "[FILE]", lambda _: "-"),
    Form("json", "Write the events as JSON.", {"session": _json}),
    Form("csv", "Write the events as CSV.", {"session": _csv}),
)
