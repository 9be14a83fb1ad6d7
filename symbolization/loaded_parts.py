"""Where the code of a running kernel and its modules is, and which files have it."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import Kallsyms, SymbolIndex, place_module
from profdiff.symbolization.kernel_chains import KernelSymbols, open_index
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
    """The sections of the kernel and of the modules that executed. Raises NativeError."""
    if symbols.debug_elf is None:
        return
    index = open_index(symbols.debug_elf, cache)
    moved = symbols.moved(kallsyms, index, places)
    if moved is not None:
        for _, svma, size in index.sections():
            yield LoadedPart(symbols.debug_elf, index, svma, size, (svma + moved) % 2**64)
    owners = kallsyms.owners(address)
    names = kallsyms.modules()
    for owner in np.flatnonzero(np.bincount(owners[owners > 0])).tolist():
        path = symbols.module_file(names[owner])
        if path is not None:
            module = open_index(path, cache)
            for svma, size, avma in place_module(module, names[owner], kallsyms, symbols.sections):
                yield LoadedPart(path, module, svma, size, avma)
