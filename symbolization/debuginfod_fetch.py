"""One file from a debuginfod server, within bounds: size, time, and HTTP only."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from profdiff.base import http
from profdiff.base.console import CleanConsole
from profdiff.base.errors import ProfdiffError, told
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import tell
from profdiff.symbolization.elf_file import has_build_id

# Seconds in which a server must have sent its first bytes; seconds for a whole file, where the
# client has no limit; and the largest ELF file that is read.
_TIMEOUT = 90.0
_MAX_TIME = 3600.0
_MAX_SIZE = 8 << 30


class FetchError(ProfdiffError):
    """Why a server gave no file, in a clause."""


def fetch(server: str, build_id: str, path: Path, name: str) -> bool:
    """Whether the server has the file whose kind is the name of ``path``, which is there then.
    ``name``: what it is, for messages. Raises FetchError."""
    try:
        _fetch(f"{server}/buildid/{build_id}/{path.name}", path, build_id, name)
    except (OSError, http.HttpError) as error:
        if isinstance(error, http.HttpError) and error.status == 404:
            return False
        why = told(error) if isinstance(error, OSError) else str(error)
        raise FetchError(f"{http.host(server)} is not asked again: {why}") from error
    return True


def _fetch(url: str, path: Path, build_id: str, name: str) -> None:
    """Put the file at ``path``. Raises OSError, HttpError."""
    bounds = http.Bounds(
        _limit("DEBUGINFOD_MAXSIZE", _MAX_SIZE),
        _limit("DEBUGINFOD_MAXTIME", _MAX_TIME),
        _limit("DEBUGINFOD_TIMEOUT", _TIMEOUT),
    )
    with http.answered(url, bounds) as answer:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(beside=path) as folder:
            fetched = folder / path.name
            title = f"{name} from {http.host(url)}"
            with _shown(title, answer.length) as show, fetched.open("wb") as file:
                for part in answer.content():
                    file.write(part)
                    show(file.tell())
            size = fetched.stat().st_size
            if not has_build_id(fetched, build_id):
                raise http.HttpError(f"its file for {name} does not have the build id {build_id}")
            fetched.replace(path)
    tell(f"debuginfod: {name}, {http.told_size(size)} from {http.host(url)}")


def _limit(variable: str, usual: float) -> float:
    """The number that a variable holds, or the ``usual`` one where it holds none, or 0 for no
    limit."""
    text = os.environ.get(variable, "")
    return (int(text) if text.isdecimal() and len(text) < 16 else 0) or usual


@contextmanager
def _shown(title: str, whole: int | None) -> Iterator[Callable[[int], None]]:
    """Progress on a terminal: what to call with the number of bytes so far, of the ``whole`` file
    if its size is known."""
    of = f" of {http.told_size(whole)}" if whole else ""
    console = CleanConsole(stderr=True)
    if not console.is_terminal:
        yield lambda size: None
        return
    with console.status(title) as status:
        yield lambda size: status.update(f"{title}: {http.told_size(size)}{of}")
