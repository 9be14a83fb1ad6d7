"""The text of an ELF file's sections, read once by a process that asks again and again: a debug ELF
is compressed whole, so that each reading unpacks it.

Where the code of a running kernel and its modules is, and which files have it.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import (
    Kallsyms,
    NativeError,
    SymbolIndex,
    elf_build_id,
    elf_code,
    place_module,
)
from profdiff.symbolization.kernel_chains import KernelSymbols, open_index, open_whole
from profdiff.symbolization.places import Places

# The room for sections that are kept: all of a kernel's, and those of a few kernels.
_MAX_KEPT, _MOST_KEPT = 48 << 20, 6


def texts(
    path: Path, section: int, size: int, starts: NDArray[np.uint64], sizes: NDArray[np.uint64]
) -> Sequence[bytes]:
    """The bytes of ranges (svma) of the section of ``size`` bytes at ``section``; b"" of one that
    the file does not have whole. Raises NativeError."""
    if size > _MAX_KEPT:
        return elf_code(str(path), starts, sizes)
    whole = _text(str(path), *_state(path), section, size)
    if not whole:
        return elf_code(str(path), starts, sizes)
    firsts = (starts - np.uint64(section)).astype(np.int64).tolist()
    lengths = sizes.astype(np.int64).tolist()
    return [
        whole[first : first + length] if first >= 0 and first + length <= size else b""
        for first, length in zip(firsts, lengths, strict=True)
    ]


def build_id(path: Path) -> str | None:
    """The build id of an ELF file. Raises NativeError."""
    try:
        return _build_id(str(path), *_state(path))
    except OSError:
        return elf_build_id(str(path))


def _state(path: Path) -> tuple[int, int, int]:
    """What another file of that name would not have."""
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


@lru_cache(_MOST_KEPT)
def _text(path: str, number: int, length: int, time: int, section: int, size: int) -> bytes:
    found = elf_code(path, np.array([section], np.uint64), np.array([size], np.uint64))
    return found[0]


@lru_cache(64)
def _build_id(path: str, number: int, length: int, time: int) -> str | None:
    return elf_build_id(path)


class LoadedPart(msgspec.Struct, frozen=True):
    """A section with code: where the ELF file has it, and where the kernel put it."""

    path: Path
    index: SymbolIndex
    svma: int
    size: int
    avma: int


def loaded_parts(
    symbols: KernelSymbols,
    kallsyms: Kallsyms,
    places: Places,
    address: NDArray[np.uint64],
    cache: Path | None,
) -> Iterator[LoadedPart]:
    """The sections of the kernel and of the modules that executed, but for modules whose files are
    damaged. Raises NativeError."""
    if symbols.debug_elf is None:
        return
    index = open_whole(symbols.debug_elf, cache)
    moved = symbols.moved(kallsyms, index, places)
    if moved is not None:
        for _, svma, size in index.sections():
            yield LoadedPart(symbols.debug_elf, index, svma, size, (svma + moved) % 2**64)
    owners = kallsyms.owners(address)
    names = kallsyms.modules()
    for owner in np.flatnonzero(np.bincount(owners[owners > 0])).tolist():
        path = symbols.module_file(names[owner])
        module = None
        if path is not None:
            with suppress(NativeError):
                module = open_index(path, cache)
        if path is not None and module is not None and module.unread is None:
            for svma, size, avma in place_module(module, names[owner], kallsyms, symbols.sections):
                yield LoadedPart(path, module, svma, size, avma)
