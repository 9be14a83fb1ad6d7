"""Timed runs as a recording uses them: wall time, and the metrics that the workload prints."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.guest.boot_variation import Variation
from profdiff.collectors.guest.result import RunResult
from profdiff.collectors.guest.run import RunFailure
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.timed.run import TimedGuestRun, TimedMachineRun
from profdiff.collectors.workload.metrics import Metric, Wanted, read
from profdiff.collectors.workload.usage import Usage, parse_usage
from profdiff.recording.recorders import ActiveRun, Guests, Machines
from profdiff.session import manifest as m

WALL_TIME = Metric("wall-time", "ns", "lower")


@dataclass(frozen=True)
class TimedRecorder:
    """The workload alone, ``boot_runs`` times in a boot: in ``guests``, or on ``machines``."""

    wanted: Sequence[Wanted]
    boot_runs: int
    guests: Guests | None = None
    machines: Machines | None = None
    collector: m.Collector = "timed"

    @property
    def alone(self) -> bool:
        """Nothing runs beside what is timed, unless the guest's time is its instructions."""
        return self.guests is None or self.guests.qemu.kvm

    def start(
        self, kernel: KernelFiles, point: m.Point, variation: Variation, folder: Path
    ) -> TimedGuestRun | TimedMachineRun:
        """See Recorder."""
        if kernel.machine is not None and self.machines:
            return TimedMachineRun(
                kernel.machine,
                self.machines.workload,
                self.machines.argv(point),
                boot_runs=self.boot_runs,
                work_folder=Path.cwd(),
                timeout=self.machines.timeout,
                folder=folder,
            )
        if self.guests is None:
            raise SessionError(f"{kernel.label}: there is neither a guest nor a machine for it")
        return TimedGuestRun(
            self.guests.qemu, **self.guests.boot(kernel, point, variation), folder=folder
        )

    def describe(
        self, run: ActiveRun, result: RunResult, folder: Path
    ) -> tuple[dict[str, Any], RunFailure | None]:
        """See Recorder."""
        fields: dict[str, Any] = {}
        if self.guests:
            fields["qemu"] = self.guests.described(run)
        if result.failure or "usage" not in result.files:
            return fields, None
        output = (folder / result.files["stdout"]).read_bytes() if "stdout" in result.files else b""
        executions = parse_usage((folder / result.files["usage"]).read_bytes(), output)
        fields["window"] = m.Window(kind="command", count=len(executions))
        try:
            fields["measured"] = measured(executions, self.wanted)
        except InputError as error:
            return fields, RunFailure("metric", str(error))
        return fields, None


def measured(executions: Sequence[Usage], wanted: Sequence[Wanted]) -> list[m.Measured]:
    """Wall time and the wanted metrics of all executions in a boot. Raises InputError when one of
    them does not have what is wanted."""
    found: dict[Metric, list[float]] = {}
    for execution in executions:
        for metric, values in read(wanted, execution.output).items() if wanted else ():
            found.setdefault(metric, []).extend(values)
    walls = [float(one.values["wall_ns"]) for one in executions if "wall_ns" in one.values]
    own = [m.Measured(*WALL_TIME, True, walls)] if walls else []
    return [*own, *(m.Measured(*metric, False, values) for metric, values in found.items())]
