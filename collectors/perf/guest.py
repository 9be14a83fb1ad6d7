"""The perf collector in a guest: perf and the workload travel in the initramfs."""

from pathlib import Path

from profdiff.collectors.guest.in_progress import PlainGuest
from profdiff.collectors.guest.result import RunResult, exit_status, told, with_output
from profdiff.collectors.guest.run import RunFailure
from profdiff.collectors.perf.command import refusal_line


class PerfGuestRun(PlainGuest):
    """One run in progress."""

    def finish(self) -> RunResult:
        """Write what the guest sent, and judge the run. Raises OSError."""
        files, failure, seconds = self.left()
        return judge(self.folder, files, failure, seconds, "put it into the guest")


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
        return told(folder, files, what)

    # Of two, which perf.sh numbers from 1.
    attempt = int(text) if (text := read("attempt").strip()) in (b"1", b"2") else None
    status: int | None = None
    if failure is None and attempt is None:
        refusal = read("perf-refusal.2") or read("perf-refusal.1")
        complaint = refusal_line(refusal.decode(errors="replace"))
        missing = f"there is no perf: {without_perf}"
        message = f"perf cannot record there: {complaint}" if complaint else missing
        failure = RunFailure("perf", f"{message} (profdiff doctor says what is missing)")
    elif failure is None:
        status, failure = exit_status(read("status"))
        if not read("perf-data")[:8]:
            complaint = refusal_line(read("stderr").decode(errors="replace"))
            why = f": {complaint}" if complaint else ""
            failure = RunFailure("perf", f"perf recorded nothing{why}")
        elif failure and failure.kind == "workload":
            failure = with_output(failure, read("stderr"))
    if failure and failure.kind == "perf":
        files = {what: name for what, name in files.items() if what != "perf-data"}
    return RunResult(files, status, failure, wall_seconds, attempt=attempt)
