"""The output forms of blame."""

from typing import TYPE_CHECKING, NamedTuple

from profdiff.base import terminal, units
from profdiff.reports.forms import DEFAULT_TOP, Form

if TYPE_CHECKING:
    from profdiff.evidence.findings import Findings
    from profdiff.views.blame import Blame


class Asked(NamedTuple):
    """``blame``, what it is of, and how it is to be shown: ``top``, ``per_op`` and ``width`` are
    None where nothing was said of them."""

    blame: "Blame"
    findings: "Findings"
    top: int | None
    per_op: bool | None
    width: int | None
    ascii_only: bool


def _text(asked: Asked, target: str) -> str:
    from profdiff.reports.blame import text

    width = asked.width or (terminal.columns() if target == "-" else terminal.COLUMNS)
    top = DEFAULT_TOP if asked.top is None else asked.top
    made = text.render(asked.blame, width=width, top=top, per_op=asked.per_op)
    return units.ascii_only(made) if asked.ascii_only else made


def _page(asked: Asked, target: str) -> bytes:
    from profdiff.reports.page import html

    return html.render(asked.findings, blame=asked.blame).encode(errors="backslashreplace")


def _json(asked: Asked, target: str) -> bytes:
    from profdiff.reports.blame import json

    return json.render(asked.blame)


BLAME_FORMS: tuple[Form[Asked], ...] = (
    Form(
        "text",
        "Write the table as text.  [default: standard output, unless another form is asked for]",
        _text,
        "[FILE]",
        lambda _: "-",
    ),
    Form("html", "Write the report's web page with these rows in it.", _page),
    Form("json", "Write all rows as JSON, profdiff.blame/1 (-: standard output).", _json),
)
