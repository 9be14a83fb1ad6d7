"""A job's kernel counted against the base, by profdiff's own commands in processes of their own: a
job that ends or occupies one of them does not end the lab."""

import os
import subprocess
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from profdiff.base import process_group, program
from profdiff.base.errors import SessionError
from profdiff.session import opened

TOKEN = "PROFDIFF_LAB_TOKEN"  # noqa: S105 (a variable's name)
NEW = "new"
# Seconds in which a process that is told to end does, and those that a check may take.
_ENDING, _CHECKING = 30.0, 600.0


# What kept a run from a result without the kernel's doing (collectors.records.FAILURES).
_NOT_THE_KERNELS = ("qemu", "connection")


class Counted(NamedTuple):
    """``booted``: whether the kernel ran the workload, None if nobody can tell: the base did not
    either, or the lab could not try; ``why``: what went wrong, "" for nothing."""

    booted: bool | None
    why: str = ""


class _Tried(NamedTuple):
    """``ran``: whether a kernel ran the workload, None if that is not known; ``why`` it did not."""

    ran: bool | None
    why: str = "nothing was recorded: the log says why"


def record(folder: Path, experiment: Path, base: str, seconds: float, longest: float) -> Counted:
    """Record ``folder``'s kernel and the base into ``session_of(folder, experiment)``, for as many
    ``seconds``. Where these are over before both were seen to run or fail, each is tried alone, the
    base for the ``longest`` time that the lab has."""
    kernels = {"base": base, NEW: str(folder / "kernel")}
    session = session_of(folder, experiment)
    status = _record(kernels, experiment, session, seconds)
    if status == 0:
        return Counted(True)
    new, base_tried = (_tried(session, [label]) for label in (NEW, "base"))
    if status is None and new.ran is None:
        new = _alone(NEW, kernels[NEW], experiment, folder, seconds)
    if new.ran is not False:
        return Counted(new.ran, new.why)
    if status is None and base_tried.ran is None:
        base_tried = _alone("base", base, experiment, folder, longest)
    if base_tried.ran:
        return Counted(False, new.why)
    return Counted(None, f"the base did not run the workload either: {base_tried.why}")


def _alone(label: str, spec: str, experiment: Path, folder: Path, seconds: float) -> _Tried:
    """Whether a kernel runs the workload where nothing else takes its time: beside itself, since a
    recording has two kernels."""
    session = folder / f"alone-{label}.profdiff"
    status = _record({"one": spec, "two": spec}, experiment, session, seconds)
    tried = _tried(session, ["one", "two"])
    if status is None and tried.ran is None:
        return _Tried(False, f"the workload did not end on it within {seconds:,.0f} s")
    return tried


def _record(
    kernels: Mapping[str, str], experiment: Path, session: Path, seconds: float
) -> int | None:
    words = [f"--kernel={label}={spec}" for label, spec in kernels.items()]
    words = ["record", f"--experiment={experiment}", *words, f"--output={session}"]
    return _run(words, session.parent / "log", seconds)


def _tried(session: Path, labels: Collection[str]) -> _Tried:
    """What a session knows of kernels, be it whole or not."""
    try:
        sessions = opened.open(session).sessions().values()
    except SessionError:
        return _Tried(None)
    found = _Tried(None, "no run was recorded: the log says why")
    for run in (run for one in sessions for run in one.manifest.runs if run.kernel in labels):
        if run.failure is None:
            return _Tried(True, "")
        if found.ran is None:
            ran = None if run.failure.kind in _NOT_THE_KERNELS else False
            found = _Tried(ran, f"{run.failure.kind}: {run.failure.message}")
    return found


def session_of(folder: Path, experiment: Path) -> Path:
    """The session of a job in ``folder``: its tests in KCIDB have the experiment's name."""
    return folder / f"{experiment.stem}.profdiff"


def check(session: Path, conditions: Sequence[str], origin: str) -> Path | None:
    """Judge the session. Returns the submission to KCIDB beside it, None if it cannot be judged."""
    folder, file = session.parent, session.with_name("kcidb.json")
    words = [f"--fail-if={one}" for one in conditions]
    words = ["check", str(session), *words, f"--kcidb={file}", f"--origin={origin}"]
    status = _run(words, folder / "log", _CHECKING)
    return file if status in (0, 1, 125) and file.is_file() else None


def _run(words: Sequence[str], log: Path, seconds: float) -> int | None:
    """Run a command of profdiff, with what it says at the end of ``log``. Returns its status, None
    if it took longer than ``seconds`` and was ended."""
    environment = {name: value for name, value in os.environ.items() if name != TOKEN}
    with log.open("ab") as out:
        process = subprocess.Popen(
            program.command(*words),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                process_group.end(process, _ENDING)
