"""What a dynamically linked program needs to start: its interpreter and its shared libraries.

Found as ld.so(8) does it, but by reading the files only: a program is never executed for it.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import host, named
from profdiff.collectors.messages import short

# ld.so's own, beside Debian's multiarch layout.
_DEFAULT_FOLDERS = ["lib64", "usr/lib64", "lib", "usr/lib"]
_THIS_MACHINE = Path("/")
# Bytes that are read of one file, and the least that a read counts for: 65,536 sections, as many as
# an ELF header can count, take half of it.
_MOST, _LEAST = 8 << 20, 64


@dataclass(frozen=True)
class Elf:
    """What matters of one ELF file. ``machine`` is as ELF names it: ``EM_X86_64``."""

    path: Path
    machine: str
    interpreter: str | None
    needed: tuple[str, ...]
    runpath: tuple[str, ...]
    rpath: tuple[str, ...]


def read_elf(path: Path) -> Elf | None:
    """Read the dynamic section of ``path``; None if it is no ELF file.

    Raises InputError when it begins like one but is damaged.
    """
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    with file:
        if file.read(4) != b"\x7fELF":
            return None
        try:
            return _read(path, ELFFile(_Bounded(file)))
        # pyelftools raises what it comes upon: its own errors, construct's, TypeError, IndexError.
        except Exception as error:
            why = short(str(error)) or type(error).__name__
            raise InputError(f"{path} is a damaged ELF file: build it again ({why})") from error


class _Bounded:
    """What pyelftools reads a file through: counts and offsets of a damaged one lead it anywhere,
    again and again."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, _MOST
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        self._left -= max(size, _LEAST)
        if size < 0 or self._left < 0:
            raise ValueError("its tables are too large")
        return self._file.read(size)


def _read(path: Path, elf: ELFFile) -> Elf:
    interpreter: str | None = None
    tags: dict[str, list[str]] = {"DT_NEEDED": [], "DT_RUNPATH": [], "DT_RPATH": []}
    for segment in elf.iter_segments("PT_INTERP"):
        interpreter = segment.get_interp_name()
    for section in elf.iter_sections("SHT_DYNAMIC"):
        if not isinstance(section, DynamicSection):
            continue
        for tag in section.iter_tags():
            if tag.entry.d_tag == "DT_NEEDED":
                tags["DT_NEEDED"].append(tag.needed)
            elif tag.entry.d_tag == "DT_RUNPATH":
                tags["DT_RUNPATH"] += tag.runpath.split(":")
            elif tag.entry.d_tag == "DT_RPATH":
                tags["DT_RPATH"] += tag.rpath.split(":")
    return Elf(
        path=path,
        # A number where it has no name.
        machine=str(elf["e_machine"]),
        interpreter=interpreter,
        needed=tuple(tags["DT_NEEDED"]),
        runpath=tuple(tags["DT_RUNPATH"]),
        rpath=tuple(tags["DT_RPATH"]),
    )


def closure(program: Elf, root: Path = _THIS_MACHINE) -> list[Path]:
    """The interpreter and all shared libraries of ``program``, at the paths where ld.so finds them
    if ``root`` is its /.

    Raises InputError when one of them is not there.
    """
    found: dict[str, Path] = {}
    if program.interpreter:
        interpreter = root / program.interpreter.lstrip("/")
        found[program.interpreter] = interpreter
        if not os.path.exists(interpreter):  # noqa: PTH110 - False for a name that is too long
            raise InputError(
                f"{program.path} needs the interpreter {program.interpreter}, which is not here: "
                "link the workload statically"
            )
    names = {Path(name).name for name in found}
    pending = [program]
    while pending:
        elf = pending.pop()
        for name in elf.needed:
            if name in names:
                continue
            library = _find(name, elf, program, root)
            names.add(name)
            found[str(library.path)] = library.path
            pending.append(library)
    return list(found.values())


def _find(name: str, by: Elf, program: Elf, root: Path) -> Elf:
    for folder in _folders(by, program, root):
        candidate = Path(name) if "/" in name else folder / name
        if os.path.isfile(candidate):  # noqa: PTH113 - the same
            elf = read_elf(candidate)
            if elf and elf.machine == program.machine:
                return elf
    cached = _cached_libraries().get(name) if root == _THIS_MACHINE else None
    if cached and (elf := read_elf(cached)) and elf.machine == program.machine:
        return elf
    raise InputError(
        f"{by.path} needs the shared library {name}, which is not here: install it, or link the "
        "workload statically"
    )


def _folders(by: Elf, program: Elf, root: Path) -> Iterator[Path]:
    # RPATH counts only where there is no RUNPATH, and the program's own also for its libraries.
    searched = by.runpath or (*by.rpath, *(program.rpath if not program.runpath else ()))
    origin = str(by.path.resolve().parent)
    for folder in searched:
        yield Path(folder.replace("${ORIGIN}", origin).replace("$ORIGIN", origin))
    if known := named(program.machine):
        yield root / f"lib/{known.triplet}"
        yield root / f"usr/lib/{known.triplet}"
    for folder in _DEFAULT_FOLDERS:
        yield root / folder


@cache
def _cached_libraries() -> dict[str, Path]:
    """ld.so's cache, as ``ldconfig -p`` prints it: name to path, the first of each name."""
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
