"""The chains of many addresses, as columns: what symbolization hands to the profile."""

import io
import math
import os
import struct
import zipfile
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from profdiff.base.atomic import open_atomic
from profdiff.base.bounded import open_regular
from profdiff.base.errors import SessionError
from profdiff.symbolization.places import CODE, KERNEL_HALF, Places, place_keys, rows_of

FORMAT = 2
"""Version of the file that `Chains.save` writes; 1 had no ``code``."""

MAX_BYTES = 2 << 30
"""The largest file that `Chains.load` accepts: some 50 million addresses."""
# Of the archive's directory, which names 15 members; zipfile makes an object of each.
_MAX_DIRECTORY = 16 << 10
# APPNOTE.TXT 4.3.16, end of central directory: its signature, and the directory's size.
_END = struct.Struct("<4s8xI6x")


@dataclass(frozen=True)
class Chains:
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
    inlines_visible: bool
    """Whether the kernel's chains show inlined functions: false without a debug ELF."""
    #: V16, the length and bytes of the instruction, of each address in user space that they tell
    #: apart from others; empty where addresses alone do
    code: NDArray[np.void] = field(default_factory=lambda: np.empty(0, CODE))

    def __len__(self) -> int:
        return len(self.address)

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

    def save(self, path: Path) -> None:
        """Write one uncompressed ``.npz`` without pickled objects; `path` appears whole or not."""
        columns: dict[str, NDArray[np.generic]] = {
            "format": np.array([FORMAT], dtype=np.uint32),
            "inlines_visible": np.array([self.inlines_visible]),
        }
        for name in (one.name for one in fields(self)):
            value = getattr(self, name)
            if name in ("strings", "reasons"):
                columns[name] = np.frombuffer("\0".join(value).encode(), dtype=np.uint8)
            elif name != "inlines_visible":
                columns[name] = value
        with open_atomic(path) as file:
            np.savez(file, **columns)  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: Path) -> "Chains":
        """Read what `save` wrote. Safe for a file from a stranger.

        Raises SessionError when the file is missing, damaged or of another version.
        """
        advice = "delete it, and the next report will symbolize again"
        try:
            columns = _members(path)
            version = int(columns["format"][0])
            if version not in (1, FORMAT):
                raise ValueError(f"format {version} instead of {FORMAT}")
            values: dict[str, object] = {}
            for name in (one.name for one in fields(cls)):
                column = columns[name]
                if name in ("strings", "reasons"):
                    values[name] = column.tobytes().decode().split("\0")
                elif name == "inlines_visible":
                    values[name] = bool(column[0])
                else:
                    values[name] = column
            chains = cls(**values)  # type: ignore[arg-type]
            chains.check()
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
        except _damage() as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise SessionError(f"{path} is damaged ({what}): {advice}") from error
        return chains


def _damage() -> tuple[type[Exception], ...]:
    """What zipfile and numpy raise on bytes that make no sense; NotImplementedError is a
    RuntimeError."""
    import tokenize

    plain = (ValueError, LookupError, EOFError, OverflowError, RuntimeError, SyntaxError)
    return (*plain, struct.error, tokenize.TokenError, zipfile.BadZipFile)


_DTYPES: dict[str, np.dtype[np.generic]] = {
    "format": np.dtype(np.uint32),
    "strings": np.dtype(np.uint8),
    "reasons": np.dtype(np.uint8),
    "inlines_visible": np.dtype(np.bool_),
    "frame_inlined": np.dtype(np.bool_),
    "reason": np.dtype(np.uint8),
    "address": np.dtype(np.uint64),
    "code": CODE,
}


def _members(path: Path) -> dict[str, NDArray[np.generic]]:
    """The columns of an ``.npz``, read without trusting what its headers declare."""
    wanted = {"format", *(one.name for one in fields(Chains))}
    columns: dict[str, NDArray[np.generic]] = {}
    with open_regular(path) as file:
        left = _checked_size(file)
        archive = zipfile.ZipFile(file)
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name not in wanted or name in columns:
                raise ValueError(f"unexpected member {info.filename!r}")
            # Stored, not deflated: the columns together are never larger than their file.
            left -= info.file_size
            stored = info.compress_type == zipfile.ZIP_STORED
            # zipfile reserves what the second size says, before it reads.
            if not stored or info.compress_size != info.file_size or left < 0:
                raise ValueError(f"{name} is compressed or larger than the file")
            try:
                data = archive.read(info)
            except (NotImplementedError, RuntimeError) as error:
                raise ValueError(str(error)) from error
            columns[name] = _column(name, data)
    columns.setdefault("code", np.empty(0, CODE))
    missing = sorted(wanted - columns.keys())
    if missing:
        raise ValueError(f"no {', '.join(missing)}")
    return columns


def _checked_size(file: BinaryIO) -> int:
    """The size of an ``.npz`` whose directory can be read without filling the memory."""
    size = os.fstat(file.fileno()).st_size
    if size > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES >> 30} GiB")
    file.seek(max(0, size - _END.size))
    end = file.read(_END.size)
    if len(end) < _END.size:
        raise ValueError("too short")
    signature, directory = _END.unpack(end)
    # numpy writes no comment behind it, and needs no zip64 directory below 4 GiB.
    file.seek(max(0, size - _END.size - 20))
    zip64 = file.read(4) == b"PK\6\7"
    if signature != b"PK\5\6" or zip64 or directory > _MAX_DIRECTORY:
        raise ValueError("its directory is not numpy's")
    return size


def _column(name: str, data: bytes) -> NDArray[np.generic]:
    """One ``.npy`` of exactly the column's type, one-dimensional, of the declared length."""
    stream = io.BytesIO(data)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} is of an unknown .npy version")
    shape, _, dtype = npy.read_array_header_1_0(stream)
    wanted = _DTYPES.get(name, np.dtype(np.uint32))
    if dtype != wanted or len(shape) != 1:
        raise ValueError(f"{name} is {dtype} of shape {shape} instead of a column of {wanted}")
    body = data[stream.tell() :]
    if math.prod(shape) * wanted.itemsize != len(body):
        raise ValueError(f"{name} declares {shape[0]} rows and holds {len(body)} bytes")
    return np.frombuffer(body, dtype=wanted)
