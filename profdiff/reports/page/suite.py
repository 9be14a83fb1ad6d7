"""The page of a suite: the overview, and the report of each cell, which opens in place."""

import json
from collections.abc import Iterable
from html import escape
from typing import Any

import msgspec

from profdiff.base import units
from profdiff.reports.page import html
from profdiff.reports.page.packed_cell import Packer
from profdiff.views.document import Document
from profdiff.views.suite.records import SuiteCell, SuiteDocument

STYLES = ("report.css", "overview.css")


def render(shown: SuiteDocument, reports: Iterable[tuple[SuiteCell, Document | None]]) -> str:
    """The page as one file. ``reports``: of each cell in order. A cell without a report, or whose
    report has no room, cannot be opened."""
    packer = Packer(len(shown.cells))
    held: list[int | None] = []
    elements: list[str] = []
    for _, report in reports:
        packed = packer.pack(report) if report else None
        held.append(None if packed is None else len(elements))
        if packed is not None:
            number = len(elements)
            elements.append(
                f'<script id="cell-{number}" type="application/octet-stream">'
                f"{html.packed(packed)}</script>"
            )
    pages = [""] * len(shown.cells)
    data = overview(shown, held, pages, packer.shared)
    return html.alone(
        "report.html",
        STYLES,
        "suite",
        {"OVERVIEW": html.template("overview.html"), "DATA": data, "CODE": "".join(elements)},
    )


def overview(
    shown: SuiteDocument, held: list[int | None], pages: list[str], shared: dict[str, Any]
) -> str:
    """``SuitePage`` of ``templates/suite.d.ts``, compressed."""
    content = {
        "suite": msgspec.to_builtins(shown),
        "held": held,
        "pages": pages,
        "shared": shared,
    }
    return html.packed(json.dumps(content, separators=(",", ":")).encode())


def way_back(address: str, cell: SuiteCell) -> str:
    """What stands above the page of a cell that is a file of its own."""
    said = " ".join(filter(None, [f"{cell.name}, per {cell.op}.", cell.about]))
    return (
        f'<nav id="back" aria-label="Suite"><a id="back-link" href="{markup_of(address)}">'
        f'All cells</a> <span id="back-cell">{markup_of(said)}</span></nav>\n'
    )


def markup_of(text: str) -> str:
    """One printable line as markup."""
    return escape(units.printable(text))
