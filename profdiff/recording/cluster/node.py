"""What a node does: each function runs in a worker of the cluster.

A node's files by their content: what travelled there stays there, and is checked when it is
used.
"""

import contextlib
import hashlib
import os
import re
import shutil
import socket
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from profdiff import __version__
from profdiff.base.atomic import write_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError, ProfdiffError
from profdiff.base.processes import wait_readable
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest.delivery import make_shared
from profdiff.collectors.guest.qemu import plugin_refusal
from profdiff.collectors.guest.run import GuestRun
from profdiff.collectors.guest.saved_run import RestoredRun
from profdiff.collectors.records import Failure
from profdiff.recording.cluster.errand import (
    INPUTS,
    SHARED,
    Errand,
    Left,
    Needs,
    Told,
    found_here,
    packed,
)

# What a node keeps, in bytes. What was used last stays.
MOST = 32 << 30
_DIGEST = re.compile(r"[0-9a-f]{64}")


class Store:
    """The folder ``root`` with a file for each content, named by its sha256."""

    def __init__(self, root: Path, most: int = MOST) -> None:
        self.root = root
        self._most = most
        # What shows that the files that this process has read are still the same.
        self._checked: dict[str, tuple[int, int]] = {}

    def lacking(self, digests: Iterable[str]) -> list[str]:
        """Those of ``digests`` that are not here."""
        return [digest for digest in digests if not self._path(digest).is_file()]

    def keep(self, digest: str, data: bytes) -> None:
        """Keep ``data``. Raises InputError when they are not of ``digest``, OSError."""
        if hashlib.sha256(data).hexdigest() != digest:
            raise InputError(f"what arrived is not what was sent ({digest[:16]})")
        self.root.mkdir(parents=True, exist_ok=True)
        write_atomic(self._path(digest), data, durable=False)
        self._trim(digest)

    def link(self, digest: str, target: Path) -> None:
        """Make ``target`` the file, which it stays if the store lets it go. Raises
        FileNotFoundError when it is damaged, which removes it, OSError."""
        path = self._path(digest)
        status = path.stat()
        # Once in a process: restored states are large. Links and use change the inode's times.
        mark = (status.st_ino, status.st_size)
        if self._checked.get(digest) != mark:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != digest:
                path.unlink(missing_ok=True)
                # As one that is gone: it is sent again, and the node is none the worse for it.
                raise FileNotFoundError(f"the file {digest[:16]} was damaged and is sent again")
            self._checked[digest] = mark
        os.utime(path)
        try:
            os.link(path, target)
        except OSError:
            shutil.copyfile(path, target)

    def _path(self, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise InputError(f"{digest!r} is not a sha256")
        return self.root / digest

    def _trim(self, newest: str) -> None:
        """Remove what was not used for the longest time, until the rest is within bounds."""
        known = []
        for path in self.root.iterdir():
            if _DIGEST.fullmatch(path.name) and path.name != newest:
                with contextlib.suppress(FileNotFoundError):
                    status = path.stat()
                    known.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in known) + self._path(newest).stat().st_size
        for _, size, path in sorted(known):
            if total > self._most:
                path.unlink(missing_ok=True)
                total -= size


_POLL_SECONDS = 0.05


@cache
def _store() -> Store:
    """One for all threads of this worker. Raises MissingError."""
    return Store(cache_folder("cluster"))


def tell(needs: Needs) -> Told:
    """Whether this node can take part."""
    host = socket.gethostname()
    kept = ""
    try:
        kept = f"{host}:{_store().root}"
        return Told(host, kept, _refusal(needs))
    except (ProfdiffError, OSError) as error:
        return Told(host, kept, str(error))


def _refusal(needs: Needs) -> str | None:
    if needs.profdiff != __version__:
        return f"its profdiff is {__version__}, not {needs.profdiff}"
    for digest, (data, _) in needs.plugins.items():
        if _store().lacking([digest]):
            _store().keep(digest, data)
    for wanted in needs.emulators:
        qemu, found = found_here(wanted)
        if refusal := wanted.refusal(found):
            return refusal
        for digest, (_, arguments) in needs.plugins.items():
            if said := plugin_refusal(qemu.program, _store().root / digest, arguments):
                return f"its QEMU does not load profdiff's plugin: {said}"
    return None


def lacking(digests: Sequence[str]) -> list[str]:
    """The files that this node does not have. Raises MissingError."""
    return _store().lacking(digests)


def keep(digest: str, data: bytes) -> None:
    """Keep a file. Raises InputError when it is another one, OSError."""
    _store().keep(digest, data)


def make(errand: Errand) -> Left:
    """Make a run. Raises MissingError, InputError, OSError."""
    # Beside the store: what a guest boots from is linked, not copied.
    with temporary_folder(beside=_store().root / "run") as folder:
        (folder / INPUTS).mkdir()
        for digest in errand.inputs:
            _store().link(digest, folder / INPUTS / digest)
        qemu, found = found_here(errand.emulator)
        if refusal := errand.emulator.refusal(found):
            raise MissingError(refusal)
        arguments = [str(qemu.program), *qemu.own_arguments, *errand.arguments]
        run = _started(errand, arguments, folder, qemu.architecture)
        ended = False
        try:
            while not ended and not _is_unwanted():
                wait_readable(run.listening, _POLL_SECONDS)
                ended = run.poll()
        finally:
            if not ended:
                run.stop()
        outcome = run.result(errand.members)
        try:
            files = packed(folder, without={"channel", SHARED})
        except InputError as error:
            outcome, files = Failure("protocol", str(error)), {}
        told = run.arguments if isinstance(run, RestoredRun) else arguments
        return Left(socket.gethostname(), told, run.wall_seconds, outcome, files)


def _started(
    errand: Errand, arguments: list[str], folder: Path, architecture: Architecture
) -> GuestRun:
    one, timeout = errand.restored, errand.timeout
    if one is None:
        return GuestRun(arguments, folder, timeout, at=folder)
    make_shared(folder / SHARED, one.room)
    delivery = (folder / INPUTS / one.delivery).read_bytes()
    state = folder / INPUTS / one.state
    return RestoredRun(
        arguments, folder, timeout, state, folder / SHARED, delivery, architecture, at=folder
    )


def _is_unwanted() -> bool:
    """Whether nobody waits for this task any more: the recorder took it back, or is gone."""
    from distributed import get_worker

    worker = get_worker()
    task = worker.state.tasks.get(worker.get_current_task())
    return task is None or task.state == "cancelled"
