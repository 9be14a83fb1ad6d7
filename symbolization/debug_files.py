"""Where the symbols and debug information of an ELF file are: in it, or in a file of their own."""

import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from profdiff.base import bounded
from profdiff.symbolization import _native, debuginfod
from profdiff.symbolization.elf_file import build_id_of, has_build_id, is_elf

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
    fetched = debuginfod.find(build_id, "debuginfo", binary.name) if build_id else None
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
