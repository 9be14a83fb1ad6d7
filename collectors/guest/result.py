"""What a run left, whichever collector made it, and how its end is judged."""

import gzip
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.atomic import open_atomic
from profdiff.collectors.guest.run import RunFailure
from profdiff.collectors.messages import last_line, read_end, short

# Large text is compressed.
_COMPRESSED = ("kallsyms", "config", "dmesg")
# What the members of an archive are called on this side, where it differs.
NAMES = {"perf.data": "perf-data"}


@dataclass(frozen=True)
class RunResult:
    """A finished run: the files it left (what it is, to its name in the run's folder), why it
    failed if it did; ``attempt``: with which of the arguments that were given perf could record,
    from 1."""

    files: dict[str, str]
    exit_status: int | None
    failure: RunFailure | None
    wall_seconds: float
    attempt: int | None = None


def take_files(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """What a run sent to ``folder``: what it is, to its name there. Raises OSError."""
    files: dict[str, str] = {}
    for name in sorted(names):
        path = folder / name
        files[NAMES.get(name, name)] = f"{name}.gz" if name in _COMPRESSED else name
        if name in _COMPRESSED:
            with (
                path.open("rb") as plain,
                open_atomic(folder / f"{name}.gz") as file,
                gzip.GzipFile("", "wb", 6, file, mtime=0) as packed,
            ):
                shutil.copyfileobj(plain, packed, 1 << 20)
            path.unlink()
    return files


def guest_files(folder: Path) -> dict[str, str]:
    """What QEMU itself left in ``folder``; the channel has been read and goes."""
    (folder / "channel").unlink(missing_ok=True)
    own = {"console": "console.log", "qemu-stderr": "qemu.stderr"}
    return {what: name for what, name in own.items() if (folder / name).exists()}


def told(folder: Path, files: Mapping[str, str], what: str) -> bytes:
    """The end of what a run said, of its ``files`` in ``folder``; empty if it did not. Raises
    OSError."""
    return read_end(folder / files[what]) if what in files else b""


def exit_status(text: bytes) -> tuple[int | None, RunFailure | None]:
    """The workload's exit status from the agent's words, and its failure if it is one."""
    if not text:
        return None, None
    what, _, value = text.decode(errors="replace").strip().partition(" ")
    # As wait(2) gives them.
    number = int(value) if re.fullmatch(r"[0-9]{1,3}", value) else None
    if what == "exit" and number is not None:
        failed = RunFailure("workload", f"the workload ended with exit status {number}")
        return number, failed if number else None
    if what == "signal" and number is not None:
        return None, RunFailure("workload", f"the workload was killed by signal {number}")
    if what == "exec":
        reason = short(value)
        return None, RunFailure("workload", f"the guest cannot execute the workload: {reason}")
    return None, RunFailure("protocol", "no exit status was reported")


def with_output(failure: RunFailure, stderr: bytes) -> RunFailure:
    """The failure with what the workload said last."""
    text = last_line(stderr)
    message = f"{failure.message} ({text})" if text else failure.message
    return RunFailure(failure.kind, message, failure.console)
