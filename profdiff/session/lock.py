"""Who records into a folder keeps other recorders out of it."""

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from profdiff.base.atomic import naming, remove_unfinished
from profdiff.base.errors import InputError, SessionError
from profdiff.session.held import FOLDERS, held, refuse_occupied

_recording: set[Path] = set()
"""The folders that this process records into."""


@contextlib.contextmanager
def recording(folder: Path) -> Iterator[None]:
    """Keep other recorders out of a folder, which is made if absent, and of all in it; what a
    killed one left half written goes.
    Raises InputError when one is at work, OSError."""
    if held(folder) is None:
        refuse_occupied(folder)
    folder.mkdir(parents=True, exist_ok=True)
    place = folder.resolve()
    # A suite is a part's folder's, or that of the several that it is one of.
    suite = next((one for one in (place.parent, place.parent.parent) if held(one) == "suite"), None)
    with contextlib.ExitStack() as locks:
        if suite and suite not in _recording:
            # With others that record other parts of it.
            locks.enter_context(_locked(suite, fcntl.LOCK_SH))
        locks.enter_context(_locked(folder, fcntl.LOCK_EX))
        for name in ("", *FOLDERS):
            remove_unfinished(folder / name)
        _recording.add(place)
        locks.callback(_recording.discard, place)
        with naming(folder):
            yield


@contextlib.contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """Raises InputError when another recorder is at work, SessionError, OSError."""
    # A stranger's session may have a link or a FIFO of that name.
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(folder / ".lock", flags, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise SessionError(
            f"{folder / '.lock'} is a link, which profdiff never makes: delete it"
        ) from None
    try:
        try:
            fcntl.flock(descriptor, how | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"{folder} is being recorded by another process") from None
        yield
    finally:
        os.close(descriptor)
