"""A stranger's tar, from a guest or another machine: the files of known names, each within a limit.

Python's tarfile keeps every member that it has seen, and reads the headers that describe others
(pax, GNU's long names) whole: a megabyte of gzip fills the memory. Here nothing is kept. Formats:
POSIX.1-2017, pax, "pax Interchange Format" and "ustar Interchange Format"; sizes of 8 GiB and more:
GNU tar's manual, "Basic Tar Format".
"""

import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

_BLOCK = 512
_CHUNK = 1 << 20
# A header that describes another tells times, owners and a size: some hundred bytes.
_MAX_DESCRIPTION = 64 << 10
# What tar puts behind the end, to fill a tape's record: 10 KiB, unless it is told otherwise.
_MAX_PADDING = 1 << 20
# A run leaves about twenty files.
_MAX_MEMBERS = 10_000
_REGULAR, _PAX, _DESCRIPTIONS = (b"0", b"\0", b"7"), b"x", (b"x", b"g", b"L", b"K")


class ArchiveError(Exception):
    """Why an archive is not taken: cut short, damaged, or too large; for a person."""


class Readable(Protocol):
    """What gives at most ``size`` bytes, and none at its end."""

    def read(self, size: int, /) -> bytes: ...


def receive(stream: Readable, folder: Path, limits: Mapping[str, int], total: int) -> set[str]:
    """Put the regular files that the tar ``stream`` holds and ``limits`` names into ``folder``, all
    or none; their names. Members of other names are passed over.

    ``limits``: how many bytes each may have; ``total``: the whole archive. Raises ArchiveError,
    OSError.
    """
    with tempfile.TemporaryDirectory(dir=folder, prefix=".archive.") as temporary:
        names = _unpack(_Counted(stream, total), Path(temporary), limits)
        for name in names:
            (Path(temporary) / name).replace(folder / name)
    return names


class Gunzip:
    """What the gzip stream at the position of ``file`` holds, checked; what follows is not read.
    At most ``most`` bytes are, compressed. Raises ArchiveError."""

    def __init__(self, file: Readable, most: int) -> None:
        self._file, self._left = file, most
        # 16: with gzip's header and checksum (zlib.h, inflateInit2).
        self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes, more than 0; none at the end."""
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail
            if not packed:
                packed = self._file.read(1 << 16)
                self._left -= len(packed)
            if not packed:
                raise ArchiveError("it is cut short")
            if self._left < 0:
                raise ArchiveError("it is too large")
            try:
                data = self._inflate.decompress(packed, size)
            except zlib.error as error:
                raise ArchiveError("it is damaged") from error
            if data:
                return data
        return b""


class _Counted:
    def __init__(self, stream: Readable, most: int) -> None:
        self._stream, self._left = stream, most

    def some(self, size: int) -> bytes:
        """At most ``size`` bytes; none at the end."""
        data = self._stream.read(min(size, _CHUNK))
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveError("it is too large")
        return data

    def exactly(self, size: int) -> bytes:
        parts = []
        while size:
            if not (data := self.some(size)):
                raise ArchiveError("it is cut short")
            parts.append(data)
            size -= len(data)
        return b"".join(parts)

    def to(self, path: Path | None, size: int) -> None:
        """Pass ``size`` bytes on to ``path``, and the rest of their last block over."""
        end = size + -size % _BLOCK
        if path is None:
            for start in range(0, end, _CHUNK):
                self.exactly(min(end - start, _CHUNK))
            return
        with path.open("wb") as file:
            for start in range(0, size, _CHUNK):
                file.write(self.exactly(min(size - start, _CHUNK)))
            file.flush()
            # Before the run is entered in the session, which names the file.
            os.fsync(file.fileno())
        self.exactly(end - size)


def _unpack(stream: _Counted, folder: Path, limits: Mapping[str, int]) -> set[str]:
    found: set[str] = set()
    described: int | None = None
    for _ in range(_MAX_MEMBERS):
        header = stream.exactly(_BLOCK)
        if header == bytes(_BLOCK):
            break
        kind = header[156:157]
        name, size = _name_and_size(header)
        if kind in _DESCRIPTIONS:
            if size > _MAX_DESCRIPTION:
                raise ArchiveError("a header in it is too large")
            description = stream.exactly(size + -size % _BLOCK)[:size]
            described = _pax_size(description) if kind == _PAX else described
            continue
        size, described = size if described is None else described, None
        wanted = kind in _REGULAR and name in limits
        if wanted and size > limits[name]:
            raise ArchiveError(f"its {name} is larger than {limits[name]:,} bytes")
        if kind not in _REGULAR and size:
            raise ArchiveError("it holds an entry that is neither a file nor a folder")
        stream.to(folder / name if wanted else None, size)
        if wanted:
            found.add(name)
    else:
        raise ArchiveError("it holds too many files")
    # Also for gzip's checksum, which comes last.
    padding = 0
    while data := stream.some(_CHUNK):
        padding += len(data)
        if padding > _MAX_PADDING:
            raise ArchiveError("there is data after its end")
    return found


def _name_and_size(header: bytes) -> tuple[str, int]:
    try:
        checksum = int(header[148:156].rstrip(b"\0 ") or b"0", 8)
        if header[124] & 0x80:
            size = int.from_bytes(header[125:136], "big")
        else:
            size = int(header[124:136].rstrip(b"\0 ") or b"0", 8)
    except ValueError as error:
        raise ArchiveError("it is damaged") from error
    # The checksum is of the header with blanks in its place.
    if size < 0 or checksum != sum(header) - sum(header[148:156]) + 8 * 0x20:
        raise ArchiveError("it is damaged")
    name = header[:100].partition(b"\0")[0].decode(errors="replace")
    prefix = header[345:500].partition(b"\0")[0] if header[257:263] == b"ustar\0" else b""
    # Names that are wanted have no folder.
    return "" if prefix else name.removeprefix("./"), size


def _pax_size(records: bytes) -> int | None:
    """``size`` of the records "LENGTH KEY=VALUE\\n"; None if there is none."""
    size = None
    while records:
        length, _, _ = records[:8].partition(b" ")
        if not length.isdigit() or not len(length) < int(length) <= len(records):
            raise ArchiveError("it is damaged")
        record, records = records[: int(length)], records[int(length) :]
        key, _, value = record[len(length) + 1 : -1].partition(b"=")
        if key == b"size":
            if not value.isdigit() or len(value) > 18:
                raise ArchiveError("it is damaged")
            size = int(value)
    return size
