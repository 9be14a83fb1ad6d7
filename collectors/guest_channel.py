"""What a guest sends over its second serial port: lines that tell its phase, then an archive."""

import gzip
import io
import tarfile
import zlib
from pathlib import Path

_PREFIX = b"profdiff: "
_ARCHIVE = b"profdiff: archive\n"
# Far above what a guest sends; an archive from a broken guest must not fill the memory.
_MAX_ARCHIVE = 512 * 2**20
# What init.sh leaves in its output folder.
MEMBERS = frozenset(
    {
        *("status", "stdout", "stderr", "dmesg", "kallsyms", "modules", "sections"),
        *("version", "cmdline", "notes", "config", "vdso"),
        *("usage", "observed", "state", "vmstat-before", "vmstat-after"),
        *("perf.data", "environment", "attempt", "perf-refusal.1", "perf-refusal.2"),
    }
)


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
        self._text += new
        *lines, self._text = self._text.split(b"\n")
        for line in lines:
            words = line.removeprefix(_PREFIX).split()
            if line.startswith(_PREFIX) and len(words) == 2 and words[0] == b"phase":
                self.phase = words[1].decode("ascii", "replace")

    def archive(self) -> dict[str, bytes] | None:
        """The files that the guest sent, by name; None when they did not arrive whole."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return None
        start = data.find(_ARCHIVE)
        if start < 0:
            return None
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data[start + len(_ARCHIVE) :])) as stream:
                return _members(stream)
        except (OSError, EOFError, zlib.error, tarfile.TarError):
            return None


def _members(stream: gzip.GzipFile) -> dict[str, bytes] | None:
    files: dict[str, bytes] = {}
    left = _MAX_ARCHIVE
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            left -= member.size
            if left < 0:
                return None
            if member.isreg() and member.name in MEMBERS:
                content = archive.extractfile(member)
                files[member.name] = content.read() if content else b""
    # The end of the gzip stream carries its checksum: read up to it.
    while stream.read(65536):
        pass
    return files
