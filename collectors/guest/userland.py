"""Programs for guests of another architecture: Debian's, unpacked."""

from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.kernels.apt import Apt

# The release whose programs run in foreign guests; any kernel does.
SUITE = "bookworm"
_PROGRAMS = ("linux-perf", "busybox-static")
_FILES = ("./usr/bin/perf*", "./bin/busybox", "./usr/bin/busybox", "./lib*/ld-linux-*.so.*")


def foreign_busybox(architecture: Architecture) -> Path:
    """A static busybox for an architecture. Raises MissingError, InputError."""
    root = userland(architecture)
    for name in ("usr/bin/busybox", "bin/busybox"):
        if (root / name).is_file():
            return root / name
    raise MissingError(f"Debian's busybox-static for {architecture.debian} holds no busybox")


def has_userland(architecture: Architecture) -> bool:
    """Whether it is unpacked already."""
    return _place(architecture).is_dir()


def _place(architecture: Architecture) -> Path:
    return cache_folder("userland") / f"{SUITE}-{architecture.debian}"


def userland(architecture: Architecture) -> Path:
    """Debian's perf and busybox for an architecture with what they need, downloaded once."""
    name = architecture.debian
    target = _place(architecture)
    if target.is_dir():
        return target
    libraries = f"./lib/{architecture.triplet}/*", f"./usr/lib/{architecture.triplet}/*.so*"
    try:
        apt = Apt((SUITE,), name)
        packages = apt.closure(_PROGRAMS)
        wanted = [*_FILES, *libraries]
        return apt.unpack(f"perf and busybox for {name}", packages, target, wanted)
    except InputError as error:
        raise MissingError(f"no perf for {name} guests: {error}") from error
