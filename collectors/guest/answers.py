"""What QEMUs answered when they were asked, kept in the cache: to start one for each question takes
as long as to restore a guest."""

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, TypeVar

import msgspec

from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_path

T = TypeVar("T", str, bool, str | None)
_Kept = dict[str, Annotated[str, msgspec.Meta(max_length=10_000)] | bool | None]

_FILE = "emulators.json"
# Answers that are kept, of some ten QEMUs; and bytes that are read.
_MOST, _BYTES = 100, 1 << 20
# What may change what a program does.
_VARIABLES = ("LD_LIBRARY_PATH", "LD_PRELOAD", "QEMU_MODULE_DIR")


def answer(program: Path, question: str, ask: Callable[[], T], *files: Path) -> T:
    """What ``program`` answers to ``question``, which is about ``files``: what it answered before
    if all are the same files, and this process may do as much; else what ``ask`` returns. A script
    is asked each time: what it calls may be another program. Raises what ``ask`` raises."""
    key = _key(program, question, files)
    if key is None:
        return ask()
    if key in (kept := _read()):
        return kept[key]  # type: ignore[return-value]
    said = ask()
    # Read again: others asked meanwhile.
    kept = {**_read(), key: said}
    with contextlib.suppress(OSError):
        path = cache_path(_FILE)
        path.parent.mkdir(parents=True, exist_ok=True)
        newest = dict(list(kept.items())[-_MOST:])
        write_atomic(path, msgspec.json.encode(newest), durable=False)
    return said


def _key(program: Path, question: str, files: tuple[Path, ...]) -> str | None:
    """None for a script, and for a program that cannot be read."""
    try:
        with program.open("rb") as file:
            if file.read(4) != b"\x7fELF":
                return None
        told = [question, *(os.environ.get(name, "") for name in _VARIABLES)]
        for path in (program, *files):
            status = path.stat()
            told += [str(path.resolve()), str(status.st_dev), str(status.st_ino)]
            told += map(str, (status.st_size, status.st_mtime_ns, status.st_ctime_ns))
        # Whether seccomp can be used depends on the container.
        lines = Path("/proc/self/status").read_text().splitlines()
        told += [line for line in lines if line.startswith(("Seccomp", "NoNewPrivs"))]
        told.append(os.uname().release)
    except OSError:
        return None
    return hashlib.sha256("\0".join(told).encode(errors="surrogateescape")).hexdigest()


def _read() -> _Kept:
    """All that is kept; nothing where the file is damaged."""
    try:
        with cache_path(_FILE).open("rb") as file:
            return msgspec.json.decode(file.read(_BYTES), type=_Kept)
    except (OSError, msgspec.DecodeError):
        return {}
