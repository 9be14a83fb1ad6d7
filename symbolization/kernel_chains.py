"""The chains of a kernel's addresses: its debug ELF, its modules', and kallsyms for the rest."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization._native import (
    Kallsyms,
    KernelMapping,
    NativeError,
    PerfData,
    SymbolIndex,
    SymbolRanges,
    place_module,
    reasons,
)
from profdiff.symbolization.chains import VMLINUX
from profdiff.symbolization.merge import Merge, Positions, reason_column
from profdiff.symbolization.places import Places

#: The only reason of an ELF file after which kallsyms is asked. Between the symbols of a known text
#: kallsyms, which has no sizes, would just give the function before.
OUTSIDE_TEXT = reasons().index("outside-text")
_KERNEL_MAPPING = "[kernel.kallsyms]"

ModuleFiles = Mapping[str, Path] | Callable[[str], Path | None]


class KernelSymbols(msgspec.Struct, frozen=True):
    """What is at hand of one running kernel: its debug ELF; its /proc/kallsyms; lines of "module
    section address"; the debug ELF of a module by the module's name."""

    debug_elf: Path | None = None
    kallsyms: bytes = b""
    module_files: ModuleFiles = msgspec.field(default_factory=dict)
    sections: bytes = b""

    def resolve(self, merge: Merge, places: Places, cache: Path | None) -> None:
        """Resolve the kernel's places. Raises NativeError."""
        where = np.flatnonzero(places.in_kernel)
        if not len(where):
            return
        addresses, mappings = places.address, places.kernel_mappings
        symbols = Kallsyms(self.kallsyms)
        left = where
        if self.debug_elf is not None:
            index = open_whole(self.debug_elf, cache)
            moved = self.moved(symbols, index, places)
            if moved is None:
                # Anything else would name functions that never ran.
                merge.fail(where, reason_column("hidden-kernel", where))
                return
            resolution = index.resolve(addresses[where] - np.uint64(moved))
            merge.add(where, resolution, VMLINUX, inlines=index.has_inlines)
            left = where[resolution.reason == OUTSIDE_TEXT]
        left = self._modules(merge, left, addresses, symbols, cache)
        _kallsyms(merge, left, addresses, symbols)
        if places.kernel_symbols:
            # BPF programs and trampolines: kallsyms may have been read before they were made.
            made = SymbolRanges(list(places.kernel_symbols))
            part = made.resolve(addresses[where])
            hit = where[(part.reason == 0) & (merge.reason[where] != 0)]
            if len(hit):
                merge.add(hit, made.resolve(addresses[hit]), "bpf")
        if mappings and not self.kallsyms:
            self._mapped_modules(merge, where, addresses, mappings, cache)
        if self.debug_elf is None and not self.kallsyms:
            # Nothing says where its text is.
            nameless = where[merge.reason[where] == OUTSIDE_TEXT]
            merge.fail(nameless, reason_column("no-symbol", nameless))

    def moved(self, kallsyms: Kallsyms, index: SymbolIndex, places: Places) -> int | None:
        """By how much the kernel lies behind where it was linked; None if nothing tells."""
        moved = kallsyms.displacement(index)
        if moved is None and places.kernel_mappings is not None:
            return _displacement(places.kernel_mappings, index)
        # A guest without KASLR lies where it was linked.
        return moved or 0

    def _modules(
        self,
        merge: Merge,
        where: Positions,
        addresses: NDArray[np.uint64],
        symbols: Kallsyms,
        cache: Path | None,
    ) -> Positions:
        """Resolve by the modules' debug ELF files. Returns the positions that are left."""
        owners = symbols.owners(addresses[where])
        names = symbols.modules()
        left = [where[owners <= 0]]
        for owner in np.flatnonzero(np.bincount(owners[owners > 0])):
            mine, name = where[owners == owner], names[owner]
            path = self.module_file(name)
            if path is None:
                left.append(mine)
                continue
            index = opened(merge, path, name, cache)
            if index is None:
                left.append(mine)
                continue
            svma = np.zeros(len(mine), dtype=np.uint64)
            avma = addresses[mine]
            for start, size, loaded in place_module(index, name, symbols, self.sections):
                inside = (avma >= np.uint64(loaded)) & (avma < np.uint64(loaded + size))
                svma[inside] = avma[inside] - np.uint64(loaded) + np.uint64(start)
            resolution = index.resolve(svma)
            merge.add(mine, resolution, name, inlines=index.has_inlines)
            left.append(mine[resolution.reason == OUTSIDE_TEXT])
        return np.sort(np.concatenate(left))

    def _mapped_modules(
        self,
        merge: Merge,
        where: Positions,
        addresses: NDArray[np.uint64],
        mappings: Sequence[KernelMapping],
        cache: Path | None,
    ) -> None:
        """Modules by their mappings alone, which begin with the module's .text."""
        for mapping in mappings:
            name = module_name(mapping.name.rsplit("/", 1)[-1].strip("[]"))
            file = self.module_file(name)
            if file is None or mapping.name.startswith(_KERNEL_MAPPING):
                continue
            avma, end = addresses[where], mapping.start + mapping.length
            inside = (avma >= np.uint64(mapping.start)) & (avma < np.uint64(end))
            inside &= merge.reason[where] == OUTSIDE_TEXT
            index = opened(merge, file, name, cache) if inside.any() else None
            if index is None:
                continue
            text = next((section for section in index.sections() if section[0] == ".text"), None)
            if text:
                svma = avma[inside] - np.uint64(mapping.start) + np.uint64(text[1])
                found = index.resolve(svma)
                merge.add(where[inside], found, name, inlines=index.has_inlines)

    def module_file(self, name: str) -> Path | None:
        """The debug ELF of a module."""
        files = self.module_files
        return files(name) if callable(files) else files.get(name)


def module_name(file: str) -> str:
    """The name that scripts/Makefile.lib gives a module: ``nf_nat`` for ``nf-nat.ko.xz``."""
    return file.split(".ko")[0].replace("-", "_")


def kernel_build_id(data: PerfData) -> str | None:
    """The build id of the kernel that was recorded, if the recording says it."""
    for mapping in data.kernel_mappings:
        if mapping.name.startswith(_KERNEL_MAPPING) and mapping.build_id:
            return mapping.build_id
    ids = data.build_ids
    return ids.get(_KERNEL_MAPPING) or ids.get("[kernel.vmlinux]")


def _displacement(mappings: Sequence[KernelMapping], index: SymbolIndex) -> int | None:
    """What KASLR added: where the recording says that ``_text`` or ``_stext`` was, minus where the
    debug ELF has it. None if it does not say (kptr_restrict)."""
    for mapping in mappings:
        symbol = mapping.name.removeprefix(_KERNEL_MAPPING)
        if symbol != mapping.name and symbol and mapping.offset:
            linked = index.symbol_address(symbol)
            if linked is not None:
                return (mapping.offset - linked) % 2**64
    return None


def _kallsyms(
    merge: Merge, where: Positions, addresses: NDArray[np.uint64], symbols: Kallsyms
) -> None:
    """Resolve by kallsyms alone: no debug ELF, or code that the kernel made (BPF, ftrace)."""
    owners = symbols.owners(addresses[where])
    names = symbols.modules()
    # Only those that are there: a kallsyms may name any number of modules.
    for owner in np.flatnonzero(np.bincount(owners[owners >= 0])):
        mine = where[owners == owner]
        merge.add(mine, symbols.resolve(addresses[mine]), names[owner] or VMLINUX)
    unowned = where[owners < 0]
    # What the debug ELF said of them (no symbol, outside its text) says more than kallsyms' "no".
    unsaid = unowned[merge.reason[unowned] == 0]
    merge.add(unsaid, symbols.resolve(addresses[unsaid]), VMLINUX)


def open_index(path: Path, cache: Path | None) -> SymbolIndex:
    """The symbol index of an ELF file, through the cache folder if given. Raises NativeError where
    it is none; symbols serve where its debug information is damaged."""
    return SymbolIndex.open(str(path), None if cache is None else str(cache))


def open_whole(path: Path, cache: Path | None) -> SymbolIndex:
    """That of a kernel, with all of its debug information: everything is measured by it. Raises
    NativeError."""
    index = open_index(path, cache)
    if index.unread is not None:
        raise NativeError(f"{path} is damaged ({index.unread}): copy, download or build it again")
    return index


def opened(merge: Merge, path: Path, name: str, cache: Path | None) -> SymbolIndex | None:
    """That of the file of one object among many, told to ``merge`` by ``name`` if it cannot be read
    as a whole; None if it cannot be at all."""
    try:
        index = open_index(path, cache)
    except NativeError as error:
        merge.tell(name, str(error))
        return None
    if index.unread is not None:
        merge.tell(name, index.unread)
    return index
