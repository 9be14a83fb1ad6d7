"""The output forms of ``profdiff report --sharing``. Each loads its module when asked."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from profdiff.reports.form import Form, Subject, text

if TYPE_CHECKING:
    from profdiff.evidence.one_setting import OneSetting
    from profdiff.views.sharing.records import SharingDocument

    OfSession = Subject[OneSetting]


def forms(at: str | None) -> Sequence[Form]:
    """``at``: the point of the sweep that was asked for."""

    @cache
    def document(subject: "OfSession") -> "SharingDocument":
        from profdiff.views.sharing.making import build

        (session,) = subject.recording.sessions().values()
        return build(session, at)

    def as_text(subject: "OfSession", target: str) -> str:
        from profdiff.reports.sharing import text as form

        return text(
            subject.asked,
            target,
            lambda asked, width: form.render(
                document(subject), asked.selection, width=width, per_op=asked.per_op
            ),
        )

    def as_json(subject: "OfSession", target: str) -> bytes:
        from profdiff.forms import json

        return json.render(document(subject))

    def as_csv(subject: "OfSession", target: str) -> str:
        from profdiff.reports.sharing import csv

        return csv.render(document(subject))

    return (
        Form(
            "text",
            "Write the shared lines as text.",
            {"session": as_text},
            "[FILE]",
            lambda _: "-",
        ),
        Form("json", "Write the shared lines as JSON.", {"session": as_json}),
        Form("csv", "Write the shared lines as CSV.", {"session": as_csv}),
    )
