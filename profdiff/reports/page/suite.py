"""The page of a suite: the overview, and the report of each cell, which opens in place."""

from collections.abc import Iterable
from typing import Any

import msgspec

from profdiff.reports.page import element, html
from profdiff.reports.page.packed_cell import Packer
from profdiff.reports.page.records import SuitePage, page_of
from profdiff.views.document import Document
from profdiff.views.suite.records import SuiteCell, SuiteDocument

# The overview, and the report of the cell that is open.
BODY = ("suite/overview.html", "report/report.html")


def built(report: Document) -> dict[str, Any]:
    """A cell's report as ``render`` takes it: a process hands that over in a fifth of the time."""
    plain: dict[str, Any] = msgspec.to_builtins(page_of(report))
    return plain


def render(shown: SuiteDocument, cells: Iterable[tuple[SuiteCell, dict[str, Any] | None]]) -> str:
    """The page as one file. ``cells``: each with its report as ``built``, in order. A cell without
    a report, or whose report has no room, cannot be opened."""
    packer = Packer(len(shown.cells))
    held: list[int | None] = []
    elements: list[str] = []
    for _, report in cells:
        packed = packer.pack(report) if report else None
        held.append(None if packed is None else len(elements))
        if packed is not None:
            number = len(elements)
            elements.append(element.held(f"cell-{number}", packed))
    pages = [""] * len(shown.cells)
    data = SuitePage(suite=shown, held=held, pages=pages, shared=packer.shared)
    return html.alone("suite", data, BODY, "".join(elements))
