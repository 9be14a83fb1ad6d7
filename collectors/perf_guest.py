"""The perf collector in a guest: perf and the workload travel in the initramfs."""

from pathlib import Path

from profdiff.collectors.boot_variation import NO_VARIATION, Variation
from profdiff.collectors.guest_run import GuestRun, RunFailure
from profdiff.collectors.perf_command import refusal_line
from profdiff.collectors.qemu import Qemu
from profdiff.collectors.run_result import (
    RunResult,
    exit_status,
    guest_files,
    with_output,
    write_files,
)

_CONSOLE = {"x86_64": "ttyS0", "aarch64": "ttyAMA0"}
# As for the exact collector: a quiet, equal machine.
_APPEND = "nokaslr norandmaps mitigations=off panic=-1"


class PerfGuestRun:
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
        variation: Variation = NO_VARIATION,
    ) -> None:
        self._folder = folder
        self.arguments = qemu.arguments(
            image=image,
            initramfs=initramfs,
            append=console_arguments(qemu, variation, append),
            seed=variation.seed,
            memory=memory,
            cpus=cpus,
            folder=folder,
            counts=None,
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

    def finish(self) -> RunResult:
        """Write what the guest sent, and judge the run. Raises OSError."""
        outcome = self._guest.result()
        sent = {} if isinstance(outcome, RunFailure) else outcome
        files = write_files(self._folder, sent) | guest_files(self._folder)
        failure = outcome if isinstance(outcome, RunFailure) else None
        return judge(
            self._folder, files, failure, self._guest.wall_seconds, "put it into the guest"
        )


def console_arguments(qemu: Qemu, variation: Variation, append: str) -> str:
    """The guest's kernel arguments, ``append`` behind profdiff's own."""
    console = f"console={_CONSOLE[qemu.architecture]}"
    return f"{console} {variation.words(_APPEND)} {append}".strip()


def judge(
    folder: Path,
    files: dict[str, str],
    failure: RunFailure | None,
    wall_seconds: float,
    without_perf: str,
) -> RunResult:
    """The result of a run of perf.sh whose ``files`` lie in ``folder``. ``without_perf``: what to
    do if there is none. Raises OSError."""

    def read(what: str) -> bytes:
        return (folder / files[what]).read_bytes() if what in files else b""

    attempt = int(text) if (text := read("attempt").strip()).isdigit() else None
    status: int | None = None
    if failure is None and attempt is None:
        refusal = read("perf-refusal.2") or read("perf-refusal.1")
        told = refusal_line(refusal.decode(errors="replace"))
        missing = f"there is no perf: {without_perf}"
        message = f"perf cannot record there: {told}" if told else missing
        failure = RunFailure("perf", f"{message} (profdiff doctor says what is missing)")
    elif failure is None:
        status, failure = exit_status(read("status"))
        if not read("perf-data")[:8]:
            told = refusal_line(read("stderr").decode(errors="replace"))
            failure = RunFailure("perf", f"perf recorded nothing{f': {told}' if told else ''}")
        elif failure and failure.kind == "workload":
            failure = with_output(failure, read("stderr"))
    if failure and failure.kind == "perf":
        files = {what: name for what, name in files.items() if what != "perf-data"}
    return RunResult(files, status, failure, wall_seconds, attempt=attempt)
