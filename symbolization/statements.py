"""Where the statements of source lines begin in a kernel's code, as its compiler marks it.

The instructions of a statement may stand elsewhere: moved before the condition that guards it, or
made one with those of another line. The mark stays where the statement was.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization import _native, column_file
from profdiff.symbolization.section_text import LoadedPart


class Statements(column_file.Record, frozen=True):
    """``address``: uint64[S] (avma), rising, with several lines at one; ``line``: uint32[S], of
    ``files[file]``."""

    SHAPES: ClassVar[Mapping[str, Sequence[int | str]]] = {
        "file": ("address",),
        "line": ("address",),
    }
    ROWS: ClassVar[Mapping[str, str]] = {"file": "files"}

    address: NDArray[np.uint64]
    file: NDArray[np.uint32]
    line: NDArray[np.uint32]
    files: list[str]


def statements(
    parts: Sequence[LoadedPart], start: NDArray[np.uint64], size: NDArray[np.uint32]
) -> Statements:
    """Those in ranges of a running kernel (avma), which rise. Raises NativeError."""
    by_file: dict[Path, list[LoadedPart]] = defaultdict(list)
    for part in parts:
        by_file[part.path].append(part)
    return joined_statements([_of_file(path, own, start, size) for path, own in by_file.items()])


def joined_statements(every: Sequence[Statements]) -> Statements:
    """Those that any of them has."""
    files: dict[str, int] = {}
    numbers = [
        np.array([files.setdefault(name, len(files)) for name in one.files], np.uint32)[one.file]
        for one in every
    ]
    address = np.concatenate([np.empty(0, np.uint64), *(one.address for one in every)])
    file = np.concatenate([np.empty(0, np.uint32), *numbers])
    line = np.concatenate([np.empty(0, np.uint32), *(one.line for one in every)])
    order = np.lexsort((line, file, address))
    address, file, line = address[order], file[order], line[order]
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([column[1:] != column[:-1] for column in (address, file, line)], axis=0)
    return Statements(address[new], file[new], line[new], list(files) or [""])


def _of_file(
    path: Path,
    parts: Sequence[LoadedPart],
    start: NDArray[np.uint64],
    size: NDArray[np.uint32],
) -> Statements:
    """Those of one ELF file, which may lie in several places."""
    ranges: list[tuple[int, int, int]] = []
    for part in parts:
        moved = (part.avma - part.svma) % 2**64
        inside = (start >= np.uint64(part.avma)) & (start - np.uint64(part.avma) < part.size)
        rows = zip(start[inside].tolist(), size[inside].tolist(), strict=True)
        ranges += [((at - moved) % 2**64, length, moved) for at, length in rows]
    ranges.sort()
    first = np.array([at for at, _, _ in ranges], np.uint64)
    end = np.array([at + length for at, length, _ in ranges], np.uint64)
    moved_by = np.array([moved for _, _, moved in ranges], np.uint64)
    svma, file, line, files = _native.statements(str(path), first, end)
    row = np.searchsorted(first, svma, side="right") - 1
    return Statements(svma + moved_by[row], file, line, files)
