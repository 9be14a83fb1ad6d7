"""Where the files that a recording names are on this machine."""

import os
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.errors import MissingError
from profdiff.symbolization import debug_files
from profdiff.symbolization.debug_files import (
    build_id_of,
    by_build_id,
    debug_file,
    is_elf,
    is_unreadable,
    kept_by_perf,
)

VDSO = "[vdso]"
DELETED = " (deleted)"
"""What the kernel puts behind the path of a file that has none any more."""
# What machine.sh works in: mktemp's name, then the path that a guest would have.
_MACHINE_FOLDER = re.compile(r"^.*/profdiff\.[A-Za-z0-9]{6}(?=/work/)")


class Binaries(msgspec.Struct, frozen=True):
    """Finds what a recording mapped. ``files``: copies by their path there. ``root``: a folder that
    holds that machine's files (perf's --symfs). ``local``: it was recorded on this machine, whose
    files are they also where the recording has no build id to tell by.
    """

    files: Mapping[str, Path] = msgspec.field(default_factory=dict)
    root: Path | None = None
    local: bool = True

    def find(self, path: str, build_id: str | None) -> Path | str:
        """The file that was mapped, or the reason why there is none: ``no-file``, or
        ``other-build`` where its build id is not the recorded one. A file that cannot be read, and
        so has none, is the last one that is taken."""
        if build_id:
            # Another file may have its name by now: the build id tells.
            path = path.removesuffix(DELETED)
        reason: Path | str = "no-file"
        for candidate in self._copies(path):
            if is_elf(candidate) and build_id in (None, build_id_of(candidate)):
                return candidate
            if is_elf(candidate) and is_unreadable(candidate):
                reason = candidate
        for candidate in self._own(path):
            if not is_elf(candidate) or (build_id is None and not self.local):
                continue
            if build_id in (None, build_id_of(candidate)):
                return candidate
            reason = candidate if is_unreadable(candidate) else "other-build"
        if build_id and path.startswith("/"):
            found = kept_by_perf(build_id) or by_build_id(build_id, self.root)
            name = path.rsplit("/", 1)[-1]
            return found or debug_files.find(build_id, "executable", name) or reason
        return reason

    def elf_files(self) -> dict[str, Path]:
        """The copies that are ELF files, by their path there."""
        return {path: copy for path, copy in self.files.items() if is_elf(copy)}

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
        return debug_file(binary, self.root)

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
