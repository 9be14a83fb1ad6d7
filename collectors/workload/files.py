"""The files that travel into guests with a workload, by their place there."""

import hashlib
import os
import re
import shlex
import stat
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError
from profdiff.collectors.architecture import Architecture, told_elf
from profdiff.collectors.workload import elf_closure
from profdiff.collectors.workload.elf import Elf, read_elf
from profdiff.collectors.workload.elf_closure import Needed, NotFoundError, closure
from profdiff.collectors.workload.root import GUEST_FOLDER, OWN, Root, guest_place, usual

# What a folder may hold that COMMAND names, and a file of a root folder's: guests boot from memory.
_MAX_FOLDER, _MAX_MEMBERS = 64 << 20, 2_000
_MAX_FILE = 1 << 30


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

    def __init__(
        self,
        architecture: Architecture,
        sysroot: Root | None = None,
        libraries: str | None = None,
    ) -> None:
        """``libraries``: the guest's folder for those that LD_LIBRARY_PATH leads to here, None for
        where they are here."""
        self.architecture = architecture
        self.sysroot = sysroot
        self._libraries = libraries
        self.roots = (sysroot,) if sysroot else usual(architecture)
        self.by_path: dict[str, GuestFile] = {}
        # Libraries that a guest's ld.so is to find by its cache: name to path.
        self._cached: dict[str, str] = {}
        self._own_cache = False

    def add(self, source: Path, guest_path: str, *, executable: bool, is_code: bool) -> None:
        """Raises InputError."""
        known = self.by_path.get(guest_path)
        if known and known.source.resolve() != source.resolve():
            raise InputError(
                f"{known.source} and {source} would both be {guest_path} in the guest: give one of "
                "them another place with --file SRC:DEST"
            )
        if self.sysroot and self.sysroot.holds(source) and source.stat().st_size > _MAX_FILE:
            raise InputError(f"{source} is too large to travel into guests")
        self.by_path[guest_path] = GuestFile(source, guest_path, executable, is_code)

    def named(self, word: str) -> Path:
        """What a path is that a user names: an absolute one begins at the root folder where that
        has such a file, else on this machine."""
        found = self.sysroot.find(word) if self.sysroot and word.startswith("/") else None
        return found or Path(word)

    def find(self, guest_path: str) -> Path | None:
        """The file that is an absolute path of the guest's in the folders where programs are."""
        return next((found for root in self.roots if (found := root.find(guest_path))), None)

    def add_closure(self, elf: Elf, guest_path: str) -> None:
        """What a program of the guest's needs to start. Raises InputError."""
        self._check(elf)
        root, needed = self._closure(elf, guest_path)
        as_here = root.is_here and self.architecture.is_host
        for one in needed:
            moved = self._libraries and one.by_variable
            place = f"{self._libraries}/{one.name}" if moved else one.guest_path
            self.add(one.source, place, executable=True, is_code=True)
            if one.name:
                self._cached.setdefault(one.name, place)
        # A guest finds by a cache of its own what a variable leads to here.
        self._own_cache |= not as_here or any(one.by_variable for one in needed)
        cache = Path(elf_closure.CACHE)
        if needed and as_here and cache.exists():
            self.add(cache, str(cache), executable=False, is_code=False)

    def _check(self, elf: Elf) -> None:
        if elf.machine == self.architecture.elf:
            return
        told, arch = self.architecture.told, self.architecture.arch
        fix = "" if self.sysroot else f"--sysroot {arch}=DIR, a root folder of {told} programs, "
        raise InputError(
            f"{elf.path} is a program for {told_elf(elf.machine)}, the guest is {told}: give {fix}"
            f"its .c file, or a program built for {told}"
        )

    def _closure(self, elf: Elf, guest_path: str) -> tuple[Root, list[Needed]]:
        missing = []
        for root in self.roots:
            try:
                return root, closure(elf, root, guest_path)
            except NotFoundError as error:
                missing.append(error)
        if self.sysroot or self.architecture.is_host:
            raise missing[0]
        raise InputError(
            f"{elf.path} is dynamically linked, and its {missing[0].name} for "
            f"{self.architecture.told} is not here: give --sysroot {self.architecture.arch}=DIR, a "
            "root folder that has it, or link it statically"
        )

    def add_loader_cache(self, folder: Path) -> None:
        """What a guest's ld.so finds libraries of a root folder by, made below ``folder``."""
        known = self.by_path.get(elf_closure.CACHE)
        is_machines = known is None or known.source == Path(elf_closure.CACHE)
        if not self._cached or not self._own_cache or not is_machines:
            return
        self.by_path.pop(elf_closure.CACHE, None)
        data = elf_closure.made(self._cached, self.architecture)
        path = folder / hashlib.sha256(data).hexdigest()[:16] / "ld.so.cache"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, data, durable=False)
        self.add(path, elf_closure.CACHE, executable=False, is_code=False)

    def add_any(self, source: Path, guest_path: str) -> None:
        """A file of any kind; of a program also what it links. Raises InputError."""
        source = self._within(source)
        elf = read_elf(source)
        executable = bool(source.stat().st_mode & 0o111)
        self.add(source, guest_path, executable=executable, is_code=elf is not None)
        if elf and elf.machine == self.architecture.elf and (elf.interpreter or elf.needed):
            self.add_closure(elf, guest_path)

    def _within(self, source: Path) -> Path:
        """A file that a path names, whose links do not lead out of the root folder that it is in.
        Raises InputError."""
        place = self.sysroot and self.sysroot.holds(source)
        if not self.sysroot or not place:
            return source
        found = self.sysroot.find(place)
        if found is None:
            raise InputError(f"{source} is not a file of the root folder {self.sysroot.path}")
        return found

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

    def add_named(self, words: Sequence[str], without: Collection[str] = ()) -> list[str]:
        """Files and folders of this machine that words of COMMAND name, but those of ``without``:
        they have the same path in the guest, whose current folder is GUEST_FOLDER. Folders only
        below the current one here: others (``/tmp``) are places in the guest. A bare word need not
        mean the folder of its name: such folders stay here, and are returned. Raises InputError for
        too large a folder."""
        stay: list[str] = []
        for word in words:
            if not word or "\0" in word or len(word) > 4096 or word in without:
                continue
            source = self.named(word)
            target = guest_place(word)
            try:
                mode = source.stat().st_mode
            except OSError:
                continue
            if OWN.match(target) or target in self.by_path:
                continue
            if stat.S_ISREG(mode):
                self.add_any(source, target)
            elif stat.S_ISDIR(mode) and target.startswith(f"{GUEST_FOLDER}/") and word[0] != "/":
                if "/" in word:
                    self._add_folder(word, source, target)
                elif word not in stay:
                    stay.append(word)
        return stay

    def _add_folder(self, word: str, folder: Path, target: str) -> None:
        size = 0
        for number, member in enumerate(_members(folder)):
            size += member.stat().st_size
            if size > _MAX_FOLDER or number >= _MAX_MEMBERS:
                raise InputError(
                    f"the folder {folder} of COMMAND is too large to travel into guests by itself "
                    f"(more than {_MAX_FOLDER >> 20} MiB or {_MAX_MEMBERS:,} files): leave it here "
                    f"with --no-file {shlex.quote(word)}, and give what the workload needs with "
                    "--file SRC:DEST"
                )
            self.add_any(member, f"{target}/{member.relative_to(folder)}")


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
