"""Work for several processors: forked processes make parts, which come back in order."""

import gc
import os
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TypeVar

from profdiff.base.errors import ProfdiffError

Part = TypeVar("Part")
Made = TypeVar("Made")


def made_in_order(make: Callable[[Part], Made], parts: Sequence[Part]) -> Iterator[Made]:
    """What ``make`` makes of each part, in order. A process for each processor makes every N-th of
    them, and waits while what it has made is not asked for: memory holds a part of each. Raises
    what ``make`` does, with its trace as a note, and ProfdiffError where a process was ended."""
    processors = min(len(os.sched_getaffinity(0)), len(parts))
    if processors < 2:
        yield from map(make, parts)
        return
    forks = get_context("fork")
    ends: list[Connection] = []
    processes = []
    try:
        for number in range(processors):
            ours, theirs = forks.Pipe(duplex=False)
            ends.append(ours)
            process = forks.Process(target=_make, args=(make, parts[number::processors], theirs))
            processes.append(process)
            process.start()
            theirs.close()
        for number in range(len(parts)):
            try:
                made = ends[number % processors].recv()
            except EOFError:
                raise ProfdiffError("a process that helps was ended: try again") from None
            if isinstance(made, Exception):
                raise made
            yield made
    finally:
        for end in ends:
            end.close()
        for process in processes:
            process.terminate()
            process.join()


def _make(make: Callable[[Part], Made], parts: Sequence[Part], to: Connection) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    # What was there before holds no garbage, and much of what is made lives until it is sent.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    for part in parts:
        made: Made | Exception
        try:
            made = make(part)
        except Exception as error:
            error.add_note(traceback.format_exc())
            made = error
        try:
            to.send(made)
        except BrokenPipeError:
            return  # Nobody asks any more.
