"""Saved machines in the cache: each with its state, what it booted from, and its facts."""

import errno
import fcntl
import hashlib
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated
from weakref import WeakValueDictionary

import msgspec

from profdiff.base.atomic import link_or_copy, write_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.temporary import remove_left, temporary_folder

# Oldest first, what nobody uses goes beyond this. A state takes 35 to 90 MB.
LIMIT = 8 << 30
_ABOUT = "about.json"
# How often, and how long, somebody who removes one is waited for.
_TRIES, _PAUSE_SECONDS = 50, 0.1
# Checked once by this process.
_checked: set[tuple[int, int]] = set()
# What this process uses: one descriptor for each, however many use it.
_locks: "WeakValueDictionary[Path, _Lock]" = WeakValueDictionary()
_taking = threading.Lock()


class _About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What lies beside a state. ``facts``: files of runs, by what they are; ``sha256``: of every
    file, by its name."""

    label: str
    facts: Annotated[dict[str, str], msgspec.Meta(max_length=100)]
    sha256: Annotated[dict[str, str], msgspec.Meta(max_length=100)]


@dataclass(frozen=True)
class MachineState:
    """The saved machine in ``folder``, which stays there as long as this object lives. ``facts``:
    files of its guest's, by what they are."""

    folder: Path
    facts: dict[str, str]
    _lock: "_Lock" = field(repr=False)

    @property
    def state(self) -> Path:
        """What QEMU restores."""
        return self.folder / "machine"

    @property
    def initramfs(self) -> Path:
        """What it booted from."""
        return self.folder / "initramfs"

    def give_facts(self, folder: Path) -> dict[str, str]:
        """Put the facts into the folder of a run: its files, by what they are. Raises OSError."""
        for name in self.facts.values():
            if not (folder / name).exists():
                link_or_copy(self.folder / name, folder / name)
        return dict(self.facts)


class _Lock:
    """Shared with other users of a state, until it is forgotten."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __del__(self) -> None:
        os.close(self._descriptor)

    def is_of(self, folder: Path) -> bool:
        """Whether it is the one in ``folder`` now."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), (folder / _ABOUT).lstat())
        except OSError:
            return False


def states() -> Path:
    """The folder of saved machines. Raises MissingError."""
    return cache_folder("states")


def find(key: str) -> MachineState | None:
    """The machine that was saved as ``key``; None if there is none. A damaged one goes. Raises
    MissingError, OSError."""
    folder = states() / key
    if (lock := _shared_lock(folder)) is None:
        # What is left of one: somebody was ended while he removed it, or deleted some of its files.
        _remove(folder)
        return None
    try:
        about = msgspec.json.decode((folder / _ABOUT).read_bytes(), type=_About)
    except (msgspec.DecodeError, OSError):
        about = None
    if about is None or not _is_whole(folder, about):
        del lock
        _remove(folder)
        return None
    # How long nobody used it.
    os.utime(folder)
    return MachineState(folder, dict(about.facts), lock)


def keep(key: str, label: str, fill: Callable[[Path], dict[str, str]]) -> MachineState:
    """Save a machine as ``key``: ``fill`` puts its files into a folder, and returns the names of
    its facts. Where another process did so meanwhile, that one's is it. ``label``: of its kernel,
    for people. Raises what ``fill`` does, MissingError, OSError."""
    remove_unused(keep_bytes=LIMIT)
    place = states() / key
    with temporary_folder(beside=place) as folder:
        facts = fill(folder)
        names = sorted(path.name for path in folder.iterdir())
        about = _About(label, facts, {name: _sha256(folder / name) for name in names})
        write_atomic(folder / _ABOUT, msgspec.json.encode(about))
        # Before others see it, and could remove it.
        descriptor = _locked(folder, fcntl.LOCK_SH)
        if descriptor is None:
            raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK), str(folder))
        lock = _Lock(descriptor)
        for _ in range(_TRIES):
            try:
                folder.rename(place)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise
            else:
                with _taking:
                    _locks[place] = lock
                return MachineState(place, facts, lock)
            if found := find(key):
                return found
            # Somebody is removing it.
            time.sleep(_PAUSE_SECONDS)
    raise OSError(errno.EBUSY, "a saved machine is damaged, and in use: delete it", str(place))


def remove_unused(days: float = 0, keep_bytes: int = 0) -> tuple[int, int]:
    """Remove saved machines that nobody used for ``days`` nor uses now, oldest first, until at most
    ``keep_bytes`` are left: how many went, and how many bytes. What is left of others goes, too.

    Raises MissingError, OSError.
    """
    remove_left(states())
    for folder in states().iterdir():
        if not folder.name.startswith(".") and _is_left(folder):
            _remove(folder)
    before = time.time() - days * 86400
    sizes = {folder: _size(folder) for folder in states().iterdir() if (folder / _ABOUT).exists()}
    total, number, freed = sum(sizes.values()), 0, 0
    for folder in sorted(sizes, key=_used):
        if total - freed > keep_bytes and _used(folder) <= before and _remove(folder):
            number, freed = number + 1, freed + sizes[folder]
    return number, freed


def _remove(folder: Path) -> bool:
    """Remove a saved machine unless it is in use, or what is left of one; whether a whole one
    went."""
    descriptor = _locked(folder, fcntl.LOCK_EX)
    try:
        if descriptor is None and not _is_left(folder):
            return False
        # At once for all others, also if this process is ended before the files are gone.
        with temporary_folder(beside=folder) as trash:
            moved = folder.rename(trash / folder.name)
            if descriptor is None and not _is_left(moved):
                # Somebody saved it meanwhile.
                moved.rename(folder)
    except OSError:
        # Somebody else removed it, or it is not ours to remove.
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return descriptor is not None


def _is_left(folder: Path) -> bool:
    """Whether it is not a whole one, which nobody can use."""
    return folder.is_dir() and not os.path.lexists(folder / _ABOUT)


def _shared_lock(folder: Path) -> _Lock | None:
    """This process's lock of a saved machine, as ``_locked``."""
    with _taking:
        lock = _locks.get(folder)
        if lock is None or not lock.is_of(folder):
            if (descriptor := _locked(folder, fcntl.LOCK_SH)) is None:
                return None
            _locks[folder] = lock = _Lock(descriptor)
        return lock


def _locked(folder: Path, kind: int) -> int | None:
    """A descriptor that holds a lock of a saved machine; None where there is none, or somebody
    else's lock forbids it. Raises OSError where too many files are open."""
    path = folder / _ABOUT
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE):
            raise
        return None
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        # Removed between both, and perhaps saved anew.
        if os.path.samestat(os.fstat(descriptor), path.lstat()):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _is_whole(folder: Path, about: _About) -> bool:
    if not {"machine", "initramfs", *about.facts.values()} <= about.sha256.keys():
        return False
    try:
        for name, digest in about.sha256.items():
            if "/" in name or name.startswith("."):
                return False
            status = (folder / name).lstat()
            identity = status.st_ino, status.st_mtime_ns
            if identity in _checked:
                continue
            if _sha256(folder / name) != digest:
                return False
            _checked.add(identity)
    except OSError:
        return False
    return True


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _size(folder: Path) -> int:
    try:
        return sum(path.lstat().st_size for path in folder.iterdir())
    except OSError:
        return 0


def _used(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
