"""What ELF files say of what they need, read without executing anything."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeVar

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.terminal import short

T = TypeVar("T")

# Bytes that are read of one file, and the least that a read counts for: 65,536 sections, as many as
# an ELF header can count, take half of it.
_MAX_BYTES, _MIN_BYTES = 8 << 20, 64
# Libraries, and folders of a run path: each is looked for in each.
_MOST_NAMES = 1_000


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
    """Read the dynamic section of ``path``; None if it is not an ELF file.

    Raises InputError when it begins like one but is damaged.
    """
    return _opened(path, lambda elf: _read(path, elf))


def defined_functions(path: Path) -> set[str]:
    """The functions that the object file ``path`` defines for others. Raises InputError when it is
    damaged."""
    return _opened(path, _functions) or set()


def _opened(path: Path, read: Callable[[ELFFile], T]) -> T | None:
    try:
        file = bounded.open_regular(path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    with file:
        if file.read(4) != b"\x7fELF":
            return None
        try:
            return read(ELFFile(_Bounded(file)))
        # pyelftools raises what it comes upon: its own errors, construct's, TypeError, IndexError.
        except Exception as error:
            why = short(str(error)) or type(error).__name__
            raise InputError(f"{path} is a damaged ELF file: build it again ({why})") from error


class _Bounded:
    """What pyelftools reads a file through: counts and offsets of a damaged one lead it anywhere,
    again and again."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._left = file, _MAX_BYTES
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        self._left -= max(size, _MIN_BYTES)
        if size < 0 or self._left < 0:
            raise ValueError("its tables are too large")
        return self._file.read(size)


def _functions(elf: ELFFile) -> set[str]:
    return {
        symbol.name
        for section in elf.iter_sections("SHT_SYMTAB")
        if isinstance(section, SymbolTableSection)
        for symbol in section.iter_symbols()
        if symbol.entry.st_info.type == "STT_FUNC"
        and symbol.entry.st_info.bind in ("STB_GLOBAL", "STB_WEAK")
        and symbol.entry.st_shndx != "SHN_UNDEF"
    }


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
    if max(map(len, tags.values())) > _MOST_NAMES:
        raise ValueError("it names too many libraries or folders")
    return Elf(
        path=path,
        # A number where it has no name.
        machine=str(elf["e_machine"]),
        interpreter=interpreter,
        needed=tuple(tags["DT_NEEDED"]),
        runpath=tuple(tags["DT_RUNPATH"]),
        rpath=tuple(tags["DT_RPATH"]),
    )
