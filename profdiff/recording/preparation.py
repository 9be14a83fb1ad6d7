"""What a recording needs before its first run: workload, guests, and the collectors made ready."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.collectors.guest import initramfs
from profdiff.collectors.guest.qemu import Qemu, find_emulator, find_qemu
from profdiff.collectors.kernels.files import KernelFiles, image_architecture
from profdiff.collectors.perf.command import (
    Attempt,
    PerfRequest,
    attempts,
)
from profdiff.collectors.workload.metrics import Wanted
from profdiff.collectors.workload.workload import (
    GuestFile,
    PreparedWorkload,
    prepare,
    prepare_for_machine,
)
from profdiff.recording.guest_archives import GuestArchives
from profdiff.recording.recorders import (
    ExactRecorder,
    Guests,
    Machines,
    PerfRecorder,
    Recorder,
)
from profdiff.recording.timed_recorder import TimedRecorder
from profdiff.session import manifest as m


@dataclass(frozen=True)
class Place:
    """Where the kernels of a recording run: guests of one architecture, or machines (None)."""

    architecture: str | None

    @staticmethod
    def of(kernels: Sequence[KernelFiles]) -> "Place":
        """Raises InputError when they run in places that do not compare."""
        machines = [kernel for kernel in kernels if kernel.machine is not None]
        if machines and len(machines) < len(kernels):
            raise InputError(
                f"{machines[0].label} is a machine, other kernels are booted in guests: what they "
                "cost does not compare"
            )
        if machines:
            return Place(None)
        found = {image_architecture(k.image): k.label for k in kernels if k.image}
        if len(found) > 1:
            told = ", ".join(f"{label} is for {name}" for name, label in found.items())
            raise InputError(f"the kernels are for different architectures: {told}")
        return Place(next(iter(found), "x86_64"))

    def collectors(self, asked: Sequence[m.Collector]) -> list[m.Collector]:
        """The collectors that were asked for, or the one that fits. Raises InputError."""
        if not asked:
            return ["exact" if self.architecture == "x86_64" else "perf"]
        if "exact" in asked and self.architecture is None:
            raise InputError("--collector exact boots kernels in guests, a machine runs already")
        if "exact" in asked and self.architecture != "x86_64":
            raise InputError("--collector exact counts in x86-64 guests only, not in arm64 ones")
        if "timed" in asked and self.architecture not in (None, "x86_64"):
            raise InputError("--collector timed runs in x86-64 guests and on machines only")
        return list(dict.fromkeys(asked))

    def workload(self, command: Sequence[str], extra: Sequence[str]) -> PreparedWorkload:
        """The workload made ready. Raises InputError, MissingError."""
        folders = cache_folder("workloads"), initramfs.guest_resources()
        if self.architecture is None:
            return prepare_for_machine(command, extra, *folders)
        return prepare(command, extra, *folders, self.architecture)

    def own_files(self) -> list[GuestFile]:
        """The guest's own programs."""
        return [] if self.architecture is None else initramfs.own_files(self.architecture)


@dataclass(frozen=True)
class Emulators:
    """The QEMU of each collector that boots guests: with the plugin, and without."""

    exact: Qemu | None
    plain: Qemu | None

    @staticmethod
    def find(place: Place, collectors: Sequence[m.Collector], program: Path | None) -> "Emulators":
        """Raises MissingError."""
        exact = find_qemu(program) if "exact" in collectors else None
        wanted = place.architecture is not None and set(collectors) & {"perf", "timed"}
        plain = find_emulator(place.architecture or "", program) if wanted else None
        return Emulators(exact, plain)


def perf_attempts(request: PerfRequest, emulators: Emulators) -> list[Attempt]:
    """The ways in which perf is to try to record."""
    emulated = emulators.plain is not None and not emulators.plain.kvm
    return attempts(request, emulated=emulated)


def perf_options(request: PerfRequest, ways: Sequence[Attempt]) -> m.PerfOptions:
    """The request as the manifest names it."""
    return m.PerfOptions(
        events=list(ways[0].events),
        period=request.period,
        frequency=request.frequency,
        call_graph=request.call_graph,
        arguments=list(request.arguments),
    )


def recorders(
    planned: m.Manifest,
    place: Place,
    emulators: Emulators,
    workload: PreparedWorkload,
    ways: Sequence[Attempt],
    *,
    timeout: float,
    observe: bool,
    folder: Path,
) -> list[Recorder]:
    """The collectors of a plan, ready. What guests boot from is put into ``folder``. Raises
    InputError for a malformed metric."""
    machines = Machines(workload, timeout)
    wanted = [Wanted.parse(text) for text in planned.metrics]

    def guests(collector: m.Collector, qemu: Qemu | None) -> Guests | None:
        if planned.guest is None or qemu is None:
            return None
        archives = GuestArchives(
            folder / collector,
            workload,
            planned.guest.settle,
            architecture=place.architecture or "",
            attempts=ways if collector == "perf" else (),
            boot_runs=planned.boot_runs if collector == "timed" else 1,
            observe=observe and place.architecture == "x86_64",
        )
        return Guests(qemu, archives, planned.guest)

    made: list[Recorder] = []
    for collector in planned.collectors:
        plain = guests(collector, emulators.plain)
        if collector == "exact":
            if mine := guests(collector, emulators.exact):
                made.append(ExactRecorder(mine, workload.has_marks, planned.call_tree))
        elif collector == "timed":
            made.append(TimedRecorder(wanted, planned.boot_runs, plain, machines))
        else:
            made.append(PerfRecorder(ways, plain, machines))
    return made
