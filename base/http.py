"""Files over HTTP from servers that may mean no good: bounded in size and time, HTTP only."""

import time
from collections.abc import Callable, Iterator
from http.client import HTTPMessage, HTTPResponse
from queue import Empty, Queue
from threading import Thread
from typing import IO, NamedTuple
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from profdiff.base.errors import told
from profdiff.base.terminal import printable

# A server that drips must have sent so much in the time that it has for an answer.
_FIRST_BYTES = 100 << 10
_PART = 1 << 16
_MIB = 1 << 20


class Bounds(NamedTuple):
    """The largest content in bytes; seconds for all of it, and for an answer to begin."""

    size: float
    seconds: float
    patience: float


def check(url: str) -> None:
    """Raises ValueError for an address that is not plain HTTP or HTTPS."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or "@" in parts.netloc:
        raise ValueError("only http:// and https:// without a password can be used")


def answered(
    asked: request.Request, patience: float, leads: Callable[[str], bool] = lambda url: True
) -> HTTPResponse:
    """The answer, whose head came in time: a socket's time limit is for each of its reads, and a
    head that drips has many. ``leads``: whether a server may send us to an address. Raises OSError,
    HTTPException, ValueError."""
    found: Queue[HTTPResponse | Exception] = Queue()

    def ask() -> None:
        try:
            found.put(_opener(leads).open(asked, timeout=patience))
        except Exception as error:
            found.put(error)

    Thread(target=ask, daemon=True).start()
    try:
        answer = found.get(timeout=patience)
    except Empty:
        raise ValueError(f"it sent no answer in {patience:,.0f} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def content(answer: HTTPResponse, bounds: Bounds, started: float) -> Iterator[bytes]:
    """The content, within the bounds; ``started``: when it was asked for. Raises ValueError beyond
    them."""
    size = 0
    if (answer.length or 0) > bounds.size:
        raise ValueError(f"its file is larger than {told_size(bounds.size)}")
    # One recv(2) each, so that a server that drips is noticed.
    while part := answer.read1(_PART):
        size += len(part)
        seconds = time.monotonic() - started
        if size > bounds.size:
            raise ValueError(f"its file is larger than {told_size(bounds.size)}")
        if seconds > bounds.seconds or (seconds > bounds.patience and size < _FIRST_BYTES):
            raise ValueError(f"it sent {told_size(size)} in {seconds:,.0f} s")
        yield part
    if answer.length:
        raise ValueError("it ended before its file did")


def host(url: str) -> str:
    """The server's name, without what may be a password."""
    try:
        name = urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        name = ""
    return printable(name or "a server without a name")


def reason(error: Exception) -> str:
    """Why there is no file, in a clause."""
    if isinstance(error, HTTPError):
        return f"it answers {error.code}"
    if isinstance(error, URLError):
        error = error.reason if isinstance(error.reason, Exception) else ValueError(error.reason)
    text = told(error) if isinstance(error, OSError) else str(error)
    return printable(text or type(error).__name__)[:200]


def told_size(size: float) -> str:
    """A number of bytes for a person."""
    return f"{size / _MIB:,.1f} MiB" if size >= _MIB else f"{size / 1024:,.1f} KiB"


class _Redirects(request.HTTPRedirectHandler):
    """Follows a server only to where it may lead."""

    def __init__(self, leads: Callable[[str], bool]) -> None:
        self._leads = leads

    def redirect_request(
        self,
        req: request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
        newurl: str,
    ) -> request.Request | None:
        if not self._leads(newurl):
            raise ValueError(f"it leads to {host(newurl)}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _opener(leads: Callable[[str], bool]) -> request.OpenerDirector:
    """One that speaks HTTP only, also where a server sends us elsewhere."""
    opener = request.OpenerDirector()
    opener.add_handler(_Redirects(leads))
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
        request.UnknownHandler,
    ):
        opener.add_handler(handler())
    return opener
