"""The exact collector: every instruction between two marks, counted by QEMU's TCG with a plugin."""

from pathlib import Path

from profdiff.base.errors import MissingError, SessionError
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.guest.boot_variation import NO_VARIATION, Variation
from profdiff.collectors.guest.in_progress import RunInProgress
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.result import (
    RunResult,
    exit_status,
    guest_files,
    take_files,
    told,
    with_output,
)
from profdiff.collectors.guest.run import GuestRun, RunFailure

# Reproducible and quiet: no address space randomisation, no mitigations that depend on the host's
# CPU model, and a panic ends the guest at once.
BASE_APPEND = "console=ttyS0 nokaslr norandmaps mitigations=off panic=-1"


class ExactRun(RunInProgress):
    """One run in progress. ``folder`` exists and is empty; what the run leaves goes there. With
    ``calls``, who called whom is recorded too."""

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
        calls: bool = True,
        variation: Variation = NO_VARIATION,
    ) -> None:
        self._folder = folder
        self._expect_marks = expect_marks
        arguments = qemu.arguments(
            image=image,
            initramfs=initramfs,
            append=f"{variation.words(BASE_APPEND)} {append}".strip(),
            seed=variation.seed,
            memory=memory,
            cpus=cpus,
            folder=folder,
            counts=folder / "counts.bin",
            calls=calls,
        )
        self._guest = GuestRun(arguments, folder, timeout)
        super().__init__(self._guest, arguments)

    def finish(self) -> RunResult:
        """Write what the guest sent, read the counts, and judge the run.

        Raises OSError and MissingError when the disk is full.
        """
        outcome = self._guest.result()
        failure = outcome if isinstance(outcome, RunFailure) else None
        names = set() if isinstance(outcome, RunFailure) else outcome
        files = take_files(self._folder, names) | guest_files(self._folder)
        status, stopped = exit_status(told(self._folder, files, "status"))
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
            failure = with_output(failure, told(self._folder, files, "stderr"))
        return RunResult(files, status, failure, self._guest.wall_seconds)


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
