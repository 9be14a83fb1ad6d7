"""What a restored machine is given and gives back, in memory that it shares with us: hold.c.

What a guest sends over its second serial port: lines that tell its phase, then an archive.
"""

import hashlib
import io
import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path

from profdiff.base.atomic import naming
from profdiff.base.errors import InputError
from profdiff.collectors.guest.archive import Gunzip, receive
from profdiff.collectors.guest.boot import Variation
from profdiff.collectors.workload.files import GuestFile

_ARCHIVE = b"profdiff: archive\n"
_PHASES = ("settle", "measure", "collect")
# Above any line of ours; and what there is in front of the archive: some lines.
_MAX_LINE, _MAX_TEXT = 4096, 1 << 20
# Far above what a guest sends.
MAX_ARCHIVE = 512 << 20
_SMALL, _LARGE, _HUGE = 1 << 20, 64 << 20, 256 << 20
# What any run leaves in its output folder, in a guest and elsewhere: how many bytes each may have,
# several times what it has.
MEMBERS = {
    **dict.fromkeys(("status", "version", "cmdline", "notes", "vdso", "environment"), _SMALL),
    **dict.fromkeys(("observed", "state", "cpus", "vmstat-before", "vmstat-after"), _SMALL),
    **dict.fromkeys(("dmesg", "modules", "sections", "config", "usage"), _LARGE),
    **dict.fromkeys(("kallsyms", "stdout", "stderr"), _HUGE),
}


def phase_of(line: str) -> str | None:
    """The phase that a line of our scripts tells; None for other lines."""
    words = line.split()
    if len(words) == 3 and words[:2] == ["profdiff:", "phase"] and words[2] in _PHASES:
        return words[2]
    return None


class GuestChannel:
    """Reads the growing file that QEMU writes the port to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._text = b""
        self.phase = "boot"

    def poll(self) -> None:
        """Read what is new and update ``phase``: boot, settle, measure, collect."""
        if self.phase == "collect":
            return
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                new = file.read(65536)
        except FileNotFoundError:
            return
        self._offset += len(new)
        *lines, self._text = (self._text + new).split(b"\n")
        # A guest may never end its line.
        self._text = self._text[-_MAX_LINE:]
        for line in lines:
            self.phase = phase_of(line[:_MAX_LINE].decode("ascii", "replace")) or self.phase

    def archive(self, folder: Path, members: Mapping[str, int] = MEMBERS) -> set[str] | None:
        """Put the files that the guest sent into ``folder``, if ``members`` names them: their
        names; None if it sent none.

        Raises ArchiveError when they did not arrive whole, OSError.
        """
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return None
        with file:
            start = file.read(_MAX_TEXT).find(_ARCHIVE)
            if start < 0:
                return None
            file.seek(start + len(_ARCHIVE))
            return receive(Gunzip(file, MAX_ARCHIVE), folder, members, MAX_ARCHIVE)


_RECORDS, _ANSWER, _PHASE = 4096, 2048, 1024
_REQUEST = struct.Struct("<QQQQ32s")
_RECORD = struct.Struct("<IIQ")
_ANSWERED = struct.Struct("<QQ")
_REQUEST_MAGIC, _ANSWER_MAGIC = 0x31515252464450, 0x31534E41464450
# As alone.c has them.
_PHASE_BYTES = {b"\1": "measure", b"\2": "collect"}
# The size of all of it: a power of two, as PCI requires. What runs leave is some 100 KiB.
_MIN_BYTES, _MAX_BYTES = 16 << 20, 2 << 30
# More than the arguments of a program take, so that all runs of a workload have the same room.
_ARGUMENTS = 3 << 20
# A run begins at a full second after the machine's, so that most do at the same: some 10
# instructions a byte, or nanoseconds, are several times what unpacking takes.
_STEP, _BEFORE, _EACH = 1_000_000_000, 200_000_000, 10


class Delivery:
    """``files`` of a workload, and ``own`` ones by name beside the agent."""

    def __init__(self, files: Iterable[GuestFile], own: Mapping[str, bytes]) -> None:
        """Raises OSError."""
        records = [_record(f"/profdiff/{name}", 0o644, data) for name, data in own.items()]
        for file in files:
            mode = 0o755 if file.executable else 0o644
            records.append(_record(file.guest_path, mode, file.source.read_bytes()))
        self._records = b"".join(records)

    def content(self, variation: Variation, settle: float) -> bytes:
        """What the memory begins with, with what varies; ``settle``: of the machine as it was
        saved."""
        wake = -(-(_BEFORE + _EACH * len(self._records)) // _STEP) * _STEP
        records, varied = self._records, variation.settle is not None
        if variation.settle is not None:
            wake += round((variation.settle - settle) * 1e9)
            records += _record("/profdiff/varied", 0o644, b"")
        for name, data in variation.files().items():
            records += _record(f"/profdiff/{name}", 0o644, data)
        seed = hashlib.sha256(str(variation.seed).encode()).digest()
        request = _REQUEST.pack(_REQUEST_MAGIC, len(records), wake, varied, seed)
        return request.ljust(_RECORDS, b"\0") + records


def room_for(files: Iterable[GuestFile], own: Mapping[str, bytes]) -> int:
    """The bytes of shared memory that a delivery of them needs. Raises InputError where that is too
    much, OSError."""
    length = _RECORDS + _ARGUMENTS
    length += sum(_RECORD.size + len(f"/profdiff/{name}") + len(own[name]) for name in own)
    for file in files:
        length += _RECORD.size + len(os.fsencode(file.guest_path)) + file.source.stat().st_size
    size = _MIN_BYTES
    while size // 2 < length:
        size *= 2
    if size > _MAX_BYTES:
        raise InputError(f"the workload's files are {length >> 20} MiB, too many to be delivered")
    return size


def make_shared(path: Path, size: int) -> None:
    """The file of shared memory, empty, with room on the disk for all of it: who touches a mapped
    page that gets none is killed (SIGBUS). Raises OSError."""
    with path.open("wb") as file, naming(path):
        os.posix_fallocate(file.fileno(), 0, size)


def delivered_phase(path: Path) -> str:
    """How far the agent is with a run: settle, measure or collect. Raises OSError."""
    with path.open("rb") as file:
        file.seek(_PHASE)
        told = file.read(1)
    return _PHASE_BYTES.get(told, "settle")


def handed_over(path: Path, folder: Path, limits: Mapping[str, int]) -> set[str] | None:
    """Put what a run handed over into ``folder``, as ``archive.receive`` does; None if it handed
    nothing over. Raises ArchiveError, OSError."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as shared:
        magic, length = _ANSWERED.unpack_from(shared, _ANSWER)
        half = len(shared) // 2
        if magic != _ANSWER_MAGIC:
            return None
        data = shared[half : half + min(length, half)]
    return receive(io.BytesIO(data), folder, limits, half)


def _record(path: str, mode: int, data: bytes) -> bytes:
    name = os.fsencode(path)
    return _RECORD.pack(mode, len(name), len(data)) + name + data
