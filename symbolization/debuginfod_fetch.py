"""One file from a debuginfod server, within bounds: size, time, and HTTP only."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from urllib import request
from urllib.error import HTTPError

from profdiff.base import http
from profdiff.base.console import CleanConsole
from profdiff.base.errors import ProfdiffError
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
        return _fetch(f"{server}/buildid/{build_id}/{path.name}", path, build_id, name)
    except (OSError, HTTPException, ValueError) as error:
        raise FetchError(f"{http.host(server)} is not asked again: {http.reason(error)}") from error


def _fetch(url: str, path: Path, build_id: str, name: str) -> bool:
    """Whether the server has the file, which is at ``path`` then. Raises OSError, HTTPException,
    ValueError."""
    http.check(url)
    bounds = http.Bounds(
        _limit("DEBUGINFOD_MAXSIZE", _MAX_SIZE),
        _limit("DEBUGINFOD_MAXTIME", _MAX_TIME),
        _limit("DEBUGINFOD_TIMEOUT", _TIMEOUT),
    )
    asked = request.Request(url, headers={"User-Agent": "profdiff"})  # noqa: S310 (checked above)
    started = time.monotonic()
    try:
        answer = http.answered(asked, bounds.patience)
    except HTTPError as error:
        error.close()
        if error.code == 404:
            return False
        raise
    with answer:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(beside=path) as folder:
            fetched = folder / path.name
            title = f"{name} from {http.host(url)}"
            with _shown(title, answer.length) as show, fetched.open("wb") as file:
                for part in http.content(answer, bounds, started):
                    file.write(part)
                    show(file.tell())
            size = fetched.stat().st_size
            if not has_build_id(fetched, build_id):
                raise ValueError(f"its file for {name} does not have the build id {build_id}")
            fetched.replace(path)
    tell(f"debuginfod: {name}, {http.told_size(size)} from {http.host(url)}")
    return True


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
