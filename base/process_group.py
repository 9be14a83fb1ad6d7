"""A process with all that it started: a group of its own, which ends together."""

import contextlib
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

_ENDING = 5.0
# epoll_wait(2) takes milliseconds in 31 bits.
_LONGEST = 2e6


def run(
    command: Sequence[str],
    seconds: float,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    pass_fds: Sequence[int] = (),
) -> "subprocess.CompletedProcess[str]":
    """What a command does and says, which asks nothing. Raises TimeoutExpired where it was ended
    after ``seconds``. Nobody waits for what it leaves open."""
    with TemporaryFile() as out, TemporaryFile() as errors:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            pass_fds=pass_fds,
            process_group=0,
        )
        try:
            late = not _waited(process, seconds)
        except BaseException:
            end(process, _ENDING)
            raise
        if late:
            end(process, _ENDING)
            raise subprocess.TimeoutExpired(command, seconds)
        status = process.wait()
        out.seek(0)
        errors.seek(0)
        said, complained = (one.read().decode(errors="replace") for one in (out, errors))
    return subprocess.CompletedProcess(list(command), status, said, complained)


def end(process: "subprocess.Popen[Any]", patience: float) -> None:
    """Tell the group of ``process``, its leader, to end, and kill what is left of it when the
    leader has ended, or ``patience`` seconds later."""
    _tell(process, signal.SIGTERM)
    if process.returncode is None:
        _waited(process, patience)
        # Before the leader is waited for: its number is nobody else's until then.
        _tell(process, signal.SIGKILL)
    process.wait()


def _waited(process: "subprocess.Popen[Any]", seconds: float) -> bool:
    """Whether it ends within ``seconds``; it is still to be waited for."""
    descriptor = os.pidfd_open(process.pid)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            return bool(selector.select(min(seconds, _LONGEST)))
    finally:
        os.close(descriptor)


def _tell(process: "subprocess.Popen[Any]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
