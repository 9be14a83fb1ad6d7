"""The chains of many addresses, as columns: what symbolization hands to the profile."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from profdiff.symbolization import column_file
from profdiff.symbolization.places import CODE, KERNEL_HALF, Places, place_keys, rows_of

FORMAT = 3
"""Version of the file that `Chains.save` writes."""

VMLINUX = "vmlinux"
"""The object of the kernel's own functions."""

MAX_BYTES = column_file.MAX_BYTES
"""The largest file that `Chains.load` accepts: some 50 million addresses."""


class Chains(msgspec.Struct, frozen=True):
    """Chains of N addresses. Columns of indexes point into another column; 0 in ``strings`` is "".

    A *function* is a distinct (name, object, declaring file, declaring line); a *frame* a distinct
    (function, inlined, file, line). A frame's file and line are where it was executing: the
    address's own line for the innermost frame, the call site of the next one for the others. Line 0
    and the file "" mean unknown. File names are relative to the kernel's source tree where the
    debug ELF says where that was.
    """

    strings: list[str]
    #: per function
    function_name: NDArray[np.uint32]
    function_object: NDArray[np.uint32]
    function_file: NDArray[np.uint32]
    function_line: NDArray[np.uint32]
    #: per frame
    frame_function: NDArray[np.uint32]
    frame_inlined: NDArray[np.bool_]
    frame_file: NDArray[np.uint32]
    frame_line: NDArray[np.uint32]
    #: address i has the frames ``frames[offsets[i]:offsets[i + 1]]``, outermost first
    offsets: NDArray[np.uint32]
    frames: NDArray[np.uint32]
    #: per address: the ELF symbol, compiler suffixes included, in ``strings``; why it has no
    #: frames, in ``reasons`` (0: it has some); the address itself (avma)
    symbol: NDArray[np.uint32]
    reason: NDArray[np.uint8]
    address: NDArray[np.uint64]
    reasons: list[str]
    #: the objects whose inlined functions nothing tells: they have no debug information
    blind: list[str] = msgspec.field(default_factory=list)
    #: of objects whose files were not read as a whole, the name and why
    unread: list[str] = msgspec.field(default_factory=list)
    #: V16, the length and bytes of the instruction, of each address in user space that they tell
    #: apart from others; empty where addresses alone do
    code: NDArray[np.void] = msgspec.field(default_factory=lambda: np.empty(0, CODE))

    def __len__(self) -> int:
        return len(self.address)

    @property
    def inlines_visible(self) -> bool:
        """Whether the kernel's own chains show inlined functions."""
        return VMLINUX not in self.blind

    @property
    def remarks(self) -> list[str]:
        """What a reader must know of the files; one line each."""
        if not self.unread:
            return []
        others = len(self.unread) - 1
        more = f", and {others:,} other files" if others else ""
        return [
            f"not all of these files could be read: {self.unread[0]}{more}; symbols name their "
            "functions as far as there are any, and functions that were inlined are not seen"
        ]

    @property
    def inlines(self) -> dict[str, bool]:
        """By object of which there are functions, whether the inlined ones are known."""
        names = (self.strings[number] for number in sorted(set(self.function_object.tolist())))
        return {name: name not in self.blind for name in names}

    def rows(self, places: Places) -> NDArray[np.intp] | None:
        """Where each of N places is among these, sorted ones; None if one is not there."""
        code = np.zeros(len(self), CODE)
        code[self.address < KERNEL_HALF] = self.code if len(self.code) else b""
        mine, wanted = place_keys(self.address, code), places.keys()
        found = rows_of(mine, wanted)
        there = found < len(mine)
        there[there] = mine[found[there]] == wanted[there]
        return found if there.all() else None

    def taken(self, rows: NDArray[np.intp]) -> "Chains":
        """The chains of some of the addresses."""
        start, end = self.offsets[rows].astype(np.int64), self.offsets[rows + 1].astype(np.int64)
        lengths = end - start
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        return replace(
            self,
            offsets=offsets.astype(np.uint32),
            frames=self.frames[np.repeat(start, lengths) + within],
            symbol=self.symbol[rows],
            reason=self.reason[rows],
            address=self.address[rows],
            code=np.empty(0, CODE),
        )

    def check(self) -> None:
        """Raise ValueError unless every column has its length and every index its target."""
        functions, frames, count = (
            len(self.function_name),
            len(self.frame_function),
            len(self.address),
        )
        lengths = {
            "function_object": functions,
            "function_file": functions,
            "function_line": functions,
            "frame_inlined": frames,
            "frame_file": frames,
            "frame_line": frames,
            "offsets": count + 1,
            "symbol": count,
            "reason": count,
        }
        for name, length in lengths.items():
            if len(getattr(self, name)) != length:
                raise ValueError(f"{name} has {len(getattr(self, name))} rows instead of {length}")
        if not self.strings or self.strings[0]:
            raise ValueError("strings does not start with the empty string")
        if not self.reasons:
            raise ValueError("reasons is empty")
        targets = {
            "function_name": len(self.strings),
            "function_object": len(self.strings),
            "function_file": len(self.strings),
            "frame_function": functions,
            "frame_file": len(self.strings),
            "frames": frames,
            "symbol": len(self.strings),
            "reason": len(self.reasons),
        }
        for name, size in targets.items():
            column = getattr(self, name)
            if len(column) and int(column.max()) >= size:
                raise ValueError(f"{name} points past the {size} rows that there are")
        offsets = self.offsets
        if offsets[0] != 0 or int(offsets[-1]) != len(self.frames):
            raise ValueError("offsets does not span frames")
        if np.any(offsets[1:] < offsets[:-1]):
            raise ValueError("offsets descends")
        if np.any((offsets[1:] == offsets[:-1]) != (self.reason != 0)):
            raise ValueError("reason and frames disagree")
        if len(self.code) not in (0, int((self.address < KERNEL_HALF).sum())):
            raise ValueError("code is not that of the addresses in user space")

    def columns(self) -> dict[str, NDArray[np.generic]]:
        """All of it by column, texts as bytes with NUL between them."""
        found: dict[str, NDArray[np.generic]] = {}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name in ("strings", "reasons"):
                value = column_file.of_texts(value)
            elif name in ("blind", "unread"):
                value = column_file.of_texts(["", *value])
            found[name] = value
        return found

    @classmethod
    def of_columns(cls, columns: Mapping[str, NDArray[np.generic]]) -> "Chains":
        """What has these columns. Raises ValueError where they are not chains."""
        values: dict[str, object] = {}
        column_file.need(columns, DTYPES)
        for name, column in columns.items():
            if name in ("strings", "reasons"):
                values[name] = column_file.texts(column)
            elif name in ("blind", "unread"):
                values[name] = column_file.texts(column)[1:]
            else:
                values[name] = column
        chains = cls(**values)  # type: ignore[arg-type]
        chains.check()
        return chains

    def save(self, path: Path) -> None:
        """Write one uncompressed ``.npz`` without pickled objects; `path` appears whole or not."""
        version = {"format": np.array([FORMAT], dtype=np.uint32)}
        column_file.write(path, {**version, **self.columns()})

    @classmethod
    def load(cls, path: Path) -> "Chains":
        """Read what `save` wrote. Safe for a file from a stranger.

        Raises SessionError when the file is missing, damaged or of another version.
        """
        return column_file.load(
            path,
            cls._decoded,
            {"format": np.dtype(np.uint32), **DTYPES},
            "delete it, and the next report will symbolize again",
        )

    @classmethod
    def _decoded(cls, columns: column_file.Columns) -> "Chains":
        column_file.check_format(columns, FORMAT)
        return cls.of_columns(columns)


_OTHERS: dict[str, np.dtype[np.generic]] = {
    "strings": np.dtype(np.uint8),
    "reasons": np.dtype(np.uint8),
    "blind": np.dtype(np.uint8),
    "unread": np.dtype(np.uint8),
    "frame_inlined": np.dtype(np.bool_),
    "reason": np.dtype(np.uint8),
    "address": np.dtype(np.uint64),
    "code": CODE,
}
DTYPES: dict[str, np.dtype[np.generic]] = {
    name: _OTHERS.get(name, np.dtype(np.uint32)) for name in Chains.__struct_fields__
}
"""The types of the columns."""
