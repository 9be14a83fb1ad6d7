"""A suite as a site: the overview, and a page of its own for each cell, with the same as JSON
beside it. It needs no server: a page that is opened as a file works, too."""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from profdiff.reports.documents import session
from profdiff.reports.page import html, suite
from profdiff.reports.page.packed_cell import Packer
from profdiff.reports.page.records import Back, SuitePage, extended, page_of
from profdiff.reports.page.site_folder import SiteFolder, site_folder
from profdiff.views.document import Document
from profdiff.views.suite.records import SuiteCell, SuiteDocument

# More than this has no name in some file systems, with what stands behind it.
_LONGEST = 150


class CellFiles(NamedTuple):
    """The page of a cell, and the JSON beside it."""

    page: str
    json: bytes

    @staticmethod
    def of(
        cell: SuiteCell, report: Document, place: str = "", *, whole: bool = True
    ) -> "CellFiles":
        """Those of a suite's cell below ``place``, as ``add`` has it. ``whole``: the JSON is the
        cell's whole report, else what the suite's report says of it, which is a thousandth."""
        path, text = _path(cell), session.encode(report)
        said = " ".join(filter(None, [f"{cell.name}, per {cell.op}.", cell.about]))
        shown = page_of(report, back=Back(address=f"{up(path)}index.html", cell=said))
        data = extended(text, shown)
        page = html.linked("report", data, ["report/report.html"], f"{place}{path}")
        return CellFiles(page, (text if whole else session.encode(cell)) + b"\n")


def write(
    target: Path, shown: SuiteDocument, cells: Iterable[tuple[SuiteCell, CellFiles | None]]
) -> None:
    """Make the folder ``target`` the site. Raises InputError."""
    with site_folder(target) as site:
        assets(site)
        add(site, "", shown, cells)


def assets(site: SiteFolder, *others: str) -> None:
    """What all pages of suites and their cells load, and those of ``others``."""
    entries = ("suite", "report", *others)
    site.write("assets/style.css", html.styles(*entries))
    for entry in entries:
        site.write(f"assets/{entry}.js", html.linked_script(entry))


def add(
    site: SiteFolder,
    place: str,
    shown: SuiteDocument,
    cells: Iterable[tuple[SuiteCell, CellFiles | None]],
) -> dict[str, str]:
    """Add the pages of one suite below ``place`` ("", or a folder with ``/`` at its end); the
    page of each cell that has one, relative to the site, by name."""
    pages: dict[str, str] = {}
    for cell, files in cells:
        if files is None:
            continue
        pages[cell.name] = path = _path(cell)
        site.write(f"{place}{path}.html", files.page)
        site.write(f"{place}{path}.json", files.json)
    addresses = [f"{pages[cell.name]}.html" if cell.name in pages else "" for cell in shown.cells]
    held: list[int | None] = [None] * len(shown.cells)
    data = SuitePage(suite=shown, held=held, pages=addresses, shared=Packer().shared)
    page = html.linked("suite", session.encode(data), suite.BODY, f"{place}index")
    site.write(f"{place}index.html", page)
    site.write(f"{place}index.json", session.encode(shown) + b"\n")
    return {name: f"{place}{path}.html" for name, path in pages.items()}


def cell_path(name: str) -> str:
    """A cell's name as a path: itself, but for names that are too long."""
    return "/".join(_short(part) for part in name.split("/"))


def up(path: str) -> str:
    """The way from a page at ``path`` to the top of its site."""
    return "../" * path.count("/")


def _path(cell: SuiteCell) -> str:
    return f"cells/{cell_path(cell.name)}"


def _short(part: str) -> str:
    if len(part) <= _LONGEST:
        return part
    return f"{part[:_LONGEST]}~{hashlib.sha256(part.encode()).hexdigest()[:12]}"
