"""What a node does: each function runs in a worker of the cluster."""

import socket
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from profdiff import __version__
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
from profdiff.recording.cluster.emulators import found_here
from profdiff.recording.cluster.errand import INPUTS, SHARED, Errand, Left, Needs, Told, packed
from profdiff.recording.cluster.store import Store

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
