"""The exact collector: every instruction between two marks, counted by QEMU's TCG with a plugin."""

import gzip
from dataclasses import dataclass
from pathlib import Path

from profdiff.atomic import write_atomic
from profdiff.collectors.counts import Counts
from profdiff.collectors.guest_run import GuestRun, RunFailure
from profdiff.collectors.qemu import Qemu
from profdiff.errors import MissingError, SessionError

# What a run leaves, by what it is; large text is compressed.
_COMPRESSED = ("kallsyms", "config", "dmesg")
# Reproducible and quiet: no address space randomisation, no mitigations that depend on the host's
# CPU model, and a panic ends the guest at once.
BASE_APPEND = "console=ttyS0 nokaslr norandmaps mitigations=off panic=-1"


@dataclass(frozen=True)
class ExactResult:
    """A finished run: the files it left (what it is, to its name in the run's folder), its counts
    if there are any, and why it failed if it did."""

    files: dict[str, str]
    counts: Counts | None
    exit_status: int | None
    failure: RunFailure | None
    wall_seconds: float


class ExactRun:
    """One run in progress. ``folder`` exists and is empty; what the run leaves goes there."""

    def __init__(
        self,
        qemu: Qemu,
        *,
        image: Path,
        initramfs: Path,
        append: str,
        memory: int,
        cpus: int,
        timeout: float,
        folder: Path,
        expect_marks: bool,
    ) -> None:
        self._folder = folder
        self._expect_marks = expect_marks
        self.arguments = qemu.arguments(
            image=image,
            initramfs=initramfs,
            append=f"{BASE_APPEND} {append}".strip(),
            memory=memory,
            cpus=cpus,
            folder=folder,
            counts=folder / "counts.bin",
        )
        self._guest = GuestRun(self.arguments, folder, timeout)

    @property
    def phase(self) -> str:
        """boot, settle, measure or collect."""
        return self._guest.phase

    def poll(self) -> bool:
        """Look after the run; True when it has ended."""
        return self._guest.poll()

    def stop(self) -> None:
        """End it early; it will have no result."""
        self._guest.stop()

    def finish(self) -> ExactResult:
        """Write what the guest sent, read the counts, and judge the run.

        Raises OSError and MissingError when the disk is full.
        """
        outcome = self._guest.result()
        failure = outcome if isinstance(outcome, RunFailure) else None
        sent = {} if isinstance(outcome, RunFailure) else outcome
        files: dict[str, str] = {}
        for what, data in sent.items():
            if what in _COMPRESSED:
                files[what] = f"{what}.gz"
                write_atomic(self._folder / files[what], gzip.compress(data, 6, mtime=0))
            else:
                files[what] = what
                write_atomic(self._folder / what, data)
        (self._folder / "channel").unlink(missing_ok=True)
        own = {"console": "console.log", "qemu-stderr": "qemu.stderr"}
        files |= {what: name for what, name in own.items() if (self._folder / name).exists()}
        exit_status, stopped = _exit_status(sent.get("status", b""))
        counts = None
        if failure is None:
            # The plugin writes through QEMU: a full disk shows as a file that is cut short.
            try:
                counts = Counts.load(self._folder / "counts.bin")
            except SessionError as error:
                raise MissingError(
                    f"QEMU could not write the counts ({error}): make room on the disk"
                ) from error
            files["counts"] = "counts.bin"
            failure = stopped or _window_failure(counts, self._expect_marks)
        if failure and failure.kind == "workload":
            failure = _with_output(failure, sent.get("stderr", b""))
        return ExactResult(files, counts, exit_status, failure, self._guest.wall_seconds)


def _exit_status(text: bytes) -> tuple[int | None, RunFailure | None]:
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
    return None, RunFailure("protocol", "the agent reported no exit status")


def _window_failure(counts: Counts, expect_marks: bool) -> RunFailure | None:
    if counts.misplaced and not counts.opened:
        return RunFailure(
            "window",
            "the window never opened: PROFDIFF_STOP() executed without PROFDIFF_START() before it",
        )
    if expect_marks and counts.kind != "marks":
        return RunFailure(
            "window",
            "the window never opened: the program has marks, but PROFDIFF_START() never executed",
        )
    if counts.opened > counts.closed:
        return RunFailure(
            "window", "the window never closed: PROFDIFF_STOP() must follow PROFDIFF_START()"
        )
    if counts.misplaced:
        return RunFailure(
            "window",
            f"{counts.misplaced} marks were out of place: PROFDIFF_START() and PROFDIFF_STOP() "
            "must alternate, over all threads",
        )
    if counts.opened == 0:
        return RunFailure("window", "the window never opened: the agent's marks did not execute")
    return None


def _with_output(failure: RunFailure, stderr: bytes) -> RunFailure:
    lines = [line for line in stderr.decode(errors="replace").splitlines() if line.strip()]
    text = "".join(c if c.isprintable() else "?" for c in lines[-1])[:200] if lines else ""
    message = f"{failure.message} ({text})" if text else failure.message
    return RunFailure(failure.kind, message, failure.console)
