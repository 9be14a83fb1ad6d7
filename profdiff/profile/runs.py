"""The runs that a profile is made of, and their files as plain arrays, by the reader of the
collector that left them."""

import numpy as np
from numpy.typing import NDArray

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.recorded import Recorded
from profdiff.session.manifest import Run
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.symbolization._native import NativeError


def recorded(session: Session, run: Run) -> Recorded | None:
    """What a run recorded; None where it has no places, nor stacks. Raises InputError,
    SessionError."""
    paths = {what: session.path(name) for what, name in run.files.items()}
    try:
        return registry.collector(run.collector).read(paths)
    except NativeError as error:
        raise InputError(f"run {run.id}: {error}") from error


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
