"""A job's kernel counted against the base, by profdiff's own commands in processes of their own: a
job that ends or occupies one of them does not end the lab."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from profdiff.base import process_group, program
from profdiff.base.errors import SessionError
from profdiff.session import opened

TOKEN = "PROFDIFF_LAB_TOKEN"  # noqa: S105 (a variable's name)
NEW = "new"
# Seconds in which a process that is told to end does, and those that a check may take.
_ENDING, _CHECKING = 30.0, 600.0


class Counted(NamedTuple):
    """``booted``: whether the kernel ran the workload, None if the base did not either, so that
    nobody can tell; ``why``: what went wrong, "" for nothing."""

    booted: bool | None
    why: str = ""


def record(folder: Path, experiment: Path, base: str, seconds: float) -> Counted:
    """Record ``folder``'s kernel and the base into ``session_of(folder, experiment)``."""
    kernels = [f"--kernel=base={base}", f"--kernel={NEW}={folder / 'kernel'}"]
    session = session_of(folder, experiment)
    words = ["record", f"--experiment={experiment}", *kernels, f"--output={session}"]
    status = _run(words, folder / "log", seconds)
    if status == 0:
        return Counted(True)
    try:
        sessions = opened.open(session).sessions().values()
    except SessionError:
        return Counted(None, "nothing was recorded: the log says why")
    good: set[str] = set()
    why = f"the recording took more than {seconds:,.0f} s" if status is None else ""
    for one in sessions:
        for run in one.manifest.runs:
            if run.failure is None:
                good.add(run.kernel)
            elif run.kernel == NEW:
                why = why or f"{run.failure.kind}: {run.failure.message}"
    return Counted(NEW in good if "base" in good else None, why or "the log says why")


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
