"""Kernels that were built, in the cache: each in a folder named by its key, whole or not there."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from profdiff.base.bounded import read
from profdiff.base.cache import cache_folder, cache_path
from profdiff.collectors.records import BuiltFrom

_MAX_BYTES = 1 << 20
# So many builds tell what the next one takes: those before them may have had more to do.
_LATEST = 4
RECIPE = 1
"""The version of how profdiff builds: a build with another version is not the same."""
_ABOUT, _USED = "build.json", "used"
_Amount = Annotated[float, msgspec.Meta(ge=0, le=1e15)]


class About(msgspec.Struct, frozen=True, kw_only=True):
    """``objects``: the name of the folder of object files that it was built in, ``new`` if that
    was empty before. ``steps`` of make. ``lost``: options that the source does not have."""

    spec: str
    source: BuiltFrom
    release: str
    objects: str
    new: bool
    steps: int
    seconds: _Amount
    lost: list[str] = []


@dataclass(frozen=True)
class KeptKernel:
    """``size`` in bytes; ``used``: when somebody last asked for it, in seconds since the epoch."""

    folder: Path
    about: About
    size: int
    used: float

    @property
    def days(self) -> float:
        """Days since the kernel was last used."""
        return max(0.0, time.time() - self.used) / 86400


def key_of(*parts: str) -> str:
    """The name of the kernel that is made of ``parts``."""
    return hashlib.sha256("\0".join((str(RECIPE), *parts)).encode()).hexdigest()[:24]


def kept_folder(key: str) -> Path:
    """Where the kernel with that key is, or will be."""
    return cache_folder("builds", "kernels") / key


def write_about(folder: Path, about: About) -> None:
    """Write what is known of a kernel into its folder."""
    (folder / _ABOUT).write_bytes(msgspec.json.format(msgspec.json.encode(about), indent=1))
    (folder / _USED).touch()


def use(folder: Path) -> bool:
    """Note that somebody asks for the kernel; False where there is none."""
    try:
        (folder / _USED).touch()
    except FileNotFoundError:
        return False
    return True


def lost(folder: Path) -> list[str]:
    """The options of the kernel that are not as they were asked for."""
    about = _about(folder)
    return about.lost if about else []


class Lock:
    """The right to make or remove one kernel, which one process has at a time. Its file stays: who
    waits for it waits for that file."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.taken_by_another = False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.taken_by_another = True

    def wait(self) -> None:
        """Have it when the other process ends. Raises OSError."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let others have it before the block ends."""
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)


@contextlib.contextmanager
def lock(folder: Path) -> Iterator[Lock]:
    """The lock of the kernel that is, or will be, in ``folder``: held, or another's. Raises
    OSError."""
    path = folder.with_name(f".{folder.name}.lock")
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield Lock(descriptor)
    finally:
        os.close(descriptor)


def kept_kernels() -> list[KeptKernel]:
    """All of them, those that were used last first; what is damaged is passed over."""
    found = []
    for path in cache_path("builds", "kernels").glob(f"*/{_ABOUT}"):
        folder = path.parent
        about = _about(folder)
        if about is None:
            continue
        try:
            size = sum(file.stat().st_size for file in folder.iterdir())
            used = (folder / _USED).stat().st_mtime
        except OSError:
            continue
        found.append(KeptKernel(folder, about, size, used))
    return sorted(found, key=lambda one: -one.used)


def seconds_of_builds(repository: str, objects: str) -> tuple[list[float], list[float]]:
    """What builds of a repository with one config and compiler took: those that began with nothing,
    and the latest of those that went on from what others had left."""
    known = [kernel.about for kernel in kept_kernels()]
    own = [one for one in known if (one.source.repository, one.objects) == (repository, objects)]
    further = [one.seconds for one in own if not one.new]
    return [one.seconds for one in own if one.new], further[:_LATEST]


def _about(folder: Path) -> About | None:
    """What is known of a kernel; None where that is damaged."""
    try:
        return msgspec.json.decode(read(folder / _ABOUT, _MAX_BYTES), type=About)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def remove(kernel: KeptKernel) -> bool:
    """Remove a kernel; nobody sees half of it. False where somebody asks for it just now."""
    with lock(kernel.folder) as held:
        try:
            used = (kernel.folder / _USED).stat().st_mtime
        except OSError:
            return False
        if held.taken_by_another or used != kernel.used:
            return False
        gone = kernel.folder.with_name(f".{kernel.folder.name}.gone-{os.getpid()}")
        kernel.folder.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)
    return True
