"""The timed collector: the workload alone, neither counted nor sampled, several times in a boot."""

from collections.abc import Mapping
from pathlib import Path

from profdiff.collectors.guest.in_progress import PlainGuest, RunInProgress
from profdiff.collectors.guest.initramfs import (
    ENVIRONMENT_SCRIPT,
    build_agent,
    guest_resources,
    nul_separated,
)
from profdiff.collectors.guest.result import RunResult, exit_status, take_files, told, with_output
from profdiff.collectors.guest.run import RunFailure
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.machine.run import MachineRun, workload_there
from profdiff.collectors.messages import last_line
from profdiff.collectors.workload.workload import PreparedWorkload

_SCRIPTS = ("timed.sh", "facts.sh", ENVIRONMENT_SCRIPT)


class TimedGuestRun(PlainGuest):
    """One boot in progress."""

    def finish(self) -> RunResult:
        """Write what the guest sent, and judge the run. Raises OSError."""
        files, failure, seconds = self.left()
        return _judge(self.folder, files, failure, seconds)


class TimedMachineRun(RunInProgress):
    """The same on a machine that runs its kernel already. The agent travels, as the workload does:
    both must suit the machine. On this one the workload runs in ``work_folder``."""

    def __init__(
        self,
        address: Address,
        workload: PreparedWorkload,
        argv: tuple[str, ...],
        *,
        boot_runs: int,
        work_folder: Path,
        timeout: float,
        folder: Path,
    ) -> None:
        self._folder = folder
        resources = guest_resources()
        files = {name: (resources / name).read_bytes() for name in _SCRIPTS}
        command, programs = workload_there(address, workload, argv)
        files["argv"] = nul_separated(command)
        files["boot-runs"] = f"{boot_runs}\n".encode()
        self._run = MachineRun(
            address,
            script="timed.sh",
            files=files,
            programs={**programs, "agent": build_agent()},
            folder=folder,
            timeout=timeout,
            work_folder=work_folder,
        )
        super().__init__(self._run, self._run.command)

    def finish(self) -> RunResult:
        """Take what it left, and judge the run. Raises OSError."""
        names, failure = self._run.finish()
        return _judge(
            self._folder, take_files(self._folder, names), failure, self._run.wall_seconds
        )


def _judge(
    folder: Path, files: Mapping[str, str], failure: RunFailure | None, wall_seconds: float
) -> RunResult:
    status = None
    if failure is None:
        status, failure = exit_status(told(folder, files, "status"))
        if failure is None and status is None:
            reason = last_line(told(folder, files, "stderr")) or "the agent did not say why"
            failure = RunFailure("protocol", f"the workload was not run: {reason}")
        elif failure and failure.kind == "workload":
            failure = with_output(failure, told(folder, files, "stderr"))
    return RunResult(dict(files), status, failure, wall_seconds)
