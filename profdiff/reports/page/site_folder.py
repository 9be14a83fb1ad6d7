"""The folder of a site: written whole or not at all, and never over what is not ours."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from profdiff.base import bounded
from profdiff.base.atomic import exchange
from profdiff.base.errors import InputError, told
from profdiff.base.temporary import temporary_folder
from profdiff.session.held import refuse_recorded

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
            raise InputError(
                f"{target} holds something else than a site of profdiff: name another folder"
            )
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
                raise InputError(f"{source} is not of the site, which has a file of that name now")
            (new / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, new / relative, follow_symlinks=False)
