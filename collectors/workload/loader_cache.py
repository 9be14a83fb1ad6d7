"""ld.so's cache: where libraries are that lie in none of ld.so's own folders.

A root folder may have no cache yet, or a large one; so what ldconfig(8) makes it of is read, and a
guest gets a cache of just the libraries that travel into it. Format: glibc, elf/cache.c and
sysdeps/generic/dl-cache.h (``struct cache_file_new``).
"""

import fnmatch
import os
import re
import struct
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from profdiff.base import bounded
from profdiff.collectors.architecture import Architecture, host
from profdiff.collectors.workload.root import Root

CACHE = "/etc/ld.so.cache"
_CONFIGURATION = "/etc/ld.so.conf"
_MAX_SIZE, _MAX_FILES, _MAX_FOLDERS = 64 << 10, 200, 100
_HEADER = struct.Struct("<17s3sIIB3xI12x")
_ENTRY = struct.Struct("<iIIIQ")
_LITTLE_ENDIAN = 2


@cache
def of_this_machine() -> dict[str, Path]:
    """As ``ldconfig -p`` prints it: name to path, the first of each name."""
    try:
        listing = subprocess.run(
            ["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False
        ).stdout
    except OSError:
        return {}
    libraries: dict[str, Path] = {}
    for line in listing.splitlines():
        if match := re.match(rf"\s*(\S+) \(.*{host().ldconfig}.*\) => (/\S+)$", line):
            libraries.setdefault(match[1], Path(match[2]))
    return libraries


@cache
def folders(root: Root) -> tuple[str, ...]:
    """Those that a root folder's ld.so.conf names, in its order; what cannot be read names none."""
    found: dict[str, None] = {}
    pending, left = _lines(root, _CONFIGURATION)[::-1], _MAX_FILES
    while pending and len(found) < _MAX_FOLDERS:
        words = pending.pop().partition("#")[0].split()
        if words[:1] == ["include"]:
            patterns = words[1 : 1 + left]
            files = [file for pattern in patterns for file in _matching(root, pattern)][:left]
            left -= len(files)
            pending += [line for file in files for line in _lines(root, file)][::-1]
        elif words and words[0].startswith("/"):
            found[words[0].rstrip("/")] = None
    return tuple(found)


def _lines(root: Root, guest_path: str) -> list[str]:
    source = root.find(guest_path)
    try:
        return bounded.read(source, _MAX_SIZE).decode().splitlines() if source else []
    except (OSError, UnicodeDecodeError):
        return []


def _matching(root: Root, pattern: str) -> Iterator[str]:
    """The files of an ``include``, whose last part may hold wildcards."""
    folder, _, last = pattern.rpartition("/")
    folder = folder if folder.startswith("/") else f"/etc/{folder}"
    place = root.folder(folder)
    try:
        names = sorted(path.name for path in place.iterdir()) if place else []
    except OSError:
        names = []
    for name in fnmatch.filter(names, last)[:_MAX_FILES]:
        yield f"{folder}/{name}"


def made(libraries: Mapping[str, str], architecture: Architecture) -> bytes:
    """A cache of ``libraries``, name to path."""
    # ld.so searches by halves.
    names = sorted(libraries, key=_order, reverse=True)
    texts = [os.fsencode(text) + b"\0" for name in names for text in (name, libraries[name])]
    offset = _HEADER.size + len(names) * _ENTRY.size
    offsets = []
    for text in texts:
        offsets.append(offset)
        offset += len(text)
    strings = b"".join(texts)
    header = _HEADER.pack(b"glibc-ld.so.cache", b"1.1", len(names), len(strings), _LITTLE_ENDIAN, 0)
    entries = b"".join(
        _ENTRY.pack(architecture.loader_flags, name, path, 0, 0)
        for name, path in zip(offsets[::2], offsets[1::2], strict=True)
    )
    return header + entries + strings


def _order(name: str) -> list[tuple[int, int]]:
    """As ``_dl_cache_libcmp()``: numbers by their value, and behind all other characters."""
    parts = re.findall(rb"[0-9]+|[^0-9]", os.fsencode(name), re.DOTALL)
    return [(1, int(part)) if part.isdigit() else (0, part[0]) for part in parts]
