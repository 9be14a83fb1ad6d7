"""Folders that go with their process: at once when it ends, else when the next one starts.

Each has a file that is locked (flock(2)) as long as its process lives, however that ends. Where
nobody holds the lock, the process was killed.
"""

import contextlib
import errno
import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from profdiff.base.errors import FULL, MissingError

# Its name is what tells our folders from a user's own, which must never be removed.
_LOCK = ".profdiff-lock"
_TRIES = 16
# A disk with less is full.
_MIN_FREE = 1 << 20


@contextlib.contextmanager
def temporary_folder(beside: Path | None = None) -> Iterator[Path]:
    """Yield an empty folder of this process, and remove it at the end with all that is in it.

    It is made in the system's temporary folder, or next to ``beside``: then what it holds can be
    renamed to that. What killed processes left there is removed first. Raises OSError, MissingError
    where the system's has no room.
    """
    place = beside.parent if beside else Path(tempfile.gettempdir())
    # A name may have 255 bytes, and a character has at most 4.
    prefix = f".{beside.name[:40]}.profdiff-" if beside else "profdiff-"
    _remove_all_left(place, re.compile(re.escape(prefix)))
    try:
        folder, lock = _made(place, prefix)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(beside or place)) from error
    try:
        content = folder / "files"
        content.mkdir()
        with contextlib.nullcontext() if beside else _advising(folder):
            yield content
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


@contextlib.contextmanager
def _advising(folder: Path) -> Iterator[None]:
    """Say what to do where there is no room for a temporary folder."""
    try:
        yield
    except OSError as error:
        name = error.filename2 or error.filename
        # What is written to says nothing of its name.
        here = Path(name).is_relative_to(folder) if name else _is_full(folder)
        if error.errno not in FULL or not here:
            raise
        raise MissingError(
            f"{folder.parent}: {error.strerror}: make room there, or set TMPDIR to a folder with "
            "more, and run the same command again"
        ) from error


def _is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < _MIN_FREE


def remove_left(place: Path) -> None:
    """Remove what killed processes left in a folder, whatever it was made ``beside``. Raises
    OSError."""
    _remove_all_left(place, re.compile(r"\..+\.profdiff-", re.DOTALL))


def _remove_all_left(place: Path, name: re.Pattern[str]) -> None:
    with os.scandir(place) as entries:
        known = [Path(entry) for entry in entries if name.match(entry.name)]
    for folder in known:
        _remove_if_left(folder)


def _made(place: Path, prefix: str) -> tuple[Path, int]:
    for _ in range(_TRIES):
        folder = Path(tempfile.mkdtemp(dir=place, prefix=prefix))
        (folder / _LOCK).touch(0o600, exist_ok=False)
        # Until it is locked, another process may take it for left.
        lock = _lock(folder)
        if lock is not None:
            return folder, lock
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK), str(place))


def _lock(folder: Path) -> int | None:
    """A descriptor that holds a folder's lock; None where someone else holds it, or there is none,
    or it is another user's."""
    path = folder / _LOCK
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        mine = os.fstat(descriptor)
        if mine.st_uid == os.geteuid() and os.path.samestat(mine, path.lstat()):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _remove_if_left(folder: Path) -> None:
    lock = _lock(folder)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
