"""Files and folders that are written whole or not at all."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from profdiff.base.temporary import temporary_folder

_UNFINISHED = ".part"
# Read once: umask(2) can only be read by setting it, which threads would see.
_UMASK = os.umask(0)
os.umask(_UMASK)


@contextlib.contextmanager
def open_atomic(path: Path, *, durable: bool = True) -> Iterator[BinaryIO]:
    """Yield a file whose content replaces ``path`` when the block ends without an exception.

    If ``durable``, the data reach the disk before the name does, so that a power cut leaves the old
    file or the new one. What can be made again need not wait for the disk. Raises OSError (a full
    disk, no permission); ``path`` is then as it was.
    """
    descriptor, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}.", suffix=_UNFINISHED
    )
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_UMASK)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_atomic(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Write ``data`` to ``path`` whole or not at all, as ``open_atomic``. Raises OSError."""
    with open_atomic(path, durable=durable) as file:
        file.write(data)


@contextlib.contextmanager
def make_folder(path: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes ``path`` when the block ends without an exception.

    Raises OSError, also when ``path`` exists and is not an empty folder.
    """
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
