"""Strangers' files, read within bounds: regular files only, and never more than a limit of bytes.

A FIFO would wait for ever, a device never end, a sparse file of a few blocks fill the memory.

What a file is that was given in the place of another: as its first bytes tell.
"""

import errno
import os
import stat
import zlib
from pathlib import Path
from typing import BinaryIO

_MIB = 2**20
MOST_VALUES = 2**22
"""The most values of a JSON document that is read whole: 3 bytes of it can take 180 of memory."""


def open_regular(path: Path) -> BinaryIO:
    """Open a file to read it. Raises OSError, also when it is not a regular file."""
    # Without O_NONBLOCK, opening a FIFO waits for its writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def read(path: Path, limit: int) -> bytes:
    """The content of a file of at most ``limit`` bytes. Raises OSError, also for a larger one."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        # Python reserves all that is asked for, so not the limit at once; /proc says a size of 0.
        step, left = max(size + 1, _MIB), limit + 1
        parts: list[bytes] = []
        while size <= limit and left and (part := file.read(min(step, left))):
            left -= len(part)
            parts.append(part)
    if size > limit or not left:
        raise OSError(errno.EFBIG, f"it is larger than {_size(limit)}", str(path))
    return b"".join(parts)


def read_json(path: Path, limit: int, most: int = MOST_VALUES) -> bytes:
    """As ``read``, of a JSON document of at most so many values. Raises OSError, also for more."""
    data = read(path, limit)
    try:
        check_values(data, most)
    except ValueError as error:
        raise OSError(errno.EFBIG, str(error), str(path)) from error
    return data


def check_values(data: bytes, most: int) -> None:
    """Raises ValueError where a JSON document may have more than ``most`` values. Each stands
    behind one of these, and few of them are in texts."""
    if data.count(b",") + data.count(b"[") + data.count(b"{") >= most:
        raise ValueError(f"it has more than {most:,} values")


def head(path: Path, limit: int) -> bytes:
    """The first ``limit`` bytes of a file, or all that it has. Raises OSError."""
    with open_regular(path) as file:
        return file.read(limit)


def gunzip(data: bytes, limit: int) -> bytes:
    """The first gzip stream in ``data`` (RFC 1952), unpacked. Raises ValueError when it is damaged,
    or more than ``limit`` bytes come out."""
    unzip = zlib.decompressobj(wbits=31)
    try:
        content = unzip.decompress(data, limit + 1)
    except zlib.error as error:
        raise ValueError(f"it is damaged: {error}") from error
    if len(content) > limit:
        raise ValueError(f"it unpacks to more than {_size(limit)}")
    if not unzip.eof:
        raise ValueError("it is damaged: its end is missing")
    return content


def _size(limit: int) -> str:
    return f"{limit // _MIB} MiB" if limit >= _MIB else f"{limit >> 10} KiB"


_HEAD = 1024
_MAGIC = (
    (b"\x7fELF", "an ELF file"),
    (b"PERFILE2", "a recording of perf"),
    (b"#!", "a script"),
    (b"!<arch>\n", "a package or an archive"),
    (b"07070", "an archive for an initrd"),
    (b"\x28\xb5\x2f\xfd", "a compressed file"),
    (b"\x1f\x8b", "a compressed file"),
    (b"\xfd7zXZ\0", "a compressed file"),
)


def file_kind(path: Path) -> str:
    """A noun: "an ELF file"; "" for a device, a pipe, and what cannot be read."""
    if path.is_dir():
        return "a folder"
    if not path.is_file():
        return ""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return ""
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    # Documentation/arch/x86/boot.rst, and what is an EFI program.
    if head[0x202:0x206] == b"HdrS" or head.startswith(b"MZ"):
        return "a kernel's image"
    return "a binary file" if b"\0" in head else "a text"
