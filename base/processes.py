"""Processes that share work, groups of them that end together, and waiting for what they send."""

import contextlib
import gc
import os
import select
import selectors
import signal
import subprocess
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar, cast

from profdiff.base.errors import ProfdiffError

Part = TypeVar("Part")
Made = TypeVar("Made")
# As many parts for each processor are begun before an earlier one is asked for.
_AHEAD = 8


def made_in_order(make: Callable[[Part], Made], parts: Sequence[Part]) -> Iterator[Made]:
    """What ``make`` makes of each part, in order. A process for each processor makes the next
    one that no other has begun; memory holds ``_AHEAD`` of each. Raises what ``make`` does, with
    its trace as a note, and ProfdiffError where a process was ended."""
    processors = min(len(os.sched_getaffinity(0)), len(parts))
    if processors < 2:
        yield from map(make, parts)
        return
    forks = get_context("fork")
    ends: list[Connection] = []
    processes = []
    try:
        for _ in range(processors):
            ours, theirs = forks.Pipe()
            ends.append(ours)
            process = forks.Process(target=_make, args=(make, parts, theirs, tuple(ends)))
            processes.append(process)
            process.start()
            theirs.close()
        yield from _in_order(ends, len(parts))
    finally:
        for end in ends:
            end.close()
        for process in processes:
            process.terminate()
            process.join()


def _in_order(ends: Sequence[Connection], count: int) -> Iterator[Any]:
    """What comes of so many parts, in order. Each process has its next part before it ends one."""
    begun = 0
    idle = [*ends, *ends]
    made: dict[int, Any] = {}
    for number in range(count):
        while number not in made:
            while idle and begun < min(count, number + _AHEAD * len(ends)):
                with suppress(ConnectionError):
                    idle.pop(0).send(begun)
                begun += 1
            for end in cast("list[Connection]", wait(ends)):
                try:
                    part, one = end.recv()
                except (EOFError, ConnectionError):
                    raise ProfdiffError("a process that helps was ended: try again") from None
                made[part] = one
                idle.append(end)
        found = made.pop(number)
        if isinstance(found, Exception):
            raise found
        yield found


def _make(
    make: Callable[[Part], Made],
    parts: Sequence[Part],
    to: Connection,
    others: Sequence[Connection],
) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # Else the end of the process that asks would not be seen.
    for end in others:
        end.close()
    # What was there before holds no garbage, and much of what is made lives until it is sent.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    while True:
        try:
            part = to.recv()
        except (EOFError, ConnectionError):
            return
        made: Made | Exception
        try:
            made = make(parts[part])
        except Exception as error:
            error.add_note(traceback.format_exc())
            made = error
        try:
            to.send((part, made))
        except ConnectionError:
            return  # Nobody asks any more.


_ENDING = 5.0
# epoll_wait(2) takes milliseconds in 31 bits.
_MAX_SECONDS = 2e6


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
            return bool(selector.select(min(seconds, _MAX_SECONDS)))
    finally:
        os.close(descriptor)


def _tell(process: "subprocess.Popen[Any]", number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)


def wait_readable(descriptors: Iterable[int], seconds: float) -> None:
    """Until one of ``descriptors`` can be read, or its other end is closed, but no longer than
    ``seconds``. select(2) takes none from 1024 on."""
    waiting = select.poll()
    for descriptor in descriptors:
        waiting.register(descriptor, select.POLLIN)
    waiting.poll(seconds * 1000)
