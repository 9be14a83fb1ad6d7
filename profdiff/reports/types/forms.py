"""The output forms of ``profdiff report --types``. Each loads its module when asked."""

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from profdiff.reports.form import Form, Subject, text

if TYPE_CHECKING:
    from profdiff.evidence.one_setting import OneSetting
    from profdiff.profile.data.pairing import By
    from profdiff.views.types.records import TypesDocument

    OfSession = Subject[OneSetting]


def forms(by: "By", *, fold_folios: bool) -> Sequence[Form]:
    """``by``: what a row of text and CSV is; JSON has all. ``fold_folios``: fields of ``struct
    folio`` that lie in ``struct page`` too are those of page."""

    @cache
    def document(subject: "OfSession") -> "TypesDocument":
        from profdiff.views.types.making import build, comparison_of

        found = subject.find().findings
        return build(comparison_of(found.comparisons), found.session, fold_folios=fold_folios)

    def as_text(subject: "OfSession", target: str) -> str:
        from profdiff.reports.types import text as form

        return text(
            subject.asked,
            target,
            lambda asked, width: form.render(
                document(subject),
                by,
                asked.selection,
                width=width,
                per_op=asked.per_op,
                ratios=asked.ratios,
            ),
        )

    def as_json(subject: "OfSession", target: str) -> bytes:
        from profdiff.forms import json

        return json.render(document(subject))

    def as_csv(subject: "OfSession", target: str) -> str:
        from profdiff.reports.types import csv

        return csv.render(document(subject), by)

    return (
        Form(
            "text",
            "Write the accesses as text.",
            {"session": as_text},
            "[FILE]",
            lambda _: "-",
        ),
        Form("json", "Write the accesses as JSON.", {"session": as_json}),
        Form("csv", "Write the accesses as CSV.", {"session": as_csv}),
    )
