"""Programs for guests of another architecture: Debian's, unpacked."""

from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.kernels.apt import Apt

# The release whose programs run in arm64 guests; any kernel does.
SUITE = "bookworm"
_PROGRAMS = ("linux-perf", "busybox-static")
_FILES = [
    "./usr/bin/perf*",
    "./bin/busybox",
    "./usr/bin/busybox",
    "./lib/aarch64-linux-gnu/*",
    "./lib/ld-linux-aarch64.so.1",
    "./usr/lib/aarch64-linux-gnu/*.so*",
]


def arm64_busybox() -> Path:
    """A static busybox for arm64. Raises MissingError, InputError."""
    root = userland()
    for name in ("usr/bin/busybox", "bin/busybox"):
        if (root / name).is_file():
            return root / name
    raise MissingError("Debian's busybox-static for arm64 holds no busybox")


def userland() -> Path:
    """Debian's arm64 perf and busybox with what they need, downloaded once."""
    target = cache_folder("userland") / f"{SUITE}-arm64"
    if target.is_dir():
        return target
    try:
        apt = Apt((SUITE,), "arm64")
        packages = apt.closure(_PROGRAMS)
        return apt.unpack("perf and busybox for arm64", packages, target, _FILES)
    except InputError as error:
        raise MissingError(f"no perf for arm64 guests: {error}") from error
