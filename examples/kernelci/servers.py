"""What a lab asks of servers: HTTP within bounds, and only with those that its operator names.

A process of its own asks, which an alarm ends whatever it waits for: a name, a connection, TLS, a
proxy, a head and a content each have a way to hold whoever reads them. Its standard input is a line
of JSON (``Request``), then the body of a POST; its standard output the content. Where its status is
not 0, standard error says why.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from http.client import HTTPException, HTTPResponse, IncompleteRead
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple
from urllib import error, request
from urllib.parse import urljoin, urlsplit

# Bytes of a page of events, a job definition, a kernel, what a callback answers.
EVENTS, DEFINITION, KERNEL, REPLY = 64 << 20, 1 << 20, 512 << 20, 1 << 20
# Seconds in which an answer begins, and those for all of it.
PATIENCE, SECONDS = 60.0, 1800.0
# A server that drips has sent so much when its patience ends.
FIRST = 100 << 10
PART = 1 << 16
REDIRECTS = 10


class LabError(Exception):
    """What went wrong, in a line."""


class Servers:
    """The servers that the lab talks to: those of ``addresses``. ``token``: what tells them who
    answers, "" for nothing."""

    def __init__(self, addresses: Sequence[str], token: str) -> None:
        """Raises LabError for an address that is not HTTP."""
        for url in addresses:
            try:
                server(url)
            except ValueError as problem:
                raise LabError(f"{url!r}: {problem}") from problem
        self._addresses, self._token = addresses, token

    def read(self, url: str, most: int) -> bytes:
        """A content of at most ``most`` bytes."""
        with TemporaryFile() as out:
            self._ask(url, most, out)
            return out.read()

    def fetch(self, url: str, path: Path, digest: str | None) -> None:
        """Write a kernel to ``path``, whole or not at all. ``digest``: the SHA-256 it must have."""
        part = path.with_name("part")
        try:
            with part.open("w+b") as out:
                self._ask(url, KERNEL, out)
                if digest not in (None, hashlib.file_digest(out, "sha256").hexdigest()):
                    raise LabError("the file does not have the SHA-256 that the job names")
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)

    def post(self, url: str, data: bytes) -> None:
        """Send a JSON document. The token goes nowhere but to ``url``."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = self._token
        with TemporaryFile() as out:
            self._ask(url, REPLY, out, headers, data)

    def _ask(
        self,
        url: str,
        most: int,
        out: IO[bytes],
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> None:
        asked = Request(url, list(self._addresses), dict(headers or {}), most, PATIENCE, SECONDS)
        with TemporaryFile() as told:
            # Not on the command line, which every user can read: the token is there.
            told.write(json.dumps(asked).encode() + b"\n" + body)
            told.seek(0)
            command = [sys.executable, "-I", "-S", str(Path(__file__).resolve())]
            done = subprocess.run(command, stdin=told, stdout=out, stderr=subprocess.PIPE)
        out.seek(0)
        if done.returncode:
            late = f"it sent {os.fstat(out.fileno()).st_size:,} bytes, and no more in time"
            why = late if done.returncode < 0 else done.stderr.decode(errors="replace")
            raise LabError(f"{named(url)}: {line(why)[:200]}")


class Request(NamedTuple):
    """``servers``: addresses of those that it may go to, also where others lead it. ``most``:
    bytes of the content; ``patience``: seconds until it begins; ``seconds`` for all of it."""

    url: str
    servers: list[str]
    headers: dict[str, str]
    most: int
    patience: float
    seconds: float


def main() -> None:
    asked = Request(*json.loads(sys.stdin.buffer.readline()))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, asked.patience)
    try:
        answer(asked, sys.stdin.buffer.read() or None)
    except IncompleteRead:
        sys.exit("it ended before its file did")
    except (LabError, OSError, HTTPException, ValueError) as problem:
        reason = getattr(problem, "reason", None) or problem
        sys.exit(getattr(reason, "strerror", None) or str(reason) or type(problem).__name__)


def answer(asked: Request, body: bytes | None) -> None:
    """Write the content of the server that the others lead to. What they send besides is not
    read."""
    opener = request.OpenerDirector()
    for handler in (
        request.ProxyHandler,
        request.HTTPHandler,
        request.HTTPSHandler,
        request.HTTPDefaultErrorHandler,
        request.HTTPErrorProcessor,
    ):
        opener.add_handler(handler())
    known = {server(url) for url in asked.servers}
    url = asked.url
    if server(url) not in known:
        raise LabError("the lab does not talk to this server (--allow)")
    for _ in range(REDIRECTS):
        try:
            # server() has checked the scheme.
            with opener.open(request.Request(url, body, asked.headers)) as found:  # noqa: S310
                write(found, asked)
                return
        except error.HTTPError as told:
            to = told.headers["Location"]
            if told.code not in (301, 302, 303, 307, 308) or to is None or body:
                raise LabError(f"it answers {told.code}") from None
        url = urljoin(url, to)
        if server(url) not in known:
            raise LabError(f"it leads to {named(url)}")
    raise LabError(f"it leads to more than {REDIRECTS} others")


def write(found: HTTPResponse, asked: Request) -> None:
    size = 0
    # One recv(2) each, so that a server that drips is noticed.
    while part := found.read1(PART):
        if size < FIRST <= size + len(part):
            signal.setitimer(signal.ITIMER_REAL, asked.seconds)
        size += len(part)
        if size > asked.most:
            raise LabError(f"its file is larger than {asked.most >> 20} MiB")
        sys.stdout.buffer.write(part)
    if found.length:
        raise LabError("it ended before its file did")
    sys.stdout.buffer.flush()


def server(url: str) -> tuple[str, str, int]:
    """Scheme, host and port. Raises ValueError for what is not HTTP."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or "@" in parts.netloc:
        raise ValueError("only http:// and https:// without a password can be used")
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    return parts.scheme, (parts.hostname or "").lower(), port


def named(url: str) -> str:
    """The server, without what may be a password."""
    try:
        return urlsplit(url).hostname or "a server without a name"
    except ValueError:
        return "a server without a name"


def line(text: str) -> str:
    """A stranger's text in a line that a person can read."""
    return "".join(one if one.isprintable() else "?" for one in " ".join(text.split()))


if __name__ == "__main__":
    main()
