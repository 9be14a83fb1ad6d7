"""An atlas as a site: the index, a page for each cell, and the pages of each recording."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import SessionError
from profdiff.evidence.atlas.lines import series
from profdiff.evidence.atlas.source import AtlasSource, plain_name
from profdiff.evidence.findings import Findings
from profdiff.reports.atlas import document as atlas_document
from profdiff.reports.documents import session
from profdiff.reports.documents import suite as suite_document
from profdiff.reports.page import html, suite_cells
from profdiff.reports.page import site as suite_site
from profdiff.reports.page.records import AtlasPage
from profdiff.reports.page.site import CellFiles
from profdiff.reports.page.site_folder import SiteFolder, site_folder
from profdiff.session.held import held
from profdiff.views.atlas import Atlas, AtlasSeries
from profdiff.views.suite.records import SuiteCell, SuiteDamage, SuiteDocument


def write(
    target: Path, folders: Sequence[Path], threshold: float, tell: Callable[[str], None]
) -> Atlas:
    """Make the folder ``target`` the atlas of recordings. ``tell``: gets a line for each recording
    that is read. A recording that is damaged is left out, and named. Raises InputError, and
    SessionError where none is left."""
    with site_folder(target) as site:
        suite_site.assets(site, "atlas")
        sources: list[AtlasSource] = []
        documents: list[SuiteDocument] = []
        pages: list[dict[str, str]] = []
        damaged: list[SuiteDamage] = []
        for number, folder in enumerate(folders, 1):
            tell(f"{number} of {len(folders)}: {folder}")
            try:
                source = AtlasSource.of(folder, _unique(plain_name(folder), sources))
            except SessionError as error:
                # What is not a recording at all is a mistake in the command line.
                if len(folders) == 1 or not held(folder):
                    raise
                damaged.append(SuiteDamage(str(folder), units.printable(str(error))))
                continue
            shown = suite_document.of_results(source.results, threshold)
            sources.append(source)
            documents.append(shown)
            place = f"sessions/{source.name}/"
            cells = suite_cells.made(folder, shown, partial(_cell_files, place))
            pages.append(suite_site.add(site, place, shown, cells))
        if not sources:
            raise SessionError(f"no recording can be read: {damaged[0].name}: {damaged[0].why}")
        found = series(sources)
        atlas = atlas_document.build(sources, documents, pages, found, threshold, damaged)
        _add(site, atlas)
    return atlas


def _cell_files(place: str, cell: SuiteCell, found: Findings) -> CellFiles:
    return CellFiles.of(cell, session.build(found), place, whole=False)


def _unique(name: str, sources: Sequence[AtlasSource]) -> str:
    """A name that no other recording has."""
    taken = {source.name for source in sources}
    number, found = 2, name
    while found in taken:
        found, number = f"{name}~{number}", number + 1
    return found


def _add(site: SiteFolder, atlas: Atlas) -> None:
    _page(site, atlas, "index", "")
    site.write("index.json", session.encode(atlas) + b"\n")
    lines: dict[str, list[AtlasSeries]] = {}
    for one in atlas.series:
        for cell in one.cells:
            lines.setdefault(cell.name, []).append(replace(one, cells=[cell]))
    for name, known in lines.items():
        path = known[0].cells[0].page.removesuffix(".html")
        _page(site, replace(atlas, series=known, sentences=[], remarks=[], damaged=[]), path, name)
        record = {
            "name": name,
            "lines": [
                {
                    "machine": one.machine,
                    "releases": [release.title for release in one.releases],
                    "cell": msgspec.to_builtins(one.cells[0]),
                }
                for one in known
            ],
        }
        site.write(f"{path}.json", msgspec.json.encode(record) + b"\n")


def _page(site: SiteFolder, atlas: Atlas, path: str, cell: str) -> None:
    data = AtlasPage(atlas=atlas, cell=cell, up=suite_site.up(path), json=f"{path}.json")
    page = html.linked("atlas", session.encode(data), ["atlas/atlas.html"], path)
    site.write(f"{path}.html", page)
