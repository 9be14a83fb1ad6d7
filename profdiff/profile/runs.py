"""The runs that a profile is made of, and their files as plain arrays, by the reader of the
collector that left them."""

from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.recorded import Recorded
from profdiff.session.manifest import Run
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.symbolization._native import NativeError

# Recordings of so many bytes are held: in memory they take one and a half times as much.
_MAX_HELD = 512 << 20


class _Held:
    """By the runs' ids, what was read of a session."""

    def __init__(self) -> None:
        self.known: dict[str, Recorded | None] = {}
        self.left = _MAX_HELD


_held: WeakKeyDictionary[Session, _Held] = WeakKeyDictionary()


@contextmanager
def held(session: Session) -> Iterator[None]:
    """Inside, a recording of the session is read once, while there is room for all of them."""
    if session in _held:
        yield
        return
    _held[session] = _Held()
    try:
        yield
    finally:
        del _held[session]


def recorded(session: Session, run: Run) -> Recorded | None:
    """What a run recorded; None where it has no places, nor stacks. Raises InputError,
    SessionError."""
    held = _held.get(session)
    if held and run.id in held.known:
        return held.known[run.id]
    paths = {what: session.path(name) for what, name in run.files.items()}
    try:
        found = registry.collector(run.collector).read(paths)
    except NativeError as error:
        raise InputError(f"run {run.id}: {error}") from error
    if held and (size := sum(path.stat().st_size for path in paths.values())) <= held.left:
        held.known[run.id] = found
        held.left -= size
    return found


def paired(
    session: Session, label: str, collector: str, setting: Setting, state: int = 0
) -> tuple[list[Run], list[Run]]:
    """The finished runs of a kernel: those to subtract (none of a single length), and as many to
    subtract them from."""
    finished = session.finished(label, collector, state)
    long = [run for run in finished if run.point == setting.point]
    if setting.short is None:
        return [], long
    short = [run for run in finished if run.point == setting.short]
    number = min(len(short), len(long))
    return short[:number], long[:number]


def median_run(totals: NDArray[np.int64]) -> int:
    """Which of N runs stands for all: that with the (lower) median of ``totals``, int64[N], so that
    its functions add up."""
    return int(np.argsort(totals, kind="stable")[(len(totals) - 1) // 2])
