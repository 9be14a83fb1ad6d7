"""A job's kernel counted against the base, by profdiff's own commands in processes of their own: a
job that ends or occupies one of them does not end the lab."""

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import profdiff

TOKEN = "PROFDIFF_LAB_TOKEN"  # noqa: S105 (a variable's name)
# Seconds in which a process that is told to end does.
ENDING = 30.0
# What kept a run from a result without the kernel's doing.
NOT_THE_KERNELS = ("qemu", "connection")


class Counted(NamedTuple):
    """``ran``: whether the kernel ran the workload, None if nobody can tell; ``why`` it did not."""

    ran: bool | None
    why: str = "nothing was recorded: the log says why"


def counted(
    folder: Path, experiment: Path, base: str, seconds: float, longest: float
) -> tuple[Counted, Path]:
    """Record ``folder``'s kernel and the base, for as many ``seconds``; and the session. Where the
    time is over before both were seen to run or fail, each is tried alone, the base for the
    ``longest`` time that the lab has. Where the base does not run either, nothing is known."""
    kernels = {"base": base, "new": str(folder / "kernel")}
    name = tomllib.loads(experiment.read_text()).get("output", experiment.name)
    session = folder / f"{Path(name).stem}.profdiff"
    status = recorded(kernels, experiment, session, seconds)
    if status == 0:
        return Counted(True, ""), session
    new, old = (tried(session, [label]) for label in ("new", "base"))
    if status is None and new.ran is None:
        new = alone("new", kernels["new"], experiment, folder, seconds)
    if new.ran is False:
        if status is None and old.ran is None:
            old = alone("base", base, experiment, folder, longest)
        if not old.ran:
            new = Counted(None, f"the base did not run the workload either: {old.why}")
    return new, session


def alone(label: str, spec: str, experiment: Path, folder: Path, seconds: float) -> Counted:
    """Whether a kernel runs the workload where nothing else takes its time: beside itself, since a
    recording has two kernels."""
    session = folder / f"alone-{label}.profdiff"
    status = recorded({"one": spec, "two": spec}, experiment, session, seconds)
    found = tried(session, ["one", "two"])
    if status is None and found.ran is None:
        return Counted(False, f"the workload did not end on it within {seconds:,.0f} s")
    return found


def tried(session: Path, labels: Collection[str]) -> Counted:
    """What a session knows of kernels, be it whole or not."""
    try:
        sessions = profdiff.open(session).sessions.values()
    except profdiff.ProfdiffError:
        return Counted(None)
    found = Counted(None, "no run was recorded: the log says why")
    for run in (run for one in sessions for run in one.runs() if run.kernel in labels):
        if run.failure is None:
            return Counted(True, "")
        if found.ran is None:
            ran = None if run.failure in NOT_THE_KERNELS else False
            found = Counted(ran, f"{run.failure}: {run.why}")
    return found


def recorded(
    kernels: Mapping[str, str], experiment: Path, session: Path, seconds: float
) -> int | None:
    words = [f"--kernel={label}={spec}" for label, spec in kernels.items()]
    command = ["-m", "profdiff", "record", f"--experiment={experiment}", *words]
    return run([*command, f"--output={session}"], session.parent / "log", seconds)


def run(words: Sequence[str], log: Path, seconds: float, out: Path | None = None) -> int | None:
    """Run Python, with what it says at the end of ``log``, or ``out``. Returns its status, None if
    it took longer than ``seconds`` and was ended."""
    environment = {name: value for name, value in os.environ.items() if name != TOKEN}
    with log.open("ab") as errors, (out or log).open("wb" if out else "ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", *words],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                end(process)


def end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(ENDING)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
