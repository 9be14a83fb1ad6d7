"""Columns of numbers in one uncompressed ``.npz``: what a session keeps of a kernel's symbols and
code. Reading trusts nothing that the file declares."""

import os
import re
import struct
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Self, TypeVar, get_args

import msgspec
import numpy as np
from numpy.typing import NDArray

from profdiff.base.atomic import open_atomic
from profdiff.base.bounded import open_regular
from profdiff.base.errors import SessionError

MAX_BYTES = 2 << 30
"""The largest file that is read."""
# The largest archive's directory, which names some 30 members; zipfile makes an object of each.
_MAX_DIRECTORY = 16 << 10
# APPNOTE.TXT 4.3.16, end of central directory: its signature, and the directory's size.
_END = struct.Struct("<4s8xI6x")

# The whole header of a file of version 1.0 (numpy.lib.format): the length of what stands behind it,
# the type, and how many rows there are.
_HEADER = re.compile(
    rb"\x93NUMPY\x01\x00(..)\{'descr': '([<|][a-zA-Z]\d{1,4})', 'fortran_order': False, "
    rb"'shape': \((\d{1,12}),\), \} *\n",
    re.S,
)

Columns = dict[str, NDArray[np.generic]]
Dtypes = Mapping[str, np.dtype[np.generic]]
Made = TypeVar("Made")


def of_texts(texts: Sequence[str]) -> NDArray[np.uint8]:
    """Texts without NUL as one column."""
    return np.frombuffer("\0".join(texts).encode(), dtype=np.uint8)


def texts(column: NDArray[np.generic]) -> list[str]:
    """The texts of a column. Raises ValueError where it is not UTF-8."""
    return column.tobytes().decode().split("\0")


def write(path: Path, columns: Mapping[str, NDArray[np.generic]]) -> None:
    """Write columns without pickled objects; `path` appears whole or not."""
    with open_atomic(path) as file:
        np.savez(file, **columns)  # type: ignore[arg-type]


def read(path: Path, dtypes: Mapping[str, np.dtype[np.generic]]) -> Columns:
    """The columns that are there, each of exactly the type that ``dtypes`` has for its name.
    Raises ``damage()``, OSError."""
    columns: Columns = {}
    with open_regular(path) as file:
        left = _checked_size(file)
        archive = zipfile.ZipFile(file)
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name not in dtypes or name in columns:
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
            columns[name] = _column(name, data, dtypes[name])
    return columns


def load(
    path: Path, made: Callable[[Columns], Made], dtypes: Dtypes, advice: str = "delete it"
) -> Made:
    """What ``made`` makes of a file's columns, all of which must be there. Raises SessionError
    where it is missing or damaged, also for what ``made`` says of columns that do not fit, by
    ``damage()``; ``advice``: what to do then."""
    try:
        columns = read(path, dtypes)
        need(columns, dtypes)
        return made(columns)
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error.strerror or error}") from error
    except damage() as error:
        raise SessionError(f"{path} is damaged ({error}): {advice}") from error


class Record(msgspec.Struct, frozen=True):
    """A record whose file has a column for each field, of the type that the field is annotated
    with: an array, a text, or a list of texts without NUL. Those of a record in it have the name of
    its field before theirs.

    ``SHAPES``: the dimensions of an array, each a number or the field that has as many rows; one
    that is not named is one-dimensional, of any length. ``ROWS``: of an array of row numbers, the
    field whose rows they are. ``VOID``: the type of arrays of records. ``EMPTY``: lists that may be
    empty. ``ADVICE``: what to do with a damaged file.
    """

    FORMAT: ClassVar[int] = 1
    SHAPES: ClassVar[Mapping[str, Sequence[int | str]]] = {}
    ROWS: ClassVar[Mapping[str, str]] = {}
    VOID: ClassVar[Dtypes] = {}
    EMPTY: ClassVar[Collection[str]] = ()
    ADVICE: ClassVar[str] = "delete it"

    def check(self) -> None:
        """Raise ValueError where columns do not fit together."""
        for name, shape in self.SHAPES.items():
            found = getattr(self, name).shape
            if found != (sizes := self._sizes(shape)):
                raise ValueError(f"{name} has {found} rows instead of {sizes}")
        for name, of in self.ROWS.items():
            rows, several = getattr(self, name), len(getattr(self, of))
            if rows.size and not 0 <= int(rows.min()) <= int(rows.max()) < several:
                raise ValueError(f"{name} points past the {several} rows that there are")

    def _sizes(self, shape: Sequence[int | str]) -> tuple[int, ...]:
        return tuple(len(getattr(self, one)) if isinstance(one, str) else one for one in shape)

    @classmethod
    def dtypes(cls) -> Dtypes:
        """The types of the columns."""
        found = {name: cls.VOID.get(name, dtype) for name, (dtype, _) in _fields(cls).items()}
        for name, inner in _records(cls).items():
            found |= {f"{name}_{one}": dtype for one, dtype in inner.dtypes().items()}
        return found

    def columns(self) -> Columns:
        """All of it by column, texts as bytes with NUL between them."""
        found: Columns = {}
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, Record):
                found |= {f"{name}_{one}": column for one, column in value.columns().items()}
            elif isinstance(value, np.ndarray):
                found[name] = value.reshape(-1)
            else:
                lines = [value] if isinstance(value, str) else value
                found[name] = of_texts(["", *lines] if name in self.EMPTY else lines)
        return found

    @classmethod
    def of_columns(cls, columns: Columns) -> Self:
        """What has these columns. Raises ValueError where they do not fit."""
        need(columns, _fields(cls))
        values: dict[str, Any] = {}
        for name, (_, kind) in _fields(cls).items():
            values[name] = columns[name]
            if kind is not np.ndarray:
                lines = texts(columns[name])
                values[name] = lines[0] if kind is str else lines[name in cls.EMPTY :]
        for name, inner in _records(cls).items():
            mine = {f"{name}_{dtype}": dtype for dtype in inner.dtypes()}
            values[name] = inner.of_columns(
                {one: columns[column] for column, one in mine.items() if column in columns}
            )
        found = cls(**values)
        shaped = {
            name: values[name].reshape(found._sizes(shape)) for name, shape in cls.SHAPES.items()
        }
        found = msgspec.structs.replace(found, **shaped)
        found.check()
        return found

    def save(self, path: Path) -> None:
        """Write it whole or not at all. Raises OSError."""
        write(path, {"format": np.array([self.FORMAT], np.uint32), **self.columns()})

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what ``save`` wrote. Safe for a file from a stranger. Raises SessionError when it is
        missing, damaged or of another format."""

        dtypes = {"format": np.dtype(np.uint32), **cls.dtypes()}
        return load(path, cls._decoded, dtypes, cls.ADVICE)

    @classmethod
    def _decoded(cls, columns: Columns) -> Self:
        check_format(columns, cls.FORMAT)
        return cls.of_columns(columns)


@cache
def _fields(cls: type[Record]) -> Mapping[str, tuple[np.dtype[np.generic], type]]:
    """The type of each field's column, and whether the field is an array, a text, or texts."""
    found: dict[str, tuple[np.dtype[np.generic], type]] = {}
    for field in msgspec.structs.fields(cls):
        if field.name in _records(cls):
            continue
        if field.type is str:
            found[field.name] = np.dtype(np.uint8), str
        elif get_args(field.type) == (str,):
            found[field.name] = np.dtype(np.uint8), list
        else:
            _, dtype = get_args(field.type)
            found[field.name] = np.dtype(get_args(dtype)[0]), np.ndarray
    return found


@cache
def _records(cls: type[Record]) -> Mapping[str, type[Record]]:
    """The fields that are records."""
    types = {field.name: field.type for field in msgspec.structs.fields(cls)}
    return {
        name: one
        for name, one in types.items()
        if isinstance(one, type) and issubclass(one, Record)
    }


def need(columns: Mapping[str, object], wanted: Iterable[str]) -> None:
    """Raise ValueError where a column is missing."""
    if missing := sorted(set(wanted) - columns.keys()):
        raise ValueError(f"no {', '.join(missing)}")


def check_format(columns: Columns, wanted: int) -> None:
    """Take the format from a file's columns. Raise ValueError where it is another one."""
    found = columns.pop("format").tolist()
    if found != [wanted]:
        raise ValueError(f"format {found[:1]} instead of {wanted}")


def damage() -> tuple[type[Exception], ...]:
    """What zipfile and numpy raise on bytes that make no sense; NotImplementedError is a
    RuntimeError."""
    plain = (ValueError, LookupError, EOFError, OverflowError, RuntimeError)
    return (*plain, struct.error, zipfile.BadZipFile)


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


def _column(name: str, data: bytes, wanted: np.dtype[np.generic]) -> NDArray[np.generic]:
    """One ``.npy`` of exactly the column's type, one-dimensional, of the declared length, with the
    header that numpy writes."""
    header = _HEADER.match(data)
    if header is None:
        raise ValueError(f"{name} has not the header of a column")
    length, of_type, rows = int.from_bytes(header[1], "little"), header[2].decode(), int(header[3])
    if of_type != wanted.str:
        raise ValueError(f"{name} is {of_type} instead of a column of {wanted.str}")
    body = data[10 + length :]
    if header.end() != 10 + length or rows * wanted.itemsize != len(body):
        raise ValueError(f"{name} declares {rows} rows and holds {len(body)} bytes")
    return np.frombuffer(body, dtype=wanted)
