"""Files and folders that are written whole or not at all, exchanged, or kept once on the disk."""

import contextlib
import ctypes
import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from profdiff.base.errors import FULL
from profdiff.base.temporary import temporary_folder

_UNFINISHED, _PREFIX = ".part", 40
# Read once: umask(2) can only be read by setting it, which threads would see.
_UMASK = os.umask(0)
os.umask(_UMASK)
_DEFAULT_MODE = 0o666 & ~_UMASK


@contextlib.contextmanager
def open_atomic(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a file whose content replaces ``path``, with its mode and owner, when the block ends
    without an exception. A link is replaced, too: ``outputs`` has what users name.

    If ``durable``, the data reach the disk before the name does, so that a power cut leaves the old
    file or the new one. What can be made again need not wait for the disk. Raises OSError (a full
    disk, no permission); ``path`` is then as it was.
    """
    opened, temporary = open_unfinished(path)
    try:
        with naming(path), opened as file:
            yield file
            file.flush()
            keep_mode(path, file)
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let what is said of a full disk, or too large a file, name ``path``, which is being written:
    write(2) names nothing."""
    try:
        yield
    except OSError as error:
        if error.errno in (*FULL, errno.EFBIG) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def open_unfinished(path: Path) -> tuple[BinaryIO, Path]:
    """A new file beside ``path``, whose place it can take, and its name. Raises OSError."""
    # A name may have 255 bytes, and a character has at most 4.
    descriptor, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name[:_PREFIX]}.", suffix=_UNFINISHED
    )
    return os.fdopen(descriptor, "wb"), Path(name)


def keep_mode(path: Path, file: BinaryIO) -> None:
    """Give a new file the mode and the owner of the one at ``path``, whose place it takes."""
    old = path.lstat() if path.exists() else None
    if old is None or not stat.S_ISREG(old.st_mode):
        os.fchmod(file.fileno(), _DEFAULT_MODE)
        return
    new = os.fstat(file.fileno())
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        for user in (old.st_uid, -1):
            with contextlib.suppress(OSError):
                os.fchown(file.fileno(), user, old.st_gid)
                break
    os.fchmod(file.fileno(), stat.S_IMODE(old.st_mode) & 0o777)


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write ``data`` to ``path`` whole or not at all, as ``open_atomic``. Raises OSError."""
    with open_atomic(path, durable=durable) as file:
        file.write(data)


@contextlib.contextmanager
def make_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes ``path``, or what that links to, when the block ends
    without an exception.

    Raises OSError, also when ``path`` exists and is not an empty folder.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(beside=path) as folder:
        yield folder
        folder.rename(path)


def remove_unfinished(folder: Path) -> None:
    """Remove what a process that was killed left half written in ``folder``, into which nobody is
    writing now. Raises OSError."""
    if folder.is_dir() and not folder.is_symlink():
        for path in folder.glob(f".*{_UNFINISHED}"):
            if stat.S_ISREG(path.lstat().st_mode):
                path.unlink()


def link_or_copy(source: Path, path: Path) -> None:
    """Make ``path``, which does not exist, the file ``source``: a second name of it, or a copy
    where the file system has no such thing. Never for a user's file: who writes into one changes
    the other. Raises OSError."""
    try:
        # Not of what a link leads to.
        os.link(source, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        with source.open("rb") as file, open_atomic(path, durable=False) as copy:
            shutil.copyfileobj(file, copy)


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def exchange(one: Path, other: Path) -> None:
    """Let two folders of one file system change names, at once where it can do that
    (renameat2(2)), else one after the other. Raises OSError; both are then as they were."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    names = os.fsencode(one), os.fsencode(other)
    if call and call(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return
    if call and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(one))
    aside = one.with_name(f"{one.name}.aside")
    one.rename(aside)
    try:
        other.rename(one)
    except OSError:
        aside.rename(one)
        raise
    aside.rename(other)
