"""A root folder: what programs, interpreters and libraries are taken from, as if it were ``/``.

Places in a guest.

The root folder of ``--sysroot``, from which a workload's programs and libraries are taken.
"""

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, named, told_elf, value_for
from profdiff.collectors.workload.elf import read_elf

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
        for place in (path.absolute(), Path(os.path.realpath(path.parent), path.name)):
            if place.is_relative_to(self.path) and ".." not in place.parts:
                return f"/{place.relative_to(self.path)}"
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


# Where a workload is, and its current folder.
GUEST_FOLDER = "/work"
# Those of a guest's own, whatever COMMAND calls them.
OWN = re.compile(r"/(init$|profdiff(/|$)|bin/busybox$|proc(/|$)|sys(/|$)|dev(/|$))")


def guest_place(word: str) -> str:
    """Where a word of COMMAND leads in the guest: a relative one from GUEST_FOLDER on."""
    # join() takes an absolute word as it is; two slashes at the start would stay.
    return re.sub("^//", "/", os.path.normpath(os.path.join(GUEST_FOLDER, word)))  # noqa: PTH118


# What tells whose programs a root folder holds.
_WITNESSES = (
    *("/bin/sh", "/bin/bash", "/usr/bin/env", "/bin/busybox", "/lib/libc.so.6"),
    *(f"/lib/{architecture.triplet}/libc.so.6" for architecture in ARCHITECTURES),
    *(f"/usr/lib/{architecture.triplet}/libc.so.6" for architecture in ARCHITECTURES),
)


def sysroot(values: Sequence[str], architecture: Architecture) -> Root | None:
    """The root folder for an architecture among ``[ARCH=]DIR``s; None if there is none.

    Raises InputError for what is not a folder, or holds programs for another architecture.
    """
    value = value_for("--sysroot", values, architecture)
    if value is None:
        return None
    path = Path(os.path.realpath(value)) if Path(value).is_dir() else Path("/")
    if path == Path("/"):
        raise InputError(f"--sysroot {value} is not a folder with a root file system")
    root = Root(path)
    other = _holds(root)
    if other and other != architecture.elf:
        known = named(other)
        more = f", or write --sysroot {known.arch}={value}" if known else ""
        raise InputError(
            f"--sysroot {value} holds programs for {told_elf(other)}, the guest is "
            f"{architecture.told}: give one for {architecture.told}{more}"
        )
    return root


def _holds(root: Root) -> str | None:
    """Whose programs are there, as ELF names it; None if nothing tells."""
    for place in _WITNESSES:
        source = root.find(place)
        if source and (elf := read_elf(source)):
            return elf.machine
    return None
