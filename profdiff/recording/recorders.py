"""The collectors as a recording uses them: how a run is started, and what it says of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from profdiff import manifest as m
from profdiff._native import NativeError, PerfData
from profdiff.collectors.exact import ExactRun
from profdiff.collectors.guest_run import RunFailure
from profdiff.collectors.kernel_files import KernelFiles
from profdiff.collectors.perf_command import Attempt, fallback_reason, refusal_line
from profdiff.collectors.perf_guest import PerfGuestRun
from profdiff.collectors.perf_machine import PerfMachineRun
from profdiff.collectors.qemu import Qemu
from profdiff.collectors.run_result import RunResult
from profdiff.collectors.workload import PreparedWorkload
from profdiff.errors import SessionError
from profdiff.metric import event_metric


class ActiveRun(Protocol):
    """A run in progress, polled from one thread."""

    arguments: list[str]

    @property
    def phase(self) -> str: ...

    def poll(self) -> bool: ...

    def stop(self) -> None: ...

    def finish(self) -> RunResult: ...


class Recorder(Protocol):
    """A collector that is ready to record."""

    collector: m.Collector

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside a run."""

    def start(self, kernel: KernelFiles, folder: Path) -> ActiveRun:
        """Start a run; what it leaves goes to the empty ``folder``."""

    def describe(
        self, run: ActiveRun, result: RunResult, folder: Path
    ) -> tuple[dict[str, Any], RunFailure | None]:
        """The fields of the manifest's run that are this collector's own, and why the run failed
        after all."""


@dataclass
class ExactRecorder:
    """Every instruction, in guests with the plugin."""

    qemu: Qemu
    initramfs: Path
    guest: m.Guest
    expect_marks: bool
    call_tree: bool
    collector: m.Collector = "exact"
    alone: bool = False

    def start(self, kernel: KernelFiles, folder: Path) -> ExactRun:
        """See Recorder."""
        return ExactRun(
            self.qemu,
            image=_image(kernel),
            initramfs=self.initramfs,
            append=self.guest.append,
            memory=self.guest.memory,
            cpus=self.guest.cpus,
            timeout=self.guest.timeout,
            folder=folder,
            expect_marks=self.expect_marks,
            calls=self.call_tree,
        )

    def describe(
        self, run: ActiveRun, result: RunResult, folder: Path
    ) -> tuple[dict[str, Any], RunFailure | None]:
        """See Recorder."""
        counts = result.counts
        fields: dict[str, Any] = {"qemu": _qemu(self.qemu, run)}
        if counts and counts.kind != "none":
            fields["window"] = m.Window(kind=counts.kind, count=counts.closed)
        if counts and not result.failure:
            fields["instructions"] = m.Instructions(
                kernel=int(counts.count[counts.in_kernel].sum()),
                user=int(counts.count[~counts.in_kernel].sum()),
            )
        return fields, None


@dataclass
class PerfRecorder:
    """Samples of perf: in guests with ``qemu``, else on the machines that the kernels name."""

    attempts: Sequence[Attempt]
    timeout: float
    qemu: Qemu | None = None
    initramfs: Path | None = None
    guest: m.Guest | None = None
    workload: PreparedWorkload | None = None
    collector: m.Collector = "perf"

    @property
    def alone(self) -> bool:
        """What runs beside it would be in the caches, unless time itself is counted."""
        return self.qemu is None or self.qemu.kvm

    def start(self, kernel: KernelFiles, folder: Path) -> PerfGuestRun | PerfMachineRun:
        """See Recorder."""
        if kernel.machine is not None and self.workload:
            return PerfMachineRun(
                kernel.machine,
                self.workload,
                self.attempts,
                work_folder=Path.cwd(),
                timeout=self.timeout,
                folder=folder,
            )
        if self.qemu is None or self.initramfs is None or self.guest is None:
            raise SessionError(f"{kernel.label}: there is neither a guest nor a machine for it")
        return PerfGuestRun(
            self.qemu,
            image=_image(kernel),
            initramfs=self.initramfs,
            append=self.guest.append,
            memory=self.guest.memory,
            cpus=self.guest.cpus,
            timeout=self.timeout,
            folder=folder,
        )

    def describe(
        self, run: ActiveRun, result: RunResult, folder: Path
    ) -> tuple[dict[str, Any], RunFailure | None]:
        """See Recorder."""
        fields: dict[str, Any] = {}
        if self.qemu:
            fields["qemu"] = _qemu(self.qemu, run)
        if result.attempt is None or "perf-data" not in result.files:
            return fields, None
        try:
            data = PerfData.open(str(folder / result.files["perf-data"]))
        except NativeError as error:
            return fields, RunFailure("perf", str(error))
        if not data.statistics["samples"]:
            few = "perf took no sample: run the workload longer, or lower --count"
            return fields, result.failure or RunFailure("perf", few)
        used = self.attempts[min(result.attempt, len(self.attempts)) - 1]
        sampled = [name for name, *_ in data.events if not name.startswith("dummy")]
        fallback = fallback_reason(used, self.attempts[0], _refusal(folder, result.files))
        # perf itself takes cpu-clock for cycles where there is no PMU, and hardly says so.
        really = {event_metric(name) for name in sampled}
        if fallback is None and really != {event_metric(name) for name in used.events}:
            fallback = (
                f"perf sampled {' and '.join(sampled)} instead of {' and '.join(used.events)}"
            )
        emulated = self.qemu is not None and not self.qemu.kvm
        fields["perf"] = m.PerfRun(
            version=data.machine["perf_version"],
            command=data.machine["command"],
            events=sampled,
            fallback=fallback,
            virtual_time=emulated and any(name.startswith("cycles") for name in sampled),
        )
        fields["window"] = m.Window(kind="command", count=1)
        return fields, None


def _refusal(folder: Path, files: Mapping[str, str]) -> str:
    name = files.get("perf-refusal.1")
    return refusal_line((folder / name).read_text(errors="replace")) if name else ""


def _image(kernel: KernelFiles) -> Path:
    if kernel.image is None:
        raise SessionError(f"{kernel.label} has no image to boot")
    return kernel.image


def _qemu(qemu: Qemu, run: ActiveRun) -> m.Qemu:
    return m.Qemu(version=qemu.version, arguments=run.arguments, plugin_api=qemu.plugin_api)
