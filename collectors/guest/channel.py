"""What a guest sends over its second serial port: lines that tell its phase, then an archive."""

from collections.abc import Mapping
from pathlib import Path

from profdiff.collectors.guest.archive import Gunzip, receive

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
