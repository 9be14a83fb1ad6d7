"""What the instructions of a kernel access that executed, by the DWARF of its debug ELF and of its
modules'."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.symbolization._native import DataIndex, Kallsyms, NativeError
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.kernel_chains import KernelSymbols
from profdiff.symbolization.loaded_parts import LoadedPart, loaded_parts
from profdiff.symbolization.places import Places

# What is one list of a file, whose rows others name.
_ROWS = {"field_type": "layout_type"}


def kernel_accesses(
    symbols: KernelSymbols,
    places: Places,
    executed: NDArray[np.uint8],
    architecture: str,
    cache: Path | None,
) -> DataAccesses | None:
    """What the kernel's ones of N places access; ``executed``: uint8[N, 16], what ran there, zeros
    where that is not known. None where nothing tells: no debug ELF, no DWARF in it, an architecture
    whose accesses are not known. Raises InputError for a damaged debug ELF."""
    mine = np.flatnonzero(places.in_kernel & (executed[:, 0] > 0))
    address, code = places.address[mine], np.ascontiguousarray(executed[mine])
    kallsyms = Kallsyms(symbols.kallsyms)
    found = []
    try:
        files: dict[Path, list[LoadedPart]] = {}
        for part in loaded_parts(symbols, kallsyms, places, address, cache):
            files.setdefault(part.path, []).append(part)
        for path, parts in files.items():
            inside = np.zeros(len(address), np.bool_)
            for part in parts:
                start = np.uint64(part.avma)
                inside |= (address >= start) & (address - start < part.size)
            if inside.any():
                sections = [(part.svma, part.size, part.avma) for part in parts]
                index = _index(path, path.stat().st_mtime_ns)
                # What other files' code calls in this one counts, too.
                columns = index and index.accesses(architecture, sections, kallsyms, address, code)
                if columns is not None:
                    found.append(columns)
    except (NativeError, OSError) as error:
        raise InputError(str(error)) from error
    return _joined(found) if found else None


@lru_cache(maxsize=4)
def _index(path: Path, _: int) -> DataIndex | None:
    """That of a file as it is: those of a suite's kernels are wanted for each workload."""
    return DataIndex.open(str(path))


def _joined(files: list[dict[str, Any]]) -> DataAccesses:
    """The accesses of several files as those of one kernel."""
    if len(files) == 1:
        return DataAccesses(**files[0])
    strings: dict[str, int] = {"": 0}
    rows = 0
    for file in files:
        texts = [strings.setdefault(text, len(strings)) for text in file.pop("strings")]
        numbers = np.array(texts, np.uint32)
        for name in DataAccesses.TEXTS:
            file[name] = numbers[file[name]]
        for name, of in _ROWS.items():
            file[name] = file[name] + np.uint32(rows)
            rows += len(file[of])
    columns = {
        name: np.concatenate([file[name] for file in files])
        for name in DataAccesses.__struct_fields__
        if name != "strings"
    }
    for first, names in DataAccesses.GROUPS.items():
        if first in ("address", "global_address"):
            order = np.argsort(columns[first], kind="stable")
            columns.update({name: columns[name][order] for name in names})
    return DataAccesses(strings=list(strings), **columns)
