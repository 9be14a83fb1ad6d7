"""One request over HTTP, by a process of its own: ``http`` starts this file, and ends it in time,
whatever it waits for. A name, a connection, TLS, a proxy, a head and what stands behind the last
byte of a content each have a way to hold whoever reads them.

Standard input: JSON (``Request``). Standard output: a line with the length of the content, or
``null``, then the content. Standard error, where the status is not 0: a line of JSON, the status of
the answer or ``null``, and why there is no file.
"""

import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

if TYPE_CHECKING:
    from http.client import HTTPResponse
    from urllib.request import OpenerDirector

_PART = 1 << 16
_MOST_REDIRECTS = 10
_LONGEST_REASON = 1000
_HEADERS = {"User-Agent": "profdiff"}
_REDIRECTS = (301, 302, 303, 307, 308)


class Request(NamedTuple):
    """``seconds`` after which the process ends by itself, if nobody ends it."""

    url: str
    seconds: float


class RefusedError(Exception):
    """Why there is no file; the ``status`` of the answer, if that is why."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(why)
        self.status = status


def is_plain(url: str) -> bool:
    """Whether an address is of HTTP or HTTPS, without a password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and "@" not in parts.netloc


def main() -> None:
    """Answer one request."""
    from http.client import HTTPException, IncompleteRead

    asked = Request(*json.load(sys.stdin))
    # Its default action ends the process, also in the middle of getaddrinfo(3).
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, asked.seconds)
    try:
        _answer(asked.url)
    except BrokenPipeError:
        sys.exit(1)
    except IncompleteRead:
        _refuse(RefusedError("it ended before its file did"))
    except RefusedError as error:
        _refuse(error)
    except (OSError, HTTPException, ValueError) as error:
        reason: Any = getattr(error, "reason", None) or error
        why = getattr(reason, "strerror", None) or str(reason)
        _refuse(RefusedError(why or type(error).__name__))


def _refuse(error: RefusedError) -> None:
    # So much, that it fits into a pipe that nobody reads yet.
    with os.fdopen(2, "w") as errors:
        json.dump((error.status, str(error)[:_LONGEST_REASON]), errors)
    sys.exit(1)


def _answer(url: str) -> None:
    with _final(url) as answer, os.fdopen(1, "wb") as out:
        out.write(json.dumps(answer.length).encode() + b"\n")
        out.flush()
        # One recv(2) each, so that a server that drips is noticed.
        while part := answer.read1(_PART):
            out.write(part)
            out.flush()
        if answer.length:
            raise RefusedError("it ended before its file did")


def _final(url: str) -> "HTTPResponse":
    """The answer of the server that the others lead to. What they send besides is not read."""
    from urllib import error, request

    opener = _opener()
    if not is_plain(url):
        raise RefusedError("only http:// and https:// without a password can be used")
    for _ in range(_MOST_REDIRECTS):
        try:
            return opener.open(request.Request(url, headers=_HEADERS))  # type: ignore[no-any-return] # noqa: S310
        except error.HTTPError as found:
            found.close()
            to = found.headers["Location"]
            if found.code not in _REDIRECTS or to is None:
                raise RefusedError(f"it answers {found.code}", found.code) from None
        url = urljoin(url, to)
        if not is_plain(url):
            raise RefusedError("it leads to what is not http:// or https://")
    raise RefusedError(f"it leads to more than {_MOST_REDIRECTS} others")


def _opener() -> "OpenerDirector":
    """One that speaks HTTP only."""
    from urllib import request

    opener = request.OpenerDirector()
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


if __name__ == "__main__":
    main()
