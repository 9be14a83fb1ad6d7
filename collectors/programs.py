"""Programs of this machine that collectors call."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.collectors.architecture import ARCHITECTURES

# What Debian and its relatives call the package that holds a program.
_PACKAGES = {
    "perf": "linux-perf",
    "ssh": "openssh-client",
    "busybox": "busybox-static",
    "cc": "gcc libc6-dev",
    "c++": "g++",
    "ld": "binutils",
    "objcopy": "binutils",
} | {name: package for one in ARCHITECTURES for name, package in one.packages.items()}
# Releases of Debian whose backports have a QEMU that is newer by more than its fixes.
_BACKPORTED = ("bookworm",)
_DEBIANS_OWN = ("apt-get", "apt-cache", "dpkg-deb")


def fix(name: str) -> str:
    """What to do where the program ``name`` is not on PATH."""
    if name in _DEBIANS_OWN:
        return (
            "Debian's packages need Debian or a derivative; name the kernel's image and vmlinux "
            "instead"
        )
    return f"apt-get install {_PACKAGES.get(name, name)}"


def newer(name: str, release: Path = Path("/etc/os-release")) -> str:
    """What installs a newer version of the program ``name`` than this machine's Debian has by
    itself; "" where nothing is known to."""
    try:
        told = release.read_text(errors="replace")
    except OSError:
        return ""
    words = dict(line.partition("=")[::2] for line in told.splitlines())
    suite = words.get("VERSION_CODENAME", "").strip("\"'")
    if words.get("ID") != "debian" or suite not in _BACKPORTED:
        return ""
    source = f"deb http://deb.debian.org/debian {suite}-backports main"
    return (
        f"echo '{source}' > /etc/apt/sources.list.d/backports.list && apt-get update && "
        f"apt-get install -t {suite}-backports {_PACKAGES.get(name, name)}"
    )


def find_program(name: str) -> Path:
    """The program ``name`` on PATH. Raises MissingError that says what to do."""
    path = shutil.which(name)
    if path is None:
        raise MissingError(f"{name} is not installed: {fix(name)}")
    return Path(path)


def every_program(name: str) -> Iterator[Path]:
    """The programs of that name on PATH, and in the usual places for what no package installs."""
    usual = ("/usr/local/bin", *sorted(map(str, Path("/opt").glob("*/bin"))))
    for folder in dict.fromkeys([*os.environ.get("PATH", "").split(os.pathsep), *usual]):
        if folder and (path := shutil.which(name, path=folder)):
            yield Path(path)
