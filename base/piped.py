"""Recordings that come through a pipe, which can be read only once."""

import os
from pathlib import Path
from typing import BinaryIO

from profdiff.base.errors import InputError

STANDARD_INPUT = "-"
_OPEN = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
_MOST = 16 << 30
_STEP = 1 << 20


def is_pipe(path: Path) -> bool:
    """Whether it is ``-`` or a pipe that is open already, such as ``<(perf script)``."""
    try:
        return str(path) == STANDARD_INPUT or (
            str(path).startswith(_OPEN) and not path.is_dir() and not path.is_file()
        )
    except OSError:
        return False


def kept(path: Path) -> Path:
    """A file with what comes through a pipe; it goes with this process. Raises InputError."""
    import tempfile

    name = "/dev/stdin" if str(path) == STANDARD_INPUT else str(path)
    try:
        with Path(name).open("rb") as pipe, tempfile.TemporaryFile() as file:
            if pipe.isatty():
                raise InputError(f"{path} is a terminal: pipe a recording into it, or name a file")
            _copy(pipe, file)
            return Path(f"/dev/fd/{os.dup(file.fileno())}")
    except OSError as error:
        raise InputError(
            f"cannot keep what comes from {path} ({error.strerror}): write it to a file, or set "
            "TMPDIR to a folder with more space"
        ) from error


def _copy(pipe: BinaryIO, file: BinaryIO) -> None:
    left = _MOST
    while part := pipe.read(min(_STEP, left + 1)):
        left -= len(part)
        if left < 0:
            raise InputError(f"more than {_MOST >> 30} GiB come from a pipe: write it to a file")
        file.write(part)
    file.flush()
