"""The perf collector on a machine that is not ours to boot: this one, or another over ssh."""

from collections.abc import Sequence
from pathlib import Path

from profdiff.collectors.initramfs import PERF_SCRIPTS, guest_resources, nul_separated
from profdiff.collectors.machine import Address, MachineRun
from profdiff.collectors.perf_command import Attempt
from profdiff.collectors.perf_guest import judge
from profdiff.collectors.run_in_progress import RunInProgress
from profdiff.collectors.run_result import RunResult, take_files
from profdiff.collectors.workload import GUEST_FOLDER, PreparedWorkload

_SCRIPTS = ("machine.sh", "facts.sh", *PERF_SCRIPTS)


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
        for number, attempt in enumerate(attempts, 1):
            files[f"attempt.{number}"] = nul_separated(attempt.arguments)
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


def workload_there(
    address: Address, workload: PreparedWorkload, argv: Sequence[str]
) -> tuple[list[str], dict[str, Path]]:
    """``argv`` (as a guest would run it) as the machine runs it, and the programs that travel."""
    program, *arguments = argv
    programs: dict[str, Path] = {}
    if address.host:
        # Libraries and interpreters are the other machine's own.
        own = [f for f in workload.files if f.guest_path.startswith(f"{GUEST_FOLDER}/")]
        programs = {file.guest_path.lstrip("/"): file.source for file in own}
        program = f"./{Path(program).name}" if own else program
    else:
        local = next((file for file in workload.files if file.guest_path == program), None)
        program = str(local.source.resolve()) if local else program
    return [program, *arguments], programs
