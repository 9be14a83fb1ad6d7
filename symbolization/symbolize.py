"""The chains of all addresses of a run: kernel, modules, programs and libraries."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profdiff._native import (
    Kallsyms,
    NativeError,
    SymbolIndex,
    place_module,
    place_user,
    reasons,
)
from profdiff.errors import InputError
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.merge import Merge, Positions

#: Addresses from here on are the kernel's, on x86-64 and arm64.
KERNEL_HALF = np.uint64(1 << 63)

#: The only reason of an ELF file after which kallsyms is asked. Between the symbols of a known text
#: kallsyms, which has no sizes, would just give the function before.
OUTSIDE_TEXT = reasons().index("outside-text")

ModuleFiles = Mapping[str, Path] | Callable[[str], Path | None]


def symbolize(
    addresses: NDArray[np.uint64],
    code: NDArray[np.uint8],
    *,
    debug_elf: Path | None,
    kallsyms: bytes,
    module_files: ModuleFiles,
    sections: bytes | None,
    user_files: Mapping[str, Path],
    cache: Path | None,
) -> Chains:
    """The chain of each of N addresses (avma).

    ``code`` has N rows of 16 bytes: the length of the instruction at the address, then its bytes;
    zeros for the kernel's addresses. ``kallsyms`` is the guest's /proc/kallsyms; ``sections`` are
    lines of "module section address" where the guest gave them; ``module_files`` gives the debug
    ELF of a module by the module's name; ``user_files`` gives for each path in the guest the file
    that travelled there (what is no ELF file is passed over; the guest's vDSO may be among them).
    ``cache`` is the folder of symbol indexes.

    Without ``debug_elf`` the kernel's chains have one frame each, from kallsyms alone, and
    ``inlines_visible`` is false. Raises InputError when a file is damaged or no ELF file.
    """
    addresses = np.ascontiguousarray(addresses, dtype=np.uint64)
    merge = Merge(addresses)
    kernel = addresses >= KERNEL_HALF
    inlines = False
    try:
        symbols = Kallsyms(kallsyms)
        where = np.flatnonzero(kernel)
        left, inlines = _kernel(merge, where, addresses, debug_elf, symbols, cache)
        left = _modules(merge, left, addresses, symbols, module_files, sections or b"", cache)
        _kallsyms(merge, left, addresses, symbols)
        _user(merge, np.flatnonzero(~kernel), addresses, code, user_files, cache)
    except NativeError as error:
        raise InputError(str(error)) from error
    return merge.finish(inlines)


def _kernel(
    merge: Merge,
    where: Positions,
    addresses: NDArray[np.uint64],
    debug_elf: Path | None,
    symbols: Kallsyms,
    cache: Path | None,
) -> tuple[Positions, bool]:
    """Resolve by the debug ELF. Returns the positions that are left, and if inlines are visible."""
    if debug_elf is None:
        return where, False
    index = _open(debug_elf, cache)
    # Without symbols from the guest its kernel can only be taken to lie where it was linked.
    displacement = np.uint64(symbols.displacement(index) or 0)
    resolution = index.resolve(addresses[where] - displacement)
    merge.add(where, resolution, "vmlinux")
    return where[resolution.reason == OUTSIDE_TEXT], index.has_inlines


def _modules(
    merge: Merge,
    where: Positions,
    addresses: NDArray[np.uint64],
    symbols: Kallsyms,
    files: ModuleFiles,
    sections: bytes,
    cache: Path | None,
) -> Positions:
    """Resolve by the modules' debug ELF files. Returns the positions that are left."""
    find = files if callable(files) else files.get
    owners = symbols.owners(addresses[where])
    names = symbols.modules()
    left = [where[owners <= 0]]
    for owner in np.unique(owners[owners > 0]):
        mine, name = where[owners == owner], names[owner]
        path = find(name)
        if path is None:
            left.append(mine)
            continue
        index = _open(path, cache)
        svma = np.zeros(len(mine), dtype=np.uint64)
        avma = addresses[mine]
        for start, size, loaded in place_module(index, name, symbols, sections):
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
    for owner, name in enumerate(symbols.modules()):
        mine = where[owners == owner]
        if len(mine):
            merge.add(mine, symbols.resolve(addresses[mine]), name or "vmlinux")
    unowned = where[owners < 0]
    # What the debug ELF said of them (no symbol, outside its text) says more than kallsyms' "no".
    unsaid = unowned[merge.reason[unowned] == 0]
    merge.add(unsaid, symbols.resolve(addresses[unsaid]), "vmlinux")


def _user(
    merge: Merge,
    where: Positions,
    addresses: NDArray[np.uint64],
    code: NDArray[np.uint8],
    files: Mapping[str, Path],
    cache: Path | None,
) -> None:
    elf_files = {guest: path for guest, path in files.items() if _is_elf(path)}
    paths = [str(path) for path in elf_files.values()]
    mine = np.ascontiguousarray(code[where], dtype=np.uint8)
    owners, svma, reason = place_user(paths, addresses[where], mine)
    merge.fail(where[reason != 0], reason[reason != 0])
    for owner, (guest, path) in enumerate(elf_files.items()):
        inside = (reason == 0) & (owners == owner)
        if inside.any():
            resolution = _open(path, cache).resolve(svma[inside])
            merge.add(where[inside], resolution, guest.rsplit("/", 1)[-1])


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error


def _open(path: Path, cache: Path | None) -> SymbolIndex:
    return SymbolIndex.open(str(path), None if cache is None else str(cache))
