"""Programs for guests of another architecture: Debian's, unpacked."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.kernels.apt import Apt


def foreign_busybox(architecture: Architecture) -> Path:
    """A static busybox for an architecture. Raises MissingError."""
    files = ("./bin/busybox", "./usr/bin/busybox")
    root = _unpacked("busybox-static", _busybox(architecture), files, architecture)
    for name in ("usr/bin/busybox", "bin/busybox"):
        if (root / name).is_file():
            return root / name
    raise MissingError(f"Debian's busybox-static for {architecture.debian} holds no busybox")


def has_busybox(architecture: Architecture) -> bool:
    """Whether it is unpacked already."""
    return _busybox(architecture).is_dir()


def foreign_perf(architecture: Architecture) -> Path:
    """A root folder with perf for an architecture, and what it needs. Raises MissingError."""
    libraries = f"./lib/{architecture.triplet}/*", f"./usr/lib/{architecture.triplet}/*.so*"
    loaders = "./lib*/ld-linux-*.so.*", "./usr/lib*/ld-linux-*.so.*"
    files = ("./usr/bin/perf*", *loaders, *libraries)
    root = _unpacked("linux-perf", _folder(architecture), files, architecture)
    # Since trixie, packages have all below /usr, and another one has the link.
    if not (root / "lib").exists():
        with contextlib.suppress(FileExistsError):
            (root / "lib").symlink_to("usr/lib")
    return root


def _folder(architecture: Architecture) -> Path:
    return cache_folder("userland") / f"{architecture.suite}-{architecture.debian}"


def _busybox(architecture: Architecture) -> Path:
    folder = _folder(architecture)
    return folder.with_name(f"{folder.name}-busybox")


def _unpacked(package: str, target: Path, files: Sequence[str], architecture: Architecture) -> Path:
    """The folder ``target`` with what matches ``files`` (tar's wildcards) of a package and of those
    that it needs, downloaded once."""
    if target.is_dir():
        return target
    try:
        apt = Apt((architecture.suite,), architecture.debian)
        what = f"{package} for {architecture.debian}"
        return apt.unpack(what, apt.closure((package,)), target, files)
    except InputError as error:
        raise MissingError(f"no {package} for {architecture.debian} guests: {error}") from error
