"""The files that travel into guests with a workload, by their place there."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.workload.elf_closure import Elf, closure, read_elf

GUEST_FOLDER = "/work"
# What a folder may hold that COMMAND names: guests boot from memory.
_MAX_FOLDER, _MAX_MEMBERS = 64 << 20, 2_000
# Places of a guest's own, whatever COMMAND calls them.
_OWN = re.compile(r"/(init$|profdiff(/|$)|bin/busybox$|proc(/|$)|sys(/|$)|dev(/|$))")


@dataclass(frozen=True)
class GuestFile:
    """A file for the guest. ``is_code``: it may execute, so the session keeps it."""

    source: Path
    guest_path: str
    executable: bool
    is_code: bool

    def sha256(self) -> str:
        """Hash of the content, in hexadecimal."""
        return sha256(self.source)


class GuestFiles:
    """Guest files by their guest path; two sources for one path are refused."""

    def __init__(self, architecture: Architecture) -> None:
        self.architecture = architecture
        self.by_path: dict[str, GuestFile] = {}

    def add(self, source: Path, guest_path: str, *, executable: bool, is_code: bool) -> None:
        """Raises InputError."""
        known = self.by_path.get(guest_path)
        if known and known.source.resolve() != source.resolve():
            raise InputError(
                f"{known.source} and {source} would both be {guest_path} in the guest: give one of "
                "them another place with --file SRC:DEST"
            )
        self.by_path[guest_path] = GuestFile(source, guest_path, executable, is_code)

    def add_closure(self, elf: Elf) -> None:
        """What a program of the guest's needs to start. Raises InputError."""
        told = self.architecture.told
        if elf.machine != self.architecture.elf:
            raise InputError(
                f"{elf.path} is a program for {elf.machine.removeprefix('EM_')}, the guest is "
                f"{told}: build it for {told}"
            )
        if not self.architecture.is_host and elf.needed:
            raise InputError(
                f"{elf.path} is dynamically linked, and its libraries for {told} are not "
                "here: link it statically"
            )
        libraries = closure(elf)
        for library in libraries:
            self.add(library, str(library), executable=True, is_code=True)
        cache = Path("/etc/ld.so.cache")
        if libraries and cache.exists():
            self.add(cache, str(cache), executable=False, is_code=False)

    def add_any(self, source: Path, guest_path: str) -> None:
        """A file of any kind; of a program also what it links. Raises InputError."""
        elf = read_elf(source)
        executable = bool(source.stat().st_mode & 0o111)
        self.add(source, guest_path, executable=executable, is_code=elf is not None)
        if elf and elf.machine == self.architecture.elf and (elf.interpreter or elf.needed):
            self.add_closure(elf)

    def add_extra(self, text: str) -> None:
        """``SRC[:DEST]`` of ``--file``, a file or a folder. Raises InputError."""
        source_text, _, destination = text.partition(":")
        source = Path(source_text)
        if not source.is_file() and not source.is_dir():
            raise InputError(f"--file {text}: {source_text} is not a file or folder")
        destination = destination or source.resolve().name
        if not destination.startswith("/"):
            destination = f"{GUEST_FOLDER}/{destination}"
        if re.search(r"(^|/)\.\.(/|$)|[\x00-\x1f]", destination):
            raise InputError(f"--file {text}: {destination!r} is not a path in the guest")
        if source.is_dir():
            for member in _members(source):
                self.add_any(member, f"{destination}/{member.relative_to(source)}")
        else:
            self.add_any(source, destination)

    def add_named(self, words: Sequence[str]) -> None:
        """Files and folders of this machine that words of COMMAND name: they have the same path in
        the guest, whose current folder is GUEST_FOLDER. Folders only below the current one here:
        others (``/tmp``) are places in the guest. Raises InputError for too large a folder."""
        for word in words:
            if not word or "\0" in word or len(word) > 4096:
                continue
            source = Path(word)
            target = guest_place(word)
            try:
                mode = source.stat().st_mode
            except OSError:
                continue
            if _OWN.match(target) or target in self.by_path:
                continue
            if stat.S_ISREG(mode):
                self.add_any(source, target)
            elif stat.S_ISDIR(mode) and target.startswith(f"{GUEST_FOLDER}/") and word[0] != "/":
                self._add_folder(source, target)

    def _add_folder(self, folder: Path, target: str) -> None:
        size = 0
        for number, member in enumerate(_members(folder)):
            size += member.stat().st_size
            if size > _MAX_FOLDER or number >= _MAX_MEMBERS:
                raise InputError(
                    f"the folder {folder} of COMMAND is too large to travel into guests by itself "
                    f"(more than {_MAX_FOLDER >> 20} MiB or {_MAX_MEMBERS:,} files): name it by a "
                    f"path that is not here, and give what the workload needs with --file SRC:DEST"
                )
            self.add_any(member, f"{target}/{member.relative_to(folder)}")


def guest_place(word: str) -> str:
    """Where a word of COMMAND leads in the guest: a relative one from GUEST_FOLDER on."""
    # join() takes an absolute word as it is; two slashes at the start would stay.
    return re.sub("^//", "/", os.path.normpath(os.path.join(GUEST_FOLDER, word)))  # noqa: PTH118


def _members(folder: Path) -> Iterator[Path]:
    """The regular files below a folder, in a fixed order; links to folders are not followed."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            path = Path(place, name)
            if path.is_file():
                yield path


def sha256(path: Path) -> str:
    """Hash of a file's content, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
