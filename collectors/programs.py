"""Programs of this machine that collectors call."""

import shutil
from pathlib import Path

from profdiff.base.errors import MissingError

# What Debian and its relatives call the package that holds a program.
_PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-system-aarch64": "qemu-system-arm",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    "perf": "linux-perf",
    "ssh": "openssh-client",
    "busybox": "busybox-static",
    "cpio": "cpio",
    "cc": "gcc libc6-dev",
}
_DEBIANS_OWN = ("apt-get", "apt-cache", "dpkg-deb")


def find_program(name: str) -> Path:
    """The program ``name`` on PATH. Raises MissingError with the command that installs it."""
    path = shutil.which(name)
    if path is None:
        if name in _DEBIANS_OWN:
            raise MissingError(
                f"{name} is not on this machine: Debian's packages need Debian or a relative of "
                "it; name the kernel's image and vmlinux instead"
            )
        package = _PACKAGES.get(name, name)
        raise MissingError(f"{name} is not installed: apt-get install {package}")
    return Path(path)
