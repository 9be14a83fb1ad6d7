"""A root folder: what programs, interpreters and libraries are taken from, as if it were ``/``."""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from profdiff.collectors.architecture import Architecture

# As many as the kernel follows (MAXSYMLINKS).
_MAX_LINKS = 40
# Where commands are, in the order of a usual PATH.
COMMANDS = ("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/sbin", "/usr/sbin", "/sbin")


@dataclass(frozen=True)
class Root:
    """``path``, without links, is ``/`` on this machine, or a folder, which may be a stranger's: no
    link in it leads out of it."""

    path: Path

    @property
    def is_here(self) -> bool:
        """Whether it is this machine's own."""
        return self.path == Path("/")

    def find(self, guest_path: str) -> Path | None:
        """The regular file to which an absolute path leads there; None if there is none."""
        return self._resolved(guest_path, stat.S_ISREG)

    def folder(self, guest_path: str) -> Path | None:
        """The folder to which an absolute path leads there; None if there is none."""
        return self._resolved(guest_path, stat.S_ISDIR)

    def which(self, name: str) -> str | None:
        """The path there of the command ``name``, which has no slash; None if there is none."""
        for folder in COMMANDS:
            found = self.find(f"{folder}/{name}")
            if found and os.access(found, os.R_OK) and found.stat().st_mode & 0o111:
                return f"{folder}/{name}"
        return None

    def told(self, guest_path: str) -> str:
        """A path there, for a person here."""
        return guest_path if self.is_here else f"{self.path}{guest_path}"

    def holds(self, path: Path) -> str | None:
        """The path there of a file that is named by its path here; None if it lies outside."""
        for named in (path.absolute(), Path(os.path.realpath(path.parent), path.name)):
            if named.is_relative_to(self.path) and ".." not in named.parts:
                return f"/{named.relative_to(self.path)}"
        return None

    def _resolved(self, guest_path: str, wanted: Callable[[int], bool]) -> Path | None:
        """As path_resolution(7) of a process whose root it is, which openat2(2) calls
        RESOLVE_IN_ROOT: absolute links begin at the folder, and nothing is above it."""
        here, pending, links = self.path, guest_path.split("/")[::-1], 0
        mode = stat.S_IFDIR
        while pending:
            name = pending.pop()
            if not stat.S_ISDIR(mode):
                return None
            if name in ("", "."):
                continue
            if name == "..":
                here = here.parent if here != self.path else here
                continue
            try:
                mode = os.lstat(here / name).st_mode
                if not stat.S_ISLNK(mode):
                    here /= name
                    continue
                target = os.readlink(here / name)  # noqa: PTH115 - a Path has lost a last slash
            # Nothing is there, or nothing can be: a name that is too long, or that holds a NUL.
            except (OSError, ValueError):
                return None
            links += 1
            if links > _MAX_LINKS:
                return None
            here = self.path if target.startswith("/") else here
            mode = stat.S_IFDIR
            pending += target.split("/")[::-1]
        return here if wanted(mode) else None


THIS_MACHINE = Root(Path("/"))


def usual(architecture: Architecture) -> tuple[Root, ...]:
    """Where programs for an architecture are on this machine: this machine's own; for another
    architecture what cross compilers link with, then Debian's multiarch."""
    if architecture.is_host:
        return (THIS_MACHINE,)
    return Root(Path("/usr", architecture.triplet)), THIS_MACHINE
