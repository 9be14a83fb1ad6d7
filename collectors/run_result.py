"""What a run left, whichever collector made it, and how its end is judged."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from profdiff.atomic import write_atomic
from profdiff.collectors.counts import Counts
from profdiff.collectors.guest_run import RunFailure

# Large text is compressed.
_COMPRESSED = ("kallsyms", "config", "dmesg")
# What the members of an archive are called on this side, where it differs.
NAMES = {"perf.data": "perf-data"}


@dataclass(frozen=True)
class RunResult:
    """A finished run: the files it left (what it is, to its name in the run's folder), why it
    failed if it did; ``counts`` of the exact collector; ``attempt``: with which of the arguments
    that were given perf could record, from 1."""

    files: dict[str, str]
    exit_status: int | None
    failure: RunFailure | None
    wall_seconds: float
    counts: Counts | None = None
    attempt: int | None = None


def write_files(folder: Path, sent: Mapping[str, bytes]) -> dict[str, str]:
    """Write what was sent to ``folder``: what it is, to its name there. Raises OSError."""
    files: dict[str, str] = {}
    for member, data in sent.items():
        what = NAMES.get(member, member)
        if member in _COMPRESSED:
            files[what] = f"{member}.gz"
            write_atomic(folder / files[what], gzip.compress(data, 6, mtime=0))
        else:
            files[what] = member
            write_atomic(folder / member, data)
    return files


def guest_files(folder: Path) -> dict[str, str]:
    """What QEMU itself left in ``folder``; the channel has been read and goes."""
    (folder / "channel").unlink(missing_ok=True)
    own = {"console": "console.log", "qemu-stderr": "qemu.stderr"}
    return {what: name for what, name in own.items() if (folder / name).exists()}


def exit_status(text: bytes) -> tuple[int | None, RunFailure | None]:
    """The workload's exit status from the agent's words, and its failure if it is one."""
    if not text:
        return None, None
    what, _, value = text.decode(errors="replace").strip().partition(" ")
    if what == "exit" and value.isdigit():
        number = int(value)
        failed = RunFailure("workload", f"the workload ended with exit status {number}")
        return number, failed if number else None
    if what == "signal" and value.isdigit():
        return None, RunFailure("workload", f"the workload was killed by signal {value}")
    if what == "exec":
        return None, RunFailure("workload", f"the guest cannot execute the workload: {value}")
    return None, RunFailure("protocol", "no exit status was reported")


def with_output(failure: RunFailure, stderr: bytes) -> RunFailure:
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    text = "".join(c if c.isprintable() else "?" for c in lines[-1])[:200] if lines else ""
    message = f"{failure.message} ({text})" if text else failure.message
    return RunFailure(failure.kind, message, failure.console)
