"""Work for several processors: forked processes make parts, which come back in order."""

import gc
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
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
