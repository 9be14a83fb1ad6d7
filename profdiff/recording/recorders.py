"""The collectors as a recording uses them: how a run is started, and what it says of itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from profdiff.base.errors import SessionError
from profdiff.base.metric import Metric, event_metric
from profdiff.collectors.exact.counts import Counts
from profdiff.collectors.exact.run import ExactRun
from profdiff.collectors.guest.boot_variation import Variation
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.result import RunResult
from profdiff.collectors.guest.run import RunFailure
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.perf.command import Attempt, fallback_reason, refusal_line
from profdiff.collectors.perf.guest import PerfGuestRun
from profdiff.collectors.perf.machine import PerfMachineRun
from profdiff.collectors.workload.workload import PreparedWorkload
from profdiff.recording.guest_archives import GuestArchives
from profdiff.session import manifest as m
from profdiff.session.points import substitute
from profdiff.symbolization._native import NativeError, PerfData


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

    @property
    def collector(self) -> m.Collector: ...

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside a run."""

    def start(
        self, kernel: KernelFiles, point: m.Point, variation: Variation, folder: Path
    ) -> ActiveRun:
        """Start a run; what it leaves goes to the empty ``folder``."""

    def describe(
        self, run: ActiveRun, result: RunResult, folder: Path
    ) -> tuple[dict[str, Any], RunFailure | None]:
        """The fields of the manifest's run that are this collector's own, and why the run failed
        after all."""


@dataclass(frozen=True)
class Guests:
    """How guests of a recording are booted. ``settings`` hold memory, arguments and timeout."""

    qemu: Qemu
    archives: GuestArchives
    settings: m.Guest

    def boot(self, kernel: KernelFiles, point: m.Point, variation: Variation) -> dict[str, Any]:
        """The arguments that every collector's guest run takes. Raises as ``initramfs.build``."""
        if kernel.image is None:
            raise SessionError(f"{kernel.label} has no image to boot")
        return {
            "image": kernel.image,
            "initramfs": self.archives.archive(point.parameters),
            "append": self.settings.append,
            "memory": self.settings.memory,
            "cpus": point.cpus or 1,
            "timeout": self.settings.timeout,
            "variation": variation,
        }

    def described(self, run: ActiveRun) -> m.Qemu:
        """The emulator of a run, as the manifest names it."""
        return m.Qemu(
            version=self.qemu.version, arguments=run.arguments, plugin_api=self.qemu.plugin_api
        )


@dataclass(frozen=True)
class Machines:
    """How the workload runs on machines that are not ours to boot; ``timeout`` in seconds."""

    workload: PreparedWorkload
    timeout: float

    def argv(self, point: m.Point) -> tuple[str, ...]:
        """The command at a point, as a guest would run it."""
        return tuple(substitute(word, point.parameters) for word in self.workload.guest_argv)


@dataclass(frozen=True)
class ExactRecorder:
    """Every instruction, in guests with the plugin."""

    guests: Guests
    expect_marks: bool
    call_tree: bool
    collector: m.Collector = "exact"
    alone: bool = False

    def start(
        self, kernel: KernelFiles, point: m.Point, variation: Variation, folder: Path
    ) -> ExactRun:
        """See Recorder."""
        return ExactRun(
            self.guests.qemu,
            **self.guests.boot(kernel, point, variation),
            folder=folder,
            expect_marks=self.expect_marks,
            calls=self.call_tree,
        )

    def describe(
        self, run: ActiveRun, result: RunResult, folder: Path
    ) -> tuple[dict[str, Any], RunFailure | None]:
        """See Recorder."""
        counts = Counts.load(folder / "counts.bin") if "counts" in result.files else None
        fields: dict[str, Any] = {"qemu": self.guests.described(run)}
        if counts and counts.kind != "none":
            fields["window"] = m.Window(kind=counts.kind, count=counts.closed)
        if counts and not result.failure:
            kernel = int(counts.count[counts.in_kernel].sum())
            user = int(counts.count[~counts.in_kernel].sum())
            fields["instructions"] = m.Instructions(kernel=kernel, user=user)
            fields["measured"] = [
                m.Measured("instructions", "instructions", "lower", True, [float(kernel + user)])
            ]
        return fields, None


@dataclass(frozen=True)
class PerfRecorder:
    """Samples of perf: in ``guests``, or on ``machines``, which the kernels name."""

    attempts: Sequence[Attempt]
    guests: Guests | None = None
    machines: Machines | None = None
    collector: m.Collector = "perf"

    @property
    def alone(self) -> bool:
        """What runs beside it would be in the caches, unless time itself is counted."""
        return self.guests is None or self.guests.qemu.kvm

    def start(
        self, kernel: KernelFiles, point: m.Point, variation: Variation, folder: Path
    ) -> PerfGuestRun | PerfMachineRun:
        """See Recorder."""
        if kernel.machine is not None and self.machines:
            return PerfMachineRun(
                kernel.machine,
                self.machines.workload,
                self.machines.argv(point),
                self.attempts,
                work_folder=Path.cwd(),
                timeout=self.machines.timeout,
                folder=folder,
            )
        if self.guests is None:
            raise SessionError(f"{kernel.label}: there is neither a guest nor a machine for it")
        return PerfGuestRun(
            self.guests.qemu, **self.guests.boot(kernel, point, variation), folder=folder
        )

    def describe(
        self, run: ActiveRun, result: RunResult, folder: Path
    ) -> tuple[dict[str, Any], RunFailure | None]:
        """See Recorder."""
        fields: dict[str, Any] = {}
        if self.guests:
            fields["qemu"] = self.guests.described(run)
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
        emulated = self.guests is not None and not self.guests.qemu.kvm
        fields["perf"] = m.PerfRun(
            version=data.machine["perf_version"],
            command=data.machine["command"],
            events=sampled,
            fallback=fallback,
            virtual_time=emulated and any(name.startswith("cycles") for name in sampled),
        )
        fields["window"] = m.Window(kind="command", count=1)
        fields["measured"] = _event_totals(data)
        return fields, None


def _event_totals(data: PerfData) -> list[m.Measured]:
    """What the samples of each event stand for."""
    sums: dict[Metric, float] = {}
    weights = np.bincount(
        data.entry_event, weights=data.entry_weight.astype(np.float64), minlength=len(data.events)
    )
    for (name, *_), total in zip(data.events, weights.tolist(), strict=False):
        if not name.startswith("dummy"):
            metric = event_metric(name)
            sums[metric] = sums.get(metric, 0.0) + total
    return [
        m.Measured(metric.name, metric.unit, "lower", True, [total])
        for metric, total in sums.items()
    ]


def _refusal(folder: Path, files: Mapping[str, str]) -> str:
    name = files.get("perf-refusal.1")
    return refusal_line((folder / name).read_text(errors="replace")) if name else ""
