"""The chains of a kernel's addresses: its debug ELF, its modules', and kallsyms for the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import Kallsyms, SymbolIndex, place_module, reasons
from profdiff.symbolization.merge import Merge, Positions

#: The only reason of an ELF file after which kallsyms is asked. Between the symbols of a known text
#: kallsyms, which has no sizes, would just give the function before.
OUTSIDE_TEXT = reasons().index("outside-text")
HIDDEN_KERNEL = reasons().index("hidden-kernel")

ModuleFiles = Mapping[str, Path] | Callable[[str], Path | None]


@dataclass(frozen=True)
class KernelSymbols:
    """What is at hand of one running kernel: its debug ELF; its /proc/kallsyms; lines of "module
    section address"; the debug ELF of a module by the module's name."""

    debug_elf: Path | None = None
    kallsyms: bytes = b""
    module_files: ModuleFiles = field(default_factory=dict)
    sections: bytes = b""

    def resolve(
        self,
        merge: Merge,
        where: Positions,
        addresses: NDArray[np.uint64],
        cache: Path | None,
        displacement: Callable[[SymbolIndex], int | None] | None = None,
    ) -> bool:
        """Resolve ``addresses[where]`` (avma); true if inlined functions are visible.

        ``displacement`` tells what KASLR added where kallsyms does not; without it the kernel is
        taken to lie where it was linked. Raises NativeError.
        """
        symbols = Kallsyms(self.kallsyms)
        left, inlines = where, False
        if self.debug_elf is not None:
            index = open_index(self.debug_elf, cache)
            moved = symbols.displacement(index)
            if moved is None and displacement is not None:
                moved = displacement(index)
            if moved is None and displacement is not None:
                # Anything else would name functions that never ran.
                merge.fail(where, np.full(len(where), HIDDEN_KERNEL, np.uint8))
                return index.has_inlines
            # A guest without KASLR lies where it was linked.
            resolution = index.resolve(addresses[where] - np.uint64(moved or 0))
            merge.add(where, resolution, "vmlinux")
            left, inlines = where[resolution.reason == OUTSIDE_TEXT], index.has_inlines
        left = self._modules(merge, left, addresses, symbols, cache)
        _kallsyms(merge, left, addresses, symbols)
        return inlines

    def _modules(
        self,
        merge: Merge,
        where: Positions,
        addresses: NDArray[np.uint64],
        symbols: Kallsyms,
        cache: Path | None,
    ) -> Positions:
        """Resolve by the modules' debug ELF files. Returns the positions that are left."""
        find = self.module_files if callable(self.module_files) else self.module_files.get
        owners = symbols.owners(addresses[where])
        names = symbols.modules()
        left = [where[owners <= 0]]
        # Not np.unique, which loads numpy.ma: a tenth of the start of a small report.
        for owner in np.flatnonzero(np.bincount(owners[owners > 0])):
            mine, name = where[owners == owner], names[owner]
            path = find(name)
            if path is None:
                left.append(mine)
                continue
            index = open_index(path, cache)
            svma = np.zeros(len(mine), dtype=np.uint64)
            avma = addresses[mine]
            for start, size, loaded in place_module(index, name, symbols, self.sections):
                inside = (avma >= np.uint64(loaded)) & (avma < np.uint64(loaded + size))
                svma[inside] = avma[inside] - np.uint64(loaded) + np.uint64(start)
            resolution = index.resolve(svma)
            merge.add(mine, resolution, name)
            left.append(mine[resolution.reason == OUTSIDE_TEXT])
        return np.sort(np.concatenate(left))


def _kallsyms(
    merge: Merge, where: Positions, addresses: NDArray[np.uint64], symbols: Kallsyms
) -> None:
    """Resolve by kallsyms alone: no debug ELF, or code that the kernel made (BPF, ftrace)."""
    owners = symbols.owners(addresses[where])
    names = symbols.modules()
    # Only those that are there: a kallsyms may name any number of modules.
    for owner in np.flatnonzero(np.bincount(owners[owners >= 0])):
        mine = where[owners == owner]
        merge.add(mine, symbols.resolve(addresses[mine]), names[owner] or "vmlinux")
    unowned = where[owners < 0]
    # What the debug ELF said of them (no symbol, outside its text) says more than kallsyms' "no".
    unsaid = unowned[merge.reason[unowned] == 0]
    merge.add(unsaid, symbols.resolve(addresses[unsaid]), "vmlinux")


def open_index(path: Path, cache: Path | None) -> SymbolIndex:
    """The symbol index of an ELF file, through the cache folder if given. Raises NativeError."""
    return SymbolIndex.open(str(path), None if cache is None else str(cache))
