"""The perf collector on a machine that is not ours to boot: this one, or another over ssh."""

from collections.abc import Sequence
from pathlib import Path

from profdiff.collectors.guest.in_progress import RunInProgress
from profdiff.collectors.guest.initramfs import PERF_SCRIPTS, guest_resources, nul_separated
from profdiff.collectors.guest.result import RunResult, take_files
from profdiff.collectors.kernels.address import Address
from profdiff.collectors.machine.run import MachineRun, workload_there
from profdiff.collectors.perf.command import Attempt
from profdiff.collectors.perf.guest import judge
from profdiff.collectors.workload.workload import PreparedWorkload

_SCRIPTS = ("machine.sh", "facts.sh")


def attempt_files(attempts: Sequence[Attempt]) -> dict[str, bytes]:
    """What perf.sh needs beside it, in a guest and elsewhere."""
    resources = guest_resources()
    files = {name: (resources / name).read_bytes() for name in PERF_SCRIPTS}
    numbered = enumerate(attempts, 1)
    return files | {f"attempt.{n}": nul_separated(one.arguments) for n, one in numbered}


class PerfMachineRun(RunInProgress):
    """One run in progress of ``argv`` (of the workload in a guest); what it leaves goes to
    ``folder``. On this machine the workload runs in ``work_folder`` as the user would start it; on
    another one in a folder with its own files."""

    def __init__(
        self,
        address: Address,
        workload: PreparedWorkload,
        argv: Sequence[str],
        attempts: Sequence[Attempt],
        *,
        work_folder: Path,
        timeout: float,
        folder: Path,
    ) -> None:
        self._folder = folder
        resources = guest_resources()
        files = {name: (resources / name).read_bytes() for name in _SCRIPTS}
        files |= attempt_files(attempts)
        command, programs = workload_there(address, workload, argv)
        files["argv"] = nul_separated(command)
        self._run = MachineRun(
            address,
            script="machine.sh",
            files=files,
            programs=programs,
            folder=folder,
            timeout=timeout,
            work_folder=work_folder,
        )
        super().__init__(self._run, self._run.command)

    def finish(self) -> RunResult:
        """Take what it left, and judge the run. Raises OSError."""
        names, failure = self._run.finish()
        files = take_files(self._folder, names)
        install = "apt-get install linux-perf there, or what your distribution calls it"
        return judge(self._folder, files, failure, self._run.wall_seconds, install)
