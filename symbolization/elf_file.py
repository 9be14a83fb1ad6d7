"""What a file that may be an ELF file says of itself, without an error for one that is none."""

from functools import cache
from pathlib import Path

from profdiff.base import bounded
from profdiff.symbolization._native import NativeError, elf_build_id


def is_elf(path: Path) -> bool:
    """Whether that is a file that begins as ELF files do."""
    try:
        return bounded.head(path, 4) == b"\x7fELF"
    except OSError:
        return False


@cache
def build_id_of(path: Path) -> str | None:
    """The build id of an ELF file; None where it has none, or cannot be read. Asked once a file."""
    return _build_id(path)


def has_build_id(path: Path, build_id: str) -> bool:
    """Whether that is an ELF file with that build id, now."""
    return is_elf(path) and _build_id(path) == build_id


@cache
def is_unreadable(path: Path) -> bool:
    """Whether what begins as ELF files do cannot be read as one: it is damaged, or of 32 bits."""
    try:
        elf_build_id(str(path))
    except NativeError:
        return True
    return False


def _build_id(path: Path) -> str | None:
    try:
        return elf_build_id(str(path))
    except NativeError:
        return None
