"""The chains of all addresses of an exact run: kernel, modules, programs and libraries."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.symbolization._native import NativeError, place_user
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols, open_index
from profdiff.symbolization.merge import Merge, Positions

#: Addresses from here on are the kernel's, on x86-64 and arm64.
KERNEL_HALF = np.uint64(1 << 63)


def symbolize(
    addresses: NDArray[np.uint64],
    code: NDArray[np.uint8],
    *,
    kernel: KernelSymbols,
    user_files: Mapping[str, Path],
    cache: Path | None,
) -> Chains:
    """The chain of each of N addresses (avma).

    ``code`` has N rows of 16 bytes: the length of the instruction at the address, then its bytes;
    zeros for the kernel's addresses. ``user_files`` gives for each path in the guest the file that
    travelled there (what is no ELF file is passed over; the guest's vDSO may be among them).
    ``cache`` is the folder of symbol indexes.

    Without a debug ELF the kernel's chains have one frame each, from kallsyms alone, and
    ``inlines_visible`` is false. Raises InputError when a file is damaged or no ELF file.
    """
    addresses = np.ascontiguousarray(addresses, dtype=np.uint64)
    merge = Merge(addresses)
    in_kernel = addresses >= KERNEL_HALF
    try:
        inlines = kernel.resolve(merge, np.flatnonzero(in_kernel), addresses, cache)
        _user(merge, np.flatnonzero(~in_kernel), addresses, code, user_files, cache)
    except NativeError as error:
        raise InputError(str(error)) from error
    return merge.finish(inlines)


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
            resolution = open_index(path, cache).resolve(svma[inside])
            merge.add(where[inside], resolution, guest.rsplit("/", 1)[-1])


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
