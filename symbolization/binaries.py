"""Where the files that a recording names are on this machine: programs, debug files, kernels."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.errors import MissingError
from profdiff.symbolization._native import NativeError, elf_build_id

# Where distributions put what was stripped off (gdb's and perf's places).
_DEBUG = Path("/usr/lib/debug")
VDSO = "[vdso]"
# What machine.sh works in: mktemp's name, then the path that a guest would have.
_MACHINE_FOLDER = re.compile(r"^.*/profdiff\.[A-Za-z0-9]{6}(?=/work/)")


@dataclass(frozen=True)
class Binaries:
    """Finds what a recording mapped. ``files``: copies by their path there. ``root``: a folder that
    holds that machine's files (perf's --symfs). ``local``: it was recorded on this machine, whose
    files are they also where the recording has no build id to tell by.
    """

    files: Mapping[str, Path] = field(default_factory=dict)
    root: Path | None = None
    local: bool = True

    def find(self, path: str, build_id: str | None) -> Path | str:
        """The file that was mapped, or the reason why there is none: ``no-file``, or
        ``other-build`` where its build id is not the recorded one."""
        reason = "no-file"
        for candidate in self._copies(path):
            if _is_elf(candidate) and build_id in (None, _build_id(candidate)):
                return candidate
        for candidate in self._own(path):
            if not _is_elf(candidate) or (build_id is None and not self.local):
                continue
            if build_id in (None, _build_id(candidate)):
                return candidate
            reason = "other-build"
        if build_id:
            unpacked = _DEBUG / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
            if unpacked.is_file() and _build_id(unpacked) == build_id:
                return unpacked
        return reason

    def elf_files(self) -> dict[str, Path]:
        """The copies that are ELF files, by their path there."""
        return {path: copy for path, copy in self.files.items() if _is_elf(copy)}

    def _copies(self, path: str) -> list[Path]:
        found = []
        # On another machine the workload ran in a folder of its own.
        name = _MACHINE_FOLDER.sub("", path)
        if name in self.files:
            found.append(self.files[name])
        parts = Path(path).parts
        if self.root and ".." not in parts:
            found.append(self.root.joinpath(*parts[1:]))
        return found

    def _own(self, path: str) -> list[Path]:
        if path == VDSO:
            return [own] if self.local and (own := own_vdso()) else []
        return [Path(path)] if path.startswith("/") else []

    def debug_file(self, binary: Path) -> Path:
        """The file with the symbols and debug information of ``binary``: itself, or what was
        stripped off it."""
        build_id = _build_id(binary)
        if build_id:
            debug = _DEBUG / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
            if debug.is_file() and _build_id(debug) == build_id:
                return debug
        return binary

    def perf_map(self, pid: int) -> Path | None:
        """The map that a JIT in that process wrote."""
        name = f"/tmp/perf-{pid}.map"  # noqa: S108 (perf's fixed place)
        if name in self.files:
            return self.files[name]
        for folder in [*([self.root] if self.root else []), *([Path("/")] if self.local else [])]:
            candidate = folder / name[1:]
            # A map of another user could name this recording's addresses as he likes.
            if candidate.is_file() and candidate.stat().st_uid in (os.getuid(), 0):
                return candidate
        return None


def kernel_debug_elf(build_id: str | None, release: str) -> Path | None:
    """The debug ELF with that build id, where distributions, perf and kernel builds put it."""
    if not build_id:
        return None
    shards = (build_id[:2], build_id[2:])
    home = Path.home() / ".debug/.build-id" / shards[0] / shards[1]
    candidates = [_DEBUG / ".build-id" / shards[0] / f"{shards[1]}.debug", home / "vmlinux"]
    if release and "/" not in release:
        candidates += [
            _DEBUG / f"lib/modules/{release}/vmlinux",
            _DEBUG / f"boot/vmlinux-{release}",
            Path(f"/lib/modules/{release}/build/vmlinux"),
            Path(f"/boot/vmlinux-{release}"),
        ]
    for candidate in candidates:
        if _is_elf(candidate) and _build_id(candidate) == build_id:
            return candidate
    return None


@cache
def own_vdso() -> Path | None:
    """This kernel's vDSO as a file in the cache; None where it cannot be read."""
    try:
        for line in Path("/proc/self/maps").read_text().splitlines():
            if line.endswith(VDSO):
                start, _, end = line.split()[0].partition("-")
                with Path("/proc/self/mem").open("rb") as memory:
                    memory.seek(int(start, 16))
                    content = memory.read(int(end, 16) - int(start, 16))
                path = cache_folder("symbols") / f"vdso-{os.uname().release}.so"
                if not path.is_file() or path.read_bytes() != content:
                    write_atomic(path, content, durable=False)
                return path
    except (OSError, MissingError, ValueError):
        return None
    return None


def _is_elf(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


@cache
def _build_id(path: Path) -> str | None:
    try:
        return elf_build_id(str(path))
    except NativeError:
        return None
