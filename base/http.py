"""Files over HTTP from servers that may mean no good: bounded in size and time, HTTP only.

A process of its own asks each server, and is ended in time (``http_process``): no limit of a socket
bounds how long a whole answer takes.
"""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from profdiff.base import http_process
from profdiff.base.terminal import printable

# A server that drips must have sent so much in the time that it has for an answer.
_FIRST_BYTES = 100 << 10
_PART = 1 << 16
_MIB = 1 << 20
# Of the line before the content, and of the reason why there is none.
_LONGEST_LINE = 1 << 16
_LONGEST_REASON = 200


class Bounds(NamedTuple):
    """The largest content in bytes; seconds for all of it, and for an answer to begin."""

    size: float
    seconds: float
    patience: float


class HttpError(ValueError):
    """Why there is no file, in a clause; the ``status`` of the answer, if that is why."""

    def __init__(self, why: str, status: int | None = None) -> None:
        super().__init__(printable(why)[:_LONGEST_REASON])
        self.status = status


class Answer:
    """An answer that began. ``length``: of its content, None where the server does not say."""

    def __init__(self, process: "subprocess.Popen[bytes]", bounds: Bounds) -> None:
        self._process, self._bounds = process, bounds
        self._patience = min(bounds.patience, bounds.seconds)
        self._started = time.monotonic()
        assert process.stdout  # noqa: S101
        self._stream: IO[bytes] = process.stdout
        self._first = b""
        self.length = self._head()

    def content(self) -> Iterator[bytes]:
        """The content, within the bounds. Raises HttpError beyond them."""
        size = 0
        part = self._first
        while True:
            size += len(part)
            if size > self._bounds.size:
                raise self._too_large()
            if part:
                yield part
            found = self._read(self._patience if size < _FIRST_BYTES else self._bounds.seconds)
            if found is None:
                seconds = time.monotonic() - self._started
                raise HttpError(f"it sent {told_size(size)} in {seconds:,.0f} s")
            if not found:
                break
            part = found
        self._end()

    def _head(self) -> int | None:
        head = b""
        while b"\n" not in head:
            part = self._read(self._patience)
            if part is None:
                raise HttpError(f"it sent no answer in {self._patience:,.0f} s")
            if not part or len(head) > _LONGEST_LINE:
                self._end()
                raise HttpError("it sent no answer")
            head += part
        line, _, self._first = head.partition(b"\n")
        length = json.loads(line)
        if length is not None and length > self._bounds.size:
            raise self._too_large()
        return int(length) if length is not None else None

    def _read(self, limit: float) -> bytes | None:
        """What comes next, b"" at the end, None where ``limit`` seconds after the start are over
        before."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stream, selectors.EVENT_READ)
            left = self._started + limit - time.monotonic()
            if left <= 0 or not selector.select(left):
                return None
        return os.read(self._stream.fileno(), _PART)

    def _end(self) -> None:
        """Raise HttpError where the process did not get all of it. It closed its output, so it is
        about to end."""
        if self._process.wait() == 0:
            return
        assert self._process.stderr  # noqa: S101
        said = self._process.stderr.read(_LONGEST_LINE)
        try:
            status, why = json.loads(said)
        except ValueError:
            status, why = None, "it sent no answer"
        raise HttpError(why, status)

    def _too_large(self) -> HttpError:
        return HttpError(f"its file is larger than {told_size(self._bounds.size)}")


@contextmanager
def answered(url: str, bounds: Bounds) -> Iterator[Answer]:
    """The answer to a request. Raises HttpError, and OSError where no process can be started."""
    asked = http_process.Request(url, bounds.seconds)
    with TemporaryFile() as told:
        # Not on the command line, which every user can read: an address can hold a secret.
        told.write(json.dumps(asked).encode())
        told.seek(0)
        process = subprocess.Popen(
            # By its file: whoever imports profdiff may have it where no new process looks.
            [sys.executable, "-P", "-S", str(Path(http_process.__file__))],
            stdin=told,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    with process:
        try:
            yield Answer(process, bounds)
        finally:
            process.kill()


def host(url: str) -> str:
    """The server's name, without what may be a password."""
    try:
        name = urlsplit(url).netloc.rpartition("@")[2]
    except ValueError:
        name = ""
    return printable(name or "a server without a name")[:_LONGEST_REASON]


def told_size(size: float) -> str:
    """A number of bytes for a person."""
    return f"{size / _MIB:,.1f} MiB" if size >= _MIB else f"{size / 1024:,.1f} KiB"
