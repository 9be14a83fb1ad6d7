"""Files that are written whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

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
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
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
