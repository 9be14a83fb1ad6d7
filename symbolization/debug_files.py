"""Where the symbols and debug information of an ELF file are: in it, or in a file of their own.

What a file that may be an ELF file says of itself, without an error for one that is none.

Files by build id from debuginfod servers (debuginfod(8)): debug ELFs, programs and libraries.

Servers are asked only where ``DEBUGINFOD_URLS`` names them, with the limits of debuginfod's other
variables (debuginfod-find(1)). Files are kept where debuginfod's own client keeps them, so that
gdb, perf and profdiff fetch each once. What a server sends is a stranger's file: it is kept only if
it is an ELF file with the build id that was asked for.

One file from a debuginfod server, within bounds: size, time, and HTTP only.
"""

import os
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Literal

from profdiff.base import bounded, http
from profdiff.base.console import CleanConsole
from profdiff.base.errors import ProfdiffError, told
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import tell
from profdiff.symbolization import _native
from profdiff.symbolization._native import NativeError, elf_build_id

# Where distributions put what was stripped off (gdb's and perf's places).
_DEBUG = Path("/usr/lib/debug")
_PART = 1 << 20


def debug_file(binary: Path, root: Path | None = None) -> Path:
    """The file with the symbols and debug information of ``binary``: what was stripped off it, by
    build id or ``.gnu_debuglink``, or from a debuginfod server; else itself. ``root``: a folder
    that holds the recorded machine's files."""
    build_id = build_id_of(binary)
    if build_id and (found := by_build_id(build_id, root)):
        return found
    try:
        inside, link = _native.elf_debug_info(str(binary))
    except _native.NativeError:
        return binary
    if inside:
        return binary
    if link and (found := _linked(binary, *link, root)):
        return found
    fetched = find(build_id, "debuginfo", binary.name) if build_id else None
    return fetched or binary


def by_build_id(build_id: str, root: Path | None = None) -> Path | None:
    """The file with what was stripped off the ELF file with that build id."""
    for debug in _folders(root):
        found = debug / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
        if has_build_id(found, build_id):
            return found
    return None


def kept_by_perf(build_id: str) -> Path | None:
    """The copy of a program or library that ``perf record`` made (perf-buildid-cache(1))."""
    found = Path.home() / ".debug/.build-id" / build_id[:2] / build_id[2:] / "elf"
    return found if has_build_id(found, build_id) else None


def kernel_debug_elf(build_id: str | None, release: str) -> Path | None:
    """The debug ELF with that build id, where distributions, perf and kernel builds put it."""
    if not build_id:
        return None
    if found := by_build_id(build_id):
        return found
    shards = (build_id[:2], build_id[2:])
    candidates = [
        Path.home() / ".debug/.build-id" / shards[0] / shards[1] / "vmlinux",
        Path("vmlinux"),
    ]
    if release and "/" not in release:
        candidates += [
            _DEBUG / f"lib/modules/{release}/vmlinux",
            _DEBUG / f"usr/lib/modules/{release}/vmlinux",
            _DEBUG / f"boot/vmlinux-{release}",
            _DEBUG / f"boot/vmlinux-{release}.debug",
            Path(f"/lib/modules/{release}/build/vmlinux"),
            Path(f"/boot/vmlinux-{release}"),
        ]
    for candidate in candidates:
        if is_elf(candidate) and build_id_of(candidate) == build_id:
            return candidate
    return None


def _folders(root: Path | None) -> Iterator[Path]:
    if root:
        yield root / _DEBUG.relative_to("/")
    yield _DEBUG


def _linked(binary: Path, name: str, crc: int, root: Path | None) -> Path | None:
    """The file that ``.gnu_debuglink`` names, where gdb looks for it, if its content is the one
    that is meant."""
    real = binary.resolve()
    for folder in dict.fromkeys([binary.absolute().parent, real.parent]):
        inside = folder.relative_to("/")
        if root and folder.is_relative_to(root.absolute()):
            inside = folder.relative_to(root.absolute())
        for place in (folder, folder / ".debug", *(debug / inside for debug in _folders(root))):
            found = place / name
            if found != real and is_elf(found) and _crc(found) == crc:
                return found
    return None


@cache
def _crc(path: Path) -> int | None:
    """The CRC-32 of a file's content (gdb's manual, "Separate Debug Files")."""
    crc = 0
    try:
        with bounded.open_regular(path) as file:
            while part := file.read(_PART):
                crc = zlib.crc32(part, crc)
    except OSError:
        return None
    return crc


def is_elf(path: Path) -> bool:
    """Whether that is a file that begins as ELF files do."""
    try:
        return bounded.head(path, 4) == b"\x7fELF"
    except OSError:
        return False


@cache
def build_id_of(path: Path) -> str | None:
    """The build id of an ELF file; None where it has none, or cannot be read. Asked once a file."""
    return _build_id(path)


def has_build_id(path: Path, build_id: str) -> bool:
    """Whether that is an ELF file with that build id, now."""
    return is_elf(path) and _build_id(path) == build_id


@cache
def is_unreadable(path: Path) -> bool:
    """Whether what begins as ELF files do cannot be read as one: it is damaged, or of 32 bits."""
    try:
        elf_build_id(str(path))
    except NativeError:
        return True
    return False


def _build_id(path: Path) -> str | None:
    try:
        return elf_build_id(str(path))
    except NativeError:
        return None


Kind = Literal["debuginfo", "executable"]
# A server that failed is not asked again for the next of many files.
_failed: set[str] = set()


def servers() -> list[str]:
    """The servers that the user names, in their order."""
    words = os.environ.get("DEBUGINFOD_URLS", "").split()
    # Newer clients take what to do about signatures among them.
    return [word.rstrip("/") for word in words if not word.startswith("ima:")]


def cache_root() -> Path:
    """Where debuginfod's client keeps its files."""
    if own := os.environ.get("DEBUGINFOD_CACHE_PATH"):
        return Path(own)
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "debuginfod_client"


@cache
def find(build_id: str, kind: Kind, name: str) -> Path | None:
    """The file with that build id: kept, or fetched now; None where no server has it. ``name``:
    what it is, for messages. A server that fails is told of, and nothing is raised."""
    if not re.fullmatch(r"[0-9a-f]{8,128}", build_id):
        return None
    path = cache_root() / build_id / kind
    if has_build_id(path, build_id):
        return path
    for server in servers():
        if server in _failed:
            continue
        # Few need it, and it loads rich.

        try:
            if fetch(server, build_id, path, name):
                return path
        except FetchError as error:
            _failed.add(server)
            tell(f"debuginfod: {error}")
    return None


# Seconds in which a server must have sent its first bytes; seconds for a whole file, where the
# client has no limit; and the largest ELF file that is read.
_TIMEOUT = 90.0
_MAX_TIME = 3600.0
_MAX_SIZE = 8 << 30


class FetchError(ProfdiffError):
    """Why a server gave no file, in a clause."""


def fetch(server: str, build_id: str, path: Path, name: str) -> bool:
    """Whether the server has the file whose kind is the name of ``path``, which is there then.
    ``name``: what it is, for messages. Raises FetchError."""
    try:
        _fetch(f"{server}/buildid/{build_id}/{path.name}", path, build_id, name)
    except (OSError, http.HttpError) as error:
        if isinstance(error, http.HttpError) and error.status == 404:
            return False
        why = told(error) if isinstance(error, OSError) else str(error)
        raise FetchError(f"{http.host(server)} is not asked again: {why}") from error
    return True


def _fetch(url: str, path: Path, build_id: str, name: str) -> None:
    """Put the file at ``path``. Raises OSError, HttpError."""
    bounds = http.Bounds(
        _limit("DEBUGINFOD_MAXSIZE", _MAX_SIZE),
        _limit("DEBUGINFOD_MAXTIME", _MAX_TIME),
        _limit("DEBUGINFOD_TIMEOUT", _TIMEOUT),
    )
    with http.answered(url, bounds) as answer:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(beside=path) as folder:
            fetched = folder / path.name
            title = f"{name} from {http.host(url)}"
            with _shown(title, answer.length) as show, fetched.open("wb") as file:
                for part in answer.content():
                    file.write(part)
                    show(file.tell())
            size = fetched.stat().st_size
            if not has_build_id(fetched, build_id):
                raise http.HttpError(f"its file for {name} does not have the build id {build_id}")
            fetched.replace(path)
    tell(f"debuginfod: {name}, {http.told_size(size)} from {http.host(url)}")


def _limit(variable: str, usual: float) -> float:
    """The number that a variable holds, or the ``usual`` one where it holds none, or 0 for no
    limit."""
    text = os.environ.get(variable, "")
    return (int(text) if text.isdecimal() and len(text) < 16 else 0) or usual


@contextmanager
def _shown(title: str, whole: int | None) -> Iterator[Callable[[int], None]]:
    """Progress on a terminal: what to call with the number of bytes so far, of the ``whole`` file
    if its size is known."""
    of = f" of {http.told_size(whole)}" if whole else ""
    console = CleanConsole(stderr=True)
    if not console.is_terminal:
        yield lambda size: None
        return
    with console.status(title) as status:
        yield lambda size: status.update(f"{title}: {http.told_size(size)}{of}")
