"""A suite's report as a folder of web pages: what stands in which file, and the folder, written
whole or not at all."""

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import msgspec

from profdiff.base import bounded
from profdiff.base.atomic import exchange
from profdiff.base.errors import InputError, told
from profdiff.base.temporary import temporary_folder
from profdiff.reports import documents
from profdiff.reports.page import html, suite
from profdiff.reports.page.records import Back, SuitePage, extended, page_of
from profdiff.reports.page.suite import Packer
from profdiff.session.held import refuse_recorded
from profdiff.views.document import Document
from profdiff.views.suite import SuiteCell, SuiteDocument

# It lists our files: what else lies in the folder is somebody's, and stays.
MARKER = ".profdiff-site"
_SCHEMA = "profdiff.site/1"
_MAX_MARKER = 2**27


class _Content(msgspec.Struct, frozen=True):
    schema: str
    files: list[str]


class SiteFolder:
    """A site that is being made in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, None] = {}

    def write(self, name: str, data: str | bytes) -> None:
        """Add a file; ``name``: with ``/``, relative to the site. Raises ValueError for a second
        one of a name, OSError."""
        if name in self._files:
            raise ValueError(f"{name} is written twice")
        self._files[name] = None
        path = self._folder / PurePosixPath(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode(errors="backslashreplace") if isinstance(data, str) else data)

    def __contains__(self, name: str) -> bool:
        return name in self._files

    def close(self) -> None:
        """Say which files are ours."""
        content = _Content(schema=_SCHEMA, files=list(self._files))
        (self._folder / MARKER).write_bytes(msgspec.json.encode(content) + b"\n")


@contextlib.contextmanager
def site_folder(target: Path) -> Iterator[SiteFolder]:
    """Yield an empty site that takes the place of ``target`` when the block ends without an
    exception, with its mode. Files that others put into a site of ours are taken over.

    Raises InputError when ``target`` is something else than a site or an empty folder, or when a
    file of another one's has the name of one of ours, and for what the system says.
    """
    place = Path(os.path.realpath(target))
    refuse_recorded(target)
    try:
        old = _ours(target)
        place.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(beside=place) as folder:
            site = SiteFolder(folder)
            yield site
            site.close()
            mode = place.stat().st_mode if place.exists() else folder.stat().st_mode
            if old is None:
                folder.rename(place)
            else:
                _take_over(place, folder, old, site)
                exchange(place, folder)
            place.chmod(stat.S_IMODE(mode))
    except OSError as error:
        known = OSError(error.errno, error.strerror or str(error), str(target))
        raise InputError(f"cannot write {told(known)}") from error


def _ours(target: Path) -> set[str] | None:
    """The files of a site that is there; None where there is none. Raises InputError for what is
    something else, OSError."""
    try:
        found = target.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISDIR(found.st_mode):
        raise InputError(f"{target} is not a folder: name another one for the site")
    marker = target / MARKER
    if not marker.is_file():
        if any(target.iterdir()):
            raise InputError(f"{target} is not a site of profdiff: name another folder")
        return None
    try:
        content = msgspec.json.decode(bounded.read_json(marker, _MAX_MARKER), type=_Content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{marker} is damaged: remove {target} to make it anew") from error
    if content.schema != _SCHEMA:
        raise InputError(
            f"{marker} has schema {content.schema[:40]!r}, this profdiff knows {_SCHEMA}"
        )
    return {*content.files, MARKER}


def _take_over(old: Path, new: Path, ours: set[str], site: SiteFolder) -> None:
    """Copy what others put into the old site. Raises InputError, OSError."""
    for folder, folders, files in os.walk(old):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        for name in [*files, *links]:
            source = Path(folder) / name
            relative = source.relative_to(old)
            if str(relative) in ours:
                continue
            if relative.as_posix() in site or (new / relative).exists():
                raise InputError(
                    f"{source} is not part of the site, which now has a file of that name"
                )
            (new / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, new / relative, follow_symlinks=False)


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
        path, text = _path(cell), documents.encode(report)
        said = " ".join(filter(None, [f"{cell.name}, per {cell.op}.", cell.about]))
        shown = page_of(report, back=Back(address=f"{up(path)}index.html", cell=said))
        data = extended(text, shown)
        page = html.linked("report", data, ["report/report.html"], f"{place}{path}")
        return CellFiles(page, (text if whole else documents.encode(cell)) + b"\n")


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
    page = html.linked("suite", documents.encode(data), suite.BODY, f"{place}index")
    site.write(f"{place}index.html", page)
    site.write(f"{place}index.json", documents.encode(shown) + b"\n")
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
