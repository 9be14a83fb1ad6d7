"""What a dynamically linked program needs to start: its interpreter and its shared libraries.

Found as ld.so(8) does it, but by reading the files only: a program is never executed for it.

ld.so's cache: where libraries are that lie in none of ld.so's own folders.

A root folder may have no cache yet, or a large one; so what ldconfig(8) makes it of is read, and a
guest gets a cache of just the libraries that travel into it. Format: glibc, elf/cache.c and
sysdeps/generic/dl-cache.h (``struct cache_file_new``).
"""

import fnmatch
import os
import re
import struct
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.collectors.architecture import Architecture, host, named
from profdiff.collectors.workload.elf import Elf, read_elf
from profdiff.collectors.workload.root import THIS_MACHINE, Root, guest_place

CACHE = "/etc/ld.so.cache"
_CONFIGURATION = "/etc/ld.so.conf"
_MAX_SIZE, _MAX_FILES, _MAX_CONF_FOLDERS = 64 << 10, 200, 100
_HEADER = struct.Struct("<17s3sIIB3xI12x")
_ENTRY = struct.Struct("<iIIIQ")
_LITTLE_ENDIAN = 2


@cache
def of_this_machine() -> dict[str, Path]:
    """As ``ldconfig -p`` prints it: name to path, the first of each name."""
    try:
        listing = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return {}
    libraries: dict[str, Path] = {}
    for line in listing.splitlines():
        if match := re.match(rf"\s*(\S+) \(.*{host().ldconfig}.*\) => (/\S+)$", line):
            libraries.setdefault(match[1], Path(match[2]))
    return libraries


@cache
def folders(root: Root) -> tuple[str, ...]:
    """Those that a root folder's ld.so.conf names, in its order; what cannot be read names none."""
    found: dict[str, None] = {}
    pending, left = _lines(root, _CONFIGURATION)[::-1], _MAX_FILES
    while pending and len(found) < _MAX_CONF_FOLDERS:
        words = pending.pop().partition("#")[0].split()
        if words[:1] == ["include"]:
            patterns = words[1 : 1 + left]
            files = [file for pattern in patterns for file in _matching(root, pattern)][:left]
            left -= len(files)
            pending += [line for file in files for line in _lines(root, file)][::-1]
        elif words and words[0].startswith("/"):
            found[words[0].rstrip("/")] = None
    return tuple(found)


def _lines(root: Root, guest_path: str) -> list[str]:
    source = root.find(guest_path)
    try:
        return bounded.read(source, _MAX_SIZE).decode().splitlines() if source else []
    except (OSError, UnicodeDecodeError):
        return []


def _matching(root: Root, pattern: str) -> Iterator[str]:
    """The files of an ``include``, whose last part may hold wildcards."""
    folder, _, last = pattern.rpartition("/")
    folder = folder if folder.startswith("/") else f"/etc/{folder}"
    place = root.folder(folder)
    try:
        names = sorted(path.name for path in place.iterdir()) if place else []
    except OSError:
        names = []
    for name in fnmatch.filter(names, last)[:_MAX_FILES]:
        yield f"{folder}/{name}"


def made(libraries: Mapping[str, str], architecture: Architecture) -> bytes:
    """A cache of ``libraries``, name to path."""
    # ld.so searches by halves.
    names = sorted(libraries, key=_order, reverse=True)
    texts = [os.fsencode(text) + b"\0" for name in names for text in (name, libraries[name])]
    offset = _HEADER.size + len(names) * _ENTRY.size
    offsets = []
    for text in texts:
        offsets.append(offset)
        offset += len(text)
    strings = b"".join(texts)
    header = _HEADER.pack(b"glibc-ld.so.cache", b"1.1", len(names), len(strings), _LITTLE_ENDIAN, 0)
    entries = b"".join(
        _ENTRY.pack(architecture.loader_flags, name, path, 0, 0)
        for name, path in zip(offsets[::2], offsets[1::2], strict=True)
    )
    return header + entries + strings


def _order(name: str) -> list[tuple[int, int]]:
    """As ``_dl_cache_libcmp()``: numbers by their value, and behind all other characters."""
    parts = re.findall(rb"[0-9]+|[^0-9]", os.fsencode(name), re.DOTALL)
    return [(1, int(part)) if part.isdigit() else (0, part[0]) for part in parts]


# ld.so's own, beside Debian's multiarch layout.
_DEFAULT_FOLDERS = ("/lib64", "/usr/lib64", "/lib", "/usr/lib")
# The most files of one program; a web browser has some 200.
_MAX_LIBRARIES = 1_000
_MAX_FOLDERS = 100


@dataclass(frozen=True)
class Needed:
    """A file that a program needs: ``guest_path`` is where it is looked for, ``source`` the file
    here. ``name``: what ld.so looks for in its cache and its folders; None for an interpreter, and
    for a library that is found by a path. ``by_variable``: LD_LIBRARY_PATH leads to it here, which
    guests do not have."""

    guest_path: str
    source: Path
    name: str | None = None
    by_variable: bool = False


class NotFoundError(InputError):
    """Something that a program needs is not in a root folder: ``name``."""

    def __init__(self, message: str, name: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(frozen=True)
class _Loader:
    """An ELF file that needs others, at ``guest_path``. It was found at ``path``, which is one of
    this machine if ``is_own``, and else one in the root folder: that may be a stranger's, and gets
    nothing from outside it."""

    elf: Elf
    guest_path: str
    path: str
    is_own: bool


def closure(program: Elf, root: Root = THIS_MACHINE, guest_path: str | None = None) -> list[Needed]:
    """The interpreter and all shared libraries of ``program``, as ld.so finds them if ``root`` is
    its ``/``; ``guest_path``: where the program is, if that is another place than here.

    Raises NotFoundError when one of them is not there, and InputError when it is damaged.
    """
    found: dict[str, Needed] = {}
    if program.interpreter:
        source = root.find(program.interpreter)
        if source is None:
            raise NotFoundError(
                f"{program.path} needs the interpreter {program.interpreter}, which is not "
                f"{_place(root)}: link the workload statically",
                program.interpreter,
            )
        found[program.interpreter] = Needed(program.interpreter, source)
    names = {Path(name).name for name in found}
    first = _first(program, root, guest_path)
    pending = [first]
    while pending:
        by = pending.pop()
        for name in by.elf.needed:
            if name in names:
                continue
            names.add(name)
            if len(names) > _MAX_LIBRARIES:
                raise InputError(f"{program.path} needs more than {_MAX_LIBRARIES:,} libraries")
            needed, library = _find(name, by, first, root)
            found[needed.guest_path] = needed
            pending.append(library)
    return list(found.values())


def _first(program: Elf, root: Root, guest_path: str | None) -> _Loader:
    # The kernel tells ld.so where a program really is, links followed.
    real = program.path.resolve()
    inside = None if root.is_here else root.holds(real)
    place = guest_path or inside or str(program.path)
    return _Loader(program, place, inside or str(real), is_own=inside is None)


def _find(name: str, by: _Loader, program: _Loader, root: Root) -> tuple[Needed, _Loader]:
    variable = _of_variable(name, root)
    for path, is_usual in _paths(name, by, program, root):
        for guest_path, there, source, is_own in _files(path, by, root):
            elf = read_elf(source)
            if elf and elf.machine == program.elf.machine:
                led = path in variable
                needed = Needed(guest_path, source, name if is_usual or led else None, led)
                return needed, _Loader(elf, guest_path, there, is_own)
    raise NotFoundError(
        f"{by.elf.path} needs the shared library {name}, which is not {_place(root)}: "
        + ("install it, name its folder in LD_LIBRARY_PATH" if root.is_here else "install it there")
        + ", or link the workload statically",
        name,
    )


def _paths(name: str, by: _Loader, program: _Loader, root: Root) -> Iterator[tuple[str, bool]]:
    """Where ld.so looks for a library, in its order; whether that is a folder of ld.so's own."""
    if "/" in name:
        yield name, False
        return
    # RPATH counts only where there is no RUNPATH, and the program's own also for its libraries.
    rpath = *by.elf.rpath, *(program.elf.rpath if not program.elf.runpath else ())
    for folder in () if by.elf.runpath else rpath:
        yield f"{folder or '.'}/{name}", False
    for path in _of_variable(name, root):
        yield path, False
    for folder in by.elf.runpath:
        yield f"{folder or '.'}/{name}", False
    for folder in () if root.is_here else folders(root):
        yield f"{folder}/{name}", True
    if known := named(program.elf.machine):
        yield f"/lib/{known.triplet}/{name}", True
        yield f"/usr/lib/{known.triplet}/{name}", True
    for folder in _DEFAULT_FOLDERS:
        yield f"{folder}/{name}", True
    if root.is_here and (cached := of_this_machine().get(name)):
        yield str(cached), True


def _of_variable(name: str, root: Root) -> list[str]:
    """Where LD_LIBRARY_PATH leads to a library of this machine."""
    value = os.environ.get("LD_LIBRARY_PATH", "") if root.is_here else ""
    folders = re.split("[:;]", value) if value else []
    return [f"{Path(folder).absolute()}/{name}" for folder in folders[:_MAX_FOLDERS]]


def _files(path: str, by: _Loader, root: Root) -> Iterator[tuple[str, str, Path, bool]]:
    """The files to which a path leads that ``by`` names: where that is in the guest, the path
    where the file was found, the file, and whether that is one of this machine."""
    guest_path = guest_place(_expanded(path, by.guest_path))
    there = _expanded(path, by.path)
    # What lies beside the user's own program is not in the root folder.
    in_root = there.startswith("/") and (root.is_here or not by.is_own or there == path)
    if in_root and (source := root.find(there)):
        yield guest_path, there, source, root.is_here
    if by.is_own and os.path.isfile(there):  # noqa: PTH113 - False for a name that is too long
        yield guest_path, there, Path(there), True


def _expanded(path: str, of: str) -> str:
    folder = os.path.dirname(of)  # noqa: PTH120 - may be a path in the guest
    return path.replace("${ORIGIN}", folder).replace("$ORIGIN", folder)


def _place(root: Root) -> str:
    return "here" if root.is_here else f"in {root.path}"
