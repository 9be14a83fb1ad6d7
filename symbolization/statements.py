"""Where the statements of source lines begin in a kernel's code, as its compiler marks it.

The instructions of a statement may stand elsewhere: moved before the condition that guards it, or
made one with those of another line. The mark stays where the statement was.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.symbolization import _native, column_file
from profdiff.symbolization.loaded_parts import LoadedPart

_DTYPES: dict[str, np.dtype[np.generic]] = {
    "statement": np.dtype(np.uint64),
    "statement_file": np.dtype(np.uint32),
    "statement_line": np.dtype(np.uint32),
    "statement_files": np.dtype(np.uint8),
}


class Statements(msgspec.Struct, frozen=True):
    """``address``: uint64[S] (avma), rising, with several lines at one; ``line``: uint32[S], of
    ``files[file]``."""

    address: NDArray[np.uint64]
    file: NDArray[np.uint32]
    line: NDArray[np.uint32]
    files: list[str]

    def columns(self) -> column_file.Columns:
        """For a file."""
        texts = column_file.of_texts(self.files)
        found = (self.address, self.file, self.line, texts)
        return dict(zip(_DTYPES, found, strict=True))

    @staticmethod
    def dtypes() -> dict[str, np.dtype[np.generic]]:
        """The columns' types."""
        return dict(_DTYPES)

    @staticmethod
    def of_columns(columns: column_file.Columns) -> "Statements":
        """What has these columns. Raises ValueError."""
        found = Statements(
            columns["statement"].astype(np.uint64),
            columns["statement_file"].astype(np.uint32),
            columns["statement_line"].astype(np.uint32),
            column_file.texts(columns["statement_files"]),
        )
        if not len(found.address) == len(found.file) == len(found.line):
            raise ValueError("statements have columns of different lengths")
        if int(found.file.max(initial=0)) >= len(found.files):
            raise ValueError("statement_file points past the files")
        return found


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
    numbers = [[files.setdefault(name, len(files)) for name in one.files] for one in every]
    rows = {
        (address, own[file], line)
        for one, own in zip(every, numbers, strict=True)
        for address, file, line in zip(
            one.address.tolist(), one.file.tolist(), one.line.tolist(), strict=True
        )
    }
    columns = list(zip(*sorted(rows), strict=True)) or [(), (), ()]
    return Statements(
        np.array(columns[0], np.uint64),
        np.array(columns[1], np.uint32),
        np.array(columns[2], np.uint32),
        list(files) or [""],
    )


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
