"""Where the code of a running kernel and its modules is, and which files have it."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import Kallsyms, NativeError, SymbolIndex, place_module
from profdiff.symbolization.kernel_chains import KernelSymbols, open_index, open_whole
from profdiff.symbolization.places import Places


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
