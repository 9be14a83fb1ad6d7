"""Mutations of a format's own, shared by targets: what is packed, JSON, lines, columns."""

import gzip
import io
import json
import lzma
import struct
import zlib
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np

from fuzz.mutation import MAX_SIZE, mutate
from fuzz.target import Mutation

_TEXTS = [
    "",
    "\x1b[31m",
    "../x",
    "/etc/passwd",
    "a" * 300,
    "\0",
    "\u202e",
    "\ud800",
    "%s%n",
    "-o",
    "{n}",
]
_VALUES = [None, True, False, 0, -1, 1, 2, 2**31, 2**63 - 1, 2**63, 2**64, 10**400, 1e308, -1e308]
_VALUES += [float("nan"), float("inf"), 5e-324, [], {}, [[]], *_TEXTS]


def within(
    unpack: Callable[[bytes], bytes], pack: Callable[[bytes], bytes], inner: Mutation = mutate
) -> Mutation:
    """``inner`` for what is packed: a reader's checks of the packing itself keep others from ever
    being reached."""

    def change(random: Random, data: bytes) -> bytes:
        try:
            plain = unpack(data)
        except (OSError, EOFError, ValueError, lzma.LZMAError, zlib.error, struct.error):
            return mutate(random, data)
        return pack(inner(random, plain)[:MAX_SIZE])

    return change


def gunzip(data: bytes) -> bytes:
    """The first member, as much of it as a mutation may have: what came before can be a bomb."""
    return zlib.decompressobj(wbits=31).decompress(data, MAX_SIZE)


def _unxz(data: bytes) -> bytes:
    return lzma.LZMADecompressor().decompress(data, MAX_SIZE)


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 1, mtime=0)


def gzipped(inner: Mutation = mutate) -> Mutation:
    """``inner`` for what is packed; now and then with far more behind it, in further members."""
    changed = within(gunzip, _gzip, inner)

    def change(random: Random, data: bytes) -> bytes:
        if random.random() < 0.99:
            return changed(random, data)
        return data + _bomb() * int(2 ** random.uniform(0, 6))

    return change


@cache
def _bomb() -> bytes:
    """16 KiB that unpack to 16 MiB."""
    return gzip.compress(bytes(1 << 24), 9, mtime=0)


in_gzip = gzipped()
in_xz = within(_unxz, lambda data: lzma.compress(data, preset=0))


def in_json(random: Random, data: bytes) -> bytes:
    """One value of a JSON document is another, is gone, is there many times, or has more within."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return mutate(random, data)
    places = list(_places(document))
    if not places:
        return mutate(random, data)
    holder, key = random.choice(places)
    action = random.randrange(10)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, list):
        holder[key:key] = [holder[key]] * int(2 ** random.uniform(0, 10))
    elif action == 2:
        other, place = random.choice(places)
        # As text: a document that holds itself cannot be written.
        holder[key] = json.loads(json.dumps(other[place]))
    elif action == 3 and isinstance(holder, dict):
        holder[random.choice([*_TEXTS, str(key) + "x"])] = holder[key]
    elif action == 4 and isinstance(holder[key], str):
        text = mutate(random, holder[key].encode(errors="replace"))
        holder[key] = text.decode(errors="replace")
    elif action == 5 and isinstance(holder[key], int | float) and abs(holder[key]) < 2**62:
        holder[key] = type(holder[key])(random.choice((-1, 2, 0.5, 1e9)) * holder[key])
    else:
        # What is of another type is refused early.
        alike = [value for value in _VALUES if type(value) is type(holder[key])]
        holder[key] = random.choice(alike if alike and random.random() < 0.8 else _VALUES)
    text = json.dumps(document)
    return text.encode(errors="surrogatepass")


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every value of a document, as its holder and its key there."""
    found: list[tuple[Any, Any]] = []
    pending = [value] if isinstance(value, dict | list) else []
    while pending:
        holder = pending.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                pending.append(holder[key])
    return found


def in_lines(random: Random, data: bytes) -> bytes:
    """Lines are swapped, doubled, gone, joined, or one changes at a word."""
    lines = data.split(b"\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    action = random.randrange(6)
    if action == 0:
        lines[at], lines[other] = lines[other], lines[at]
    elif action == 1:
        lines[at:at] = [lines[other]] * int(2 ** random.uniform(0, 10))
    elif action == 2:
        del lines[at]
    elif action == 3:
        lines[at : at + 2] = [b"".join(lines[at : at + 2])]
    elif action == 4:
        words = lines[at].split(b" ")
        words[random.randrange(len(words))] = random.choice(
            [b"", b"0", b"-1", b"9" * 30, b"1e999", b"nan", b"\xff\xfe", b"x" * 5000]
        )
        lines[at] = b" ".join(words)
    else:
        lines[at] = mutate(random, lines[at])
    return b"\n".join(lines)


def in_npz(random: Random, data: bytes) -> bytes:
    """A column: its bytes, its shape, its type."""
    try:
        with np.load(io.BytesIO(data)) as loaded:
            columns = {name: loaded[name] for name in loaded.files}
    except Exception:
        columns = {}
    if not columns:
        return mutate(random, data)
    name = random.choice(list(columns))
    column = columns[name]
    action = random.randrange(5)
    if action == 0 and column.size:
        column = column.copy()
        changed = np.frombuffer(mutate(random, column.tobytes())[: column.nbytes], np.uint8)
        column.view(np.uint8).reshape(-1)[: len(changed)] = changed
    elif action == 1:
        column = column[: len(column) // 2]
    elif action == 2:
        column = column.astype(random.choice(("<i8", ">u4", "f8", "S3", "?", "c16")))
    elif action == 3:
        column = random.choice((column[None], column.repeat(3), column[:0]))
    elif column.size and column.dtype.kind == "u":
        column = column.copy()
        value = random.choice((0, 1, len(column), np.iinfo(column.dtype).max))
        column[random.randrange(len(column))] = min(value, np.iinfo(column.dtype).max)
    columns[name] = column
    buffer = io.BytesIO()
    np.savez(buffer, **columns)
    return buffer.getvalue()
