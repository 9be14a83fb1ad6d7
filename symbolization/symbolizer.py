"""The one symbolizer: the chains of all places that a collector saw, wherever they lie."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.symbolization._native import (
    NativeError,
    SymbolRanges,
    file_offsets_to_svma,
    place_user,
)
from profdiff.symbolization.binaries import DELETED, Binaries
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.kernel_chains import KernelSymbols, opened
from profdiff.symbolization.merge import Merge, Positions, reason_column
from profdiff.symbolization.places import Object, Places

# The longest line about a function that a JIT made.
_MAX_PERF_MAP = 256 << 20
# What places of these kinds are, which nothing on this machine can name.
_ELSEWHERE = {"unmapped": "no-object", "guest": "guest", "hypervisor": "hypervisor"}


def symbolize(
    places: Places, kernel: KernelSymbols, binaries: Binaries, cache: Path | None
) -> Chains:
    """The chain of each of N places, in their order. ``cache``: the folder of symbol indexes.

    Without a debug ELF the kernel's chains have one frame each, from kallsyms alone. Raises
    InputError when the kernel's debug ELF is damaged; of another file its symbols serve, if
    anything does, and the chains tell it.
    """
    merge = Merge(places.address)
    try:
        kernel.resolve(merge, places, cache)
        used = np.flatnonzero(np.bincount(places.object[~places.in_kernel])).tolist()
        for number in used:
            where = np.flatnonzero(places.object == number)
            _resolve(merge, where, places, places.objects[number], binaries, cache)
    except NativeError as error:
        raise InputError(str(error)) from error
    return merge.finish()


def _resolve(
    merge: Merge,
    where: Positions,
    places: Places,
    inside: Object,
    binaries: Binaries,
    cache: Path | None,
) -> None:
    if inside.kind in _ELSEWHERE:
        merge.fail(where, reason_column(_ELSEWHERE[inside.kind], where))
    elif inside.kind == "code":
        _code(merge, where, places, binaries, cache)
    elif inside.kind == "anonymous":
        _jit(merge, where, places, binaries.perf_map(inside.pid))
    else:
        found = binaries.find(inside.path, inside.build_id)
        if isinstance(found, str):
            merge.fail(where, reason_column(found, where))
        else:
            _file(merge, where, places, inside.path, found, binaries, cache)


def _code(
    merge: Merge, where: Positions, places: Places, binaries: Binaries, cache: Path | None
) -> None:
    """User space of which the instructions' bytes are known: they prove the file."""
    if places.code is None:
        raise ValueError("places in code have no bytes")
    files = binaries.elf_files()
    code = np.ascontiguousarray(places.code[where], dtype=np.uint8)
    paths = [str(path) for path in files.values()]
    owners, svma, reason = place_user(paths, places.address[where], code)
    merge.fail(where[reason != 0], reason[reason != 0])
    for owner, (guest, path) in enumerate(files.items()):
        mine = (reason == 0) & (owners == owner)
        if mine.any():
            name = guest.rsplit("/", 1)[-1]
            _resolved(merge, where[mine], svma[mine], [path], name, cache)


def _file(
    merge: Merge,
    where: Positions,
    places: Places,
    path: str,
    found: Path,
    binaries: Binaries,
    cache: Path | None,
) -> None:
    name = path.removesuffix(DELETED).rsplit("/", 1)[-1] or path
    try:
        svma, inside = file_offsets_to_svma(str(found), places.address[where])
    except NativeError as error:
        merge.tell(name, str(error))
        merge.fail(where, reason_column("unreadable", where))
        return
    merge.fail(where[~inside], reason_column("outside-text", where[~inside]))
    if inside.any():
        files = dict.fromkeys([binaries.debug_file(found), found])
        _resolved(merge, where[inside], svma[inside], files, name, cache)


def _resolved(
    merge: Merge,
    where: Positions,
    svma: NDArray[np.uint64],
    files: Iterable[Path],
    name: str,
    cache: Path | None,
) -> None:
    """By the first of an object's files that can be read."""
    for file in files:
        if index := opened(merge, file, name, cache):
            merge.add(where, index.resolve(svma), name, inlines=index.has_inlines)
            return
    merge.fail(where, reason_column("unreadable", where))


def _jit(merge: Merge, where: Positions, places: Places, perf_map: Path | None) -> None:
    if perf_map is None:
        merge.fail(where, reason_column("no-map", where))
        return
    try:
        ranges = SymbolRanges.parse_perf_map(bounded.read(perf_map, _MAX_PERF_MAP))
    except OSError as error:
        merge.tell(perf_map.name, f"cannot read {perf_map}: {error.strerror}")
        merge.fail(where, reason_column("no-map", where))
        return
    merge.add(where, ranges.resolve(places.address[where]), perf_map.name)
