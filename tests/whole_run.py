"""What the processes of one test run share: what is made once for all of them, and processors."""

import fcntl
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

PROCESSORS = os.cpu_count() or 1
# How many guests a test of this process may have side by side: as many tests run as processes.
GUESTS = max(1, PROCESSORS // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))

# One for all processes of this test run, and no other run's; conftest.py says which.
folder = Path()


def once(name: str, make: Callable[[Path], object]) -> Path:
    """The folder of this name, filled by ``make`` in the first process that asks for it; the others
    wait. Where ``make`` fails, the next one tries again."""
    made, done = folder / name, folder / f"{name}.done"
    with alone(name):
        if not done.exists():
            shutil.rmtree(made, ignore_errors=True)
            made.mkdir()
            make(made)
            done.touch()
    return made


@contextmanager
def alone(what: str) -> Iterator[None]:
    """Let no other process of this run do this at the same time."""
    with (folder / f"{what}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def processors(count: int) -> Iterator[None]:
    """Hold as many processors, at most all: a guest that runs needs one. What needs none waits for
    nobody."""
    if not count:
        yield
        return
    with ExitStack() as held:
        # One process waits at a time: two with half of what they need would wait for ever.
        with alone("turn"):
            for _ in range(min(count, PROCESSORS)):
                held.enter_context(_processor())
        yield


def _processor() -> IO[str]:
    """A file whose lock is a processor; closing it frees the processor."""
    while True:
        for number in range(PROCESSORS):
            file = (folder / f"processor-{number}").open("w")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
            else:
                return file
        time.sleep(0.05)
