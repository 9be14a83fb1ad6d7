"""What building kernels needs, for ``profdiff doctor``."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import ProfdiffError
from profdiff.base.units import file_size
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.machine.environment import Finding, program

_PROGRAMS = ("git", "make", "gcc", "ld", "objcopy", "flex", "bison", "bc")
_HEADERS = (("libelf.h", "libelf-dev", True), ("openssl/opensslv.h", "libssl-dev", False))
# What a kernel's worktree, the object files of one config, and a compiler's cache take.
_ROOM = 8_000_000_000


def building() -> list[Finding]:
    """Programs, headers, other compilers, and room in the cache."""
    found = [program(name) for name in _PROGRAMS]
    found += [_header(*one) for one in _HEADERS]
    for name, what in (
        ("ccache", "a revision that was built before is built again in a fraction of the time"),
        ("zstd", "kept kernels take a third of the room"),
    ):
        found.append(_optional(name, f"with it, {what}"))
    found.append(_compilers())
    for one in ARCHITECTURES:
        if not one.is_host:
            found.append(_optional(one.compiler, f"only kernels for {one.told} need it"))
    return [*found, _room()]


def _optional(name: str, why: str) -> Finding:
    """As ``program``; where it is not there, a note of ``why`` it may be wanted."""
    found = program(name)
    return found if found.state == "ok" else replace(found, state="note", value=why)


def _header(name: str, package: str, needed: bool) -> Finding:
    """Whether the compiler finds a header that host programs of Kbuild include."""
    try:
        done = subprocess.run(
            ["gcc", "-E", "-x", "c", "-"],
            input=f"#include <{name}>\n".encode(),
            capture_output=True,
            check=False,
            timeout=60,
        )
        there = done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        there = False
    if there:
        return Finding(package, "ok", name)
    told = f"no {name}" if needed else f"no {name}: only configs with signed modules need it"
    return Finding(package, "missing" if needed else "note", told, f"apt-get install {package}")


def _compilers() -> Finding:
    """What ``cc=`` can name here."""
    pattern = re.compile(r"(?:gcc|clang)-\d+")
    names = {
        path.name
        for folder in ("/usr/bin", "/usr/local/bin")
        for path in Path(folder).glob("*-[0-9]*")
        if pattern.fullmatch(path.name)
    }
    by_number = sorted(names, key=lambda name: (name.partition("-")[0], int(name.split("-")[1])))
    return Finding("compilers", "note", f"for cc=: {', '.join(by_number) or 'none but gcc'}")


def _room() -> Finding:
    try:
        folder = cache_folder("builds")
    except ProfdiffError as error:
        return Finding("room", "missing", str(error))
    free = shutil.disk_usage(folder).free
    enough = free >= _ROOM
    told = f"{file_size(free)} free in {folder}; a tree of Linux and its builds take some GB"
    fix = "" if enough else "profdiff kernel remove --unused --older-than 0, or set PROFDIFF_CACHE"
    return Finding("room", "ok" if enough else "note", told, fix)
