"""What a lab asks of servers: HTTP within bounds, and only with those that its operator names."""

import hashlib
import time
from collections.abc import Callable, Iterable
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit
from urllib.request import Request

from profdiff.base import http
from profdiff.base.atomic import open_atomic
from profdiff.base.errors import InputError, ProfdiffError

# A page of events; a job definition; a kernel.
EVENTS, DEFINITION, KERNEL = 64 << 20, 1 << 20, 512 << 20
_SECONDS, _PATIENCE = 1800.0, 60.0
T = TypeVar("T")


class ServerError(ProfdiffError):
    """Why a server did not do what it was asked to."""


class Servers:
    """The servers that a lab talks to: those of ``addresses``. ``token``: what tells them who
    answers, "" for nothing. Raises InputError for an address that is not HTTP."""

    def __init__(self, addresses: Iterable[str], token: str) -> None:
        self._known = {_server(address) for address in addresses}
        self._token = token

    def read(self, url: str, most: int) -> bytes:
        """A content of at most ``most`` bytes. Raises ServerError."""
        return _tried(url, lambda: b"".join(self._content(Request(url), most)))  # noqa: S310

    def fetch(self, url: str, file: Path, digest: str | None) -> None:
        """Write a kernel to ``file``, which is there whole or not at all. ``digest``: the SHA-256
        that it must have. Raises ServerError."""
        _tried(url, lambda: self._fetch(url, file, digest))

    def post(self, url: str, data: bytes) -> None:
        """Send a JSON document. The token goes nowhere but to ``url``. Raises ServerError."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = self._token
        asked = Request(url, data, headers)  # noqa: S310

        def send() -> None:
            self._refuse_unknown(url)
            http.answered(asked, _PATIENCE, lambda _: False).close()

        _tried(url, send)

    def _fetch(self, url: str, file: Path, digest: str | None) -> None:
        found = hashlib.sha256()
        with open_atomic(file, durable=False) as out:
            for some in self._content(Request(url), KERNEL):  # noqa: S310
                out.write(some)
                found.update(some)
            if digest is not None and found.hexdigest() != digest:
                raise ValueError("the file does not have the SHA-256 that the job names")

    def _content(self, asked: Request, most: int) -> Iterable[bytes]:
        self._refuse_unknown(asked.full_url)
        started = time.monotonic()
        bounds = http.Bounds(most, _SECONDS, _PATIENCE)
        with http.answered(asked, _PATIENCE, self._knows) as answer:
            yield from http.content(answer, bounds, started)

    def _refuse_unknown(self, url: str) -> None:
        http.check(url)
        if not self._knows(url):
            raise ValueError("the lab does not talk to this server (--allow)")

    def _knows(self, url: str) -> bool:
        try:
            return _server(url) in self._known
        except InputError:
            return False


def _server(url: str) -> tuple[str, str, int]:
    """Scheme, host and port."""
    try:
        http.check(url)
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    except ValueError as error:
        raise InputError(f"{url!r}: {error}") from error
    return parts.scheme, (parts.hostname or "").lower(), port


def _tried(url: str, action: Callable[[], T]) -> T:
    try:
        return action()
    except (OSError, HTTPException, ValueError) as error:
        raise ServerError(f"{http.host(url)}: {http.reason(error)}") from error
