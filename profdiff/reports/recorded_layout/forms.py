"""The output forms of ``profdiff report --layout``. Each loads its module when asked."""

from typing import TYPE_CHECKING

from profdiff.reports.form import Form, Subject, text

if TYPE_CHECKING:
    from profdiff.evidence.one_setting import LazyFindings

    OfSession = Subject[LazyFindings]


def _text(subject: "OfSession", target: str) -> str:
    from profdiff.reports.recorded_layout import text as form
    from profdiff.views.recorded_layout.making import recorded_layout

    found = subject.find().findings
    document = recorded_layout(found)
    specs = {kernel.label: kernel.spec for kernel in found.kernels}
    return text(
        subject.asked,
        target,
        lambda asked, width: form.render(
            document, specs, width=width, top=asked.selection.top or 0, per_op=asked.per_op
        ),
    )


def _json(subject: "OfSession", target: str) -> bytes:
    from profdiff.forms import json
    from profdiff.views.recorded_layout.making import recorded_layout

    return json.render(recorded_layout(subject.find().findings))


def _csv(subject: "OfSession", target: str) -> str:
    from profdiff.reports.recorded_layout import csv
    from profdiff.views.recorded_layout.making import recorded_layout

    return csv.render(recorded_layout(subject.find().findings))


FORMS: tuple[Form, ...] = (
    Form(
        "text",
        "Write the layout as text.",
        {"session": _text},
        "[FILE]",
        lambda _: "-",
    ),
    Form("json", "Write the layout as JSON.", {"session": _json}),
    Form("csv", "Write the layout as CSV.", {"session": _csv}),
)
