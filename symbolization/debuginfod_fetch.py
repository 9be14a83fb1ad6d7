"""One file from a debuginfod server, within bounds: size, time, and HTTP only."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from profdiff.base.console import CleanConsole
from profdiff.base.errors import ProfdiffError, told
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import printable, tell
from profdiff.symbolization.elf_file import has_build_id

# Seconds in which a server must have sent its first bytes, and their number; seconds for a whole
# file, where the client has no limit; and the largest ELF file that is read.
_TIMEOUT, _FIRST_BYTES = 90.0, 100 << 10
_MAX_TIME = 3600.0
_MAX_SIZE = 8 << 30
_PART = 1 << 16
_MIB = 1 << 20


class FetchError(ProfdiffError):
    """Why a server gave no file, in a clause."""


def fetch(server: str, build_id: str, path: Path, name: str) -> bool:
    """Whether the server has the file whose kind is the name of ``path``, which is there then.
    ``name``: what it is, for messages. Raises FetchError."""
    try:
        return _fetch(f"{server}/buildid/{build_id}/{path.name}", path, build_id, name)
    except (OSError, HTTPException, ValueError) as error:
        raise FetchError(f"{_host(server)} is not asked again: {_reason(error)}") from error


def _fetch(url: str, path: Path, build_id: str, name: str) -> bool:
    """Whether the server has the file, which is at ``path`` then. Raises OSError, HTTPException,
    ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or "@" in parts.netloc:
        raise ValueError("only http:// and https:// without a password can be used")
    timeout = _limit("DEBUGINFOD_TIMEOUT", _TIMEOUT)
    asked = request.Request(url, headers={"User-Agent": "profdiff"})  # noqa: S310 (checked above)
    started = time.monotonic()
    try:
        answer = _opened(asked, timeout)
    except HTTPError as error:
        error.close()
        if error.code == 404:
            return False
        raise
    with answer:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(beside=path) as folder:
            fetched = folder / path.name
            title = f"{name} from {_host(url)}"
            with _shown(title, answer.length) as show, fetched.open("wb") as file:
                for part in _parts(answer, timeout, started):
                    file.write(part)
                    show(file.tell())
            size = fetched.stat().st_size
            if not has_build_id(fetched, build_id):
                raise ValueError(f"its file for {name} does not have the build id {build_id}")
            fetched.replace(path)
    tell(f"debuginfod: {name}, {_size(size)} from {_host(url)}")
    return True


def _opener() -> request.OpenerDirector:
    """One that speaks HTTP only, also where a server sends us elsewhere."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPRedirectHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener


def _opened(asked: request.Request, timeout: float) -> HTTPResponse:
    """The answer, whose head came in time: a socket's time limit is for each of its reads, and a
    head that drips has many. Raises OSError, HTTPException, ValueError."""
    found: Queue[HTTPResponse | Exception] = Queue()

    def ask() -> None:
        try:
            found.put(_opener().open(asked, timeout=timeout))
        except Exception as error:
            found.put(error)

    Thread(target=ask, daemon=True).start()
    try:
        answer = found.get(timeout=timeout)
    except Empty:
        raise ValueError(f"it sent no answer in {timeout:,.0f} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _parts(answer: HTTPResponse, timeout: float, started: float) -> Iterator[bytes]:
    """The content, within the bounds; ``started``: when it was asked for. Raises ValueError beyond
    them."""
    most = _limit("DEBUGINFOD_MAXSIZE", _MAX_SIZE)
    longest = _limit("DEBUGINFOD_MAXTIME", _MAX_TIME)
    size = 0
    if (answer.length or 0) > most:
        raise ValueError(f"its file is larger than {_size(most)}")
    # One recv(2) each, so that a server that drips is noticed.
    while part := answer.read1(_PART):
        size += len(part)
        seconds = time.monotonic() - started
        if size > most:
            raise ValueError(f"its file is larger than {_size(most)}")
        if seconds > longest or (seconds > timeout and size < _FIRST_BYTES):
            raise ValueError(f"it sent {_size(size)} in {seconds:,.0f} s")
        yield part
    if answer.length:
        raise ValueError("it ended before its file did")


def _limit(variable: str, usual: float) -> float:
    """The number that a variable holds, or the ``usual`` one where it holds none, or 0 for no
    limit."""
    text = os.environ.get(variable, "")
    return (int(text) if text.isdecimal() and len(text) < 16 else 0) or usual


@contextmanager
def _shown(title: str, whole: int | None) -> Iterator[Callable[[int], None]]:
    """Progress on a terminal: what to call with the number of bytes so far, of the ``whole`` file
    if its size is known."""
    of = f" of {_size(whole)}" if whole else ""
    console = CleanConsole(stderr=True)
    if not console.is_terminal:
        yield lambda size: None
        return
    with console.status(title) as status:
        yield lambda size: status.update(f"{title}: {_size(size)}{of}")


def _size(size: float) -> str:
    return f"{size / _MIB:,.1f} MiB" if size >= _MIB else f"{size / 1024:,.1f} KiB"


def _host(url: str) -> str:
    # Without what may be a password.
    try:
        name = urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        name = ""
    return printable(name or "a server without a name")


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"it answers {error.code}"
    if isinstance(error, URLError):
        error = error.reason if isinstance(error.reason, Exception) else ValueError(error.reason)
    text = told(error) if isinstance(error, OSError) else str(error)
    return printable(text or type(error).__name__)[:200]
