"""The chains of all places of a perf.data file: kernel, modules, programs, vDSO, JITs."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.symbolization._native import (
    NativeError,
    PerfData,
    SymbolIndex,
    SymbolRanges,
    file_offsets_to_svma,
    reasons,
)
from profdiff.symbolization.binaries import Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import OUTSIDE_TEXT, KernelSymbols, open_index
from profdiff.symbolization.merge import Merge, Positions

#: Number of the object that is the kernel.
KERNEL_OBJECT = 0
# Of a line for each function that a JIT made.
_MAX_PERF_MAP = 256 << 20
_REASON = {name: number for number, name in enumerate(reasons())}
# What places of these kinds are, which nothing on this machine can name.
_ELSEWHERE = {"unmapped": "no-object", "guest": "guest", "hypervisor": "hypervisor"}


def in_kernel(data: PerfData) -> NDArray[np.bool_]:
    """bool[N]: whether each place is in the kernel or a module of it."""
    result: NDArray[np.bool_] = data.place_object == KERNEL_OBJECT
    return result


def kernel_build_id(data: PerfData) -> str | None:
    """The build id of the kernel that was recorded, if the recording says it."""
    for name, _, _, _, build_id in data.kernel_mappings:
        if name.startswith("[kernel.kallsyms]") and build_id:
            return build_id
    ids = data.build_ids
    return ids.get("[kernel.kallsyms]") or ids.get("[kernel.vmlinux]")


def symbolize_perf(
    data: PerfData, kernel: KernelSymbols, binaries: Binaries, cache: Path | None
) -> Chains:
    """The chain of each of ``data``'s N places, in their order; ``address`` is the place's.

    Raises InputError when a file is damaged.
    """
    merge = Merge(data.place_address)
    objects = data.place_object
    try:
        inlines = _kernel(merge, data, kernel, cache)
        for number in np.flatnonzero(np.bincount(objects[objects != KERNEL_OBJECT])).tolist():
            kind, path, build_id, pid = data.objects[number]
            where = np.flatnonzero(objects == number)
            if kind in _ELSEWHERE:
                merge.fail(where, _column(_ELSEWHERE[kind], where))
            elif kind == "anonymous":
                _jit(merge, where, data.place_address[where], path, binaries.perf_map(pid))
            else:
                found = binaries.find(path, build_id)
                if isinstance(found, str):
                    merge.fail(where, _column(found, where))
                else:
                    _file(merge, where, data.place_address[where], path, found, binaries, cache)
    except NativeError as error:
        raise InputError(str(error)) from error
    return merge.finish(inlines)


def _kernel(merge: Merge, data: PerfData, kernel: KernelSymbols, cache: Path | None) -> bool:
    where = np.flatnonzero(in_kernel(data))
    if not len(where):
        return kernel.debug_elf is not None
    addresses = data.place_address
    inlines = kernel.resolve(merge, where, addresses, cache, _displacement(data))
    if data.kernel_symbols:
        # BPF programs and trampolines: kallsyms may have been read before they were made.
        made = SymbolRanges(data.kernel_symbols)
        part = made.resolve(addresses[where])
        hit = (part.reason == 0) & (merge.reason[where] != 0)
        if hit.any():
            merge.add(where[hit], made.resolve(addresses[where[hit]]), "bpf")
    if not kernel.kallsyms:
        _modules(merge, data, where, kernel, cache)
    return inlines


def _modules(
    merge: Merge, data: PerfData, where: Positions, kernel: KernelSymbols, cache: Path | None
) -> None:
    """Modules by their mappings alone, which begin with the module's .text."""
    find = kernel.module_files if callable(kernel.module_files) else kernel.module_files.get
    addresses = data.place_address
    for path, start, length, _, _ in data.kernel_mappings:
        name = path.rsplit("/", 1)[-1].strip("[]").split(".ko")[0].replace("-", "_")
        file = find(name)
        if file is None or path.startswith("[kernel.kallsyms]"):
            continue
        avma = addresses[where]
        inside = (avma >= np.uint64(start)) & (avma < np.uint64(start + length))
        inside &= merge.reason[where] == OUTSIDE_TEXT
        index = open_index(file, cache)
        text = next((s for s in index.sections() if s[0] == ".text"), None)
        if inside.any() and text:
            svma = avma[inside] - np.uint64(start) + np.uint64(text[1])
            merge.add(where[inside], index.resolve(svma), name)


def _displacement(data: PerfData) -> Callable[[SymbolIndex], int | None]:
    """What KASLR added: where the recording says that ``_text`` or ``_stext`` was, minus where the
    debug ELF has it. None if it does not say (kptr_restrict)."""

    def displacement(index: SymbolIndex) -> int | None:
        for name, _, _, offset, _ in data.kernel_mappings:
            symbol = name.removeprefix("[kernel.kallsyms]")
            if symbol != name and symbol and offset:
                linked = index.symbol_address(symbol)
                if linked is not None:
                    return (offset - linked) % 2**64
        return None

    return displacement


def _file(
    merge: Merge,
    where: Positions,
    offsets: NDArray[np.uint64],
    path: str,
    found: Path,
    binaries: Binaries,
    cache: Path | None,
) -> None:
    svma, inside = file_offsets_to_svma(str(found), offsets)
    merge.fail(where[~inside], _column("outside-text", where[~inside]))
    if inside.any():
        index = open_index(binaries.debug_file(found), cache)
        merge.add(where[inside], index.resolve(svma[inside]), path.rsplit("/", 1)[-1] or path)


def _jit(
    merge: Merge,
    where: Positions,
    addresses: NDArray[np.uint64],
    path: str,
    perf_map: Path | None,
) -> None:
    if perf_map is None:
        merge.fail(where, _column("no-map", where))
        return
    try:
        ranges = SymbolRanges.parse_perf_map(bounded.read(perf_map, _MAX_PERF_MAP))
    except OSError as error:
        raise InputError(f"cannot read {perf_map}: {error.strerror}") from error
    merge.add(where, ranges.resolve(addresses), perf_map.name)


def _column(reason: str, where: Positions) -> NDArray[np.uint8]:
    return np.full(len(where), _REASON[reason], np.uint8)
