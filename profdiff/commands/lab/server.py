"""What a lab asks of servers: HTTP within bounds, and only with those that its operator names."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from profdiff.base import http
from profdiff.base.atomic import open_atomic
from profdiff.base.errors import InputError, ProfdiffError, told

# A page of events; a job definition; a kernel; what a callback answers.
EVENTS, DEFINITION, KERNEL, _REPLY = 64 << 20, 1 << 20, 512 << 20, 1 << 20
_SECONDS, _PATIENCE = 1800.0, 60.0


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
        with _tried(url):
            return b"".join(self._content(url, most))

    def fetch(self, url: str, file: Path, digest: str | None) -> None:
        """Write a kernel to ``file``, which is there whole or not at all. ``digest``: the SHA-256
        that it must have. Raises ServerError."""
        found = hashlib.sha256()
        with _tried(url), open_atomic(file, durable=False) as out:
            for some in self._content(url, KERNEL):
                out.write(some)
                found.update(some)
            if digest is not None and found.hexdigest() != digest:
                raise ValueError("the file does not have the SHA-256 that the job names")

    def post(self, url: str, data: bytes) -> None:
        """Send a JSON document. The token goes nowhere but to ``url``. Raises ServerError."""
        headers = {"Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = self._token
        bounds = http.Bounds(_REPLY, _SECONDS, _PATIENCE)
        with _tried(url):
            self._refuse_unknown(url)
            with http.answered(url, bounds, headers=headers, body=data, leads=()):
                pass

    def _content(self, url: str, most: int) -> Iterator[bytes]:
        self._refuse_unknown(url)
        bounds = http.Bounds(most, _SECONDS, _PATIENCE)
        with http.answered(url, bounds, leads=self._known) as answer:
            yield from answer.content()

    def _refuse_unknown(self, url: str) -> None:
        if http.server(url) not in self._known:
            raise ValueError("the lab does not talk to this server (--allow)")


def _server(url: str) -> tuple[str, str, int]:
    try:
        return http.server(url)
    except ValueError as error:
        raise InputError(f"{url!r}: {error}") from error


@contextmanager
def _tried(url: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        why = told(error) if isinstance(error, OSError) else str(error)
        raise ServerError(f"{http.host(url)}: {why}") from error
