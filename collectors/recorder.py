"""A collector that is ready to record: how its runs are started, and what they come to.

Runs are polled from one thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors import records
from profdiff.collectors.architecture import host
from profdiff.collectors.collector import Collector, Options
from profdiff.collectors.guest.agent import AGENT
from profdiff.collectors.guest.boot import NO_VARIATION, Boot, Variation, VariedState
from profdiff.collectors.guest.delivery import MEMBERS, Delivery, room_for
from profdiff.collectors.guest.initramfs import (
    build,
    guest_resources,
    nul_separated,
    refuse_own,
)
from profdiff.collectors.guest.machine_state import MachineState
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.result import Left, Result, guest_files, take_files, too_few_cpus
from profdiff.collectors.guest.run import GuestRun
from profdiff.collectors.guest.saving import FAILS_BOOTED_TOO, NotBooted, Places, SavedMachine
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.machine.run import MachineRun, workload_there
from profdiff.collectors.workload.workload import PreparedWorkload

_MACHINE_SCRIPTS = ("machine.sh", "facts.sh", "environment.sh")


@dataclass(frozen=True)
class RunJob:
    """One run that is to be made: ``argv`` as a guest runs it; ``cpus`` of a guest; ``folder`` is
    empty, and gets what the run leaves; ``repetition``: which of the cell's runs it is."""

    kernel: KernelFiles
    argv: tuple[str, ...]
    cpus: int
    folder: Path
    variation: Variation = NO_VARIATION
    repetition: int = 1


class Process(Protocol):
    """A run in progress, here or elsewhere."""

    wall_seconds: float

    @property
    def phase(self) -> str:
        """What it does now, in a word or in some."""

    def poll(self) -> bool:
        """Look after it; True when it has ended."""

    def stop(self) -> None:
        """End it early."""

    def result(self, members: Mapping[str, int]) -> set[str] | records.Failure:
        """The names of those of ``members`` that it left in its folder, or why there are none."""


class GuestPlace(Protocol):
    """Where guests run instead of here."""

    def start(self, recorder: "Recorder", job: RunJob, boot: Boot) -> "Running":
        """Start a run of ``job`` there, of what is to be booted. Raises OSError."""

    def restore(
        self,
        recorder: "Recorder",
        job: RunJob,
        machine: SavedMachine,
        state: MachineState,
        delivery: Delivery,
    ) -> "Running":
        """Start a run of ``job`` there, in the ``machine`` that is restored from ``state``. Raises
        OSError."""


@dataclass
class Recorder:
    """``collector`` with its ``options``, for runs of ``workload`` in guests under ``qemu``, or
    without it on the machines that the kernels name. ``guest.timeout`` is both's. With ``observe``
    guests run the workload once more under the agent's eyes. ``folder`` is for what guests boot
    from. ``place``: where guests run, None for here. ``machines``: by key, those that were saved
    before, or why they could not be; others are saved when a run needs them, which waits.
    ``models``: by the processor's model, ``qemu`` with it, for kernels that are given one.
    ``workloads``: by label, those of kernels that run another program than ``workload``."""

    collector: Collector
    options: Options
    workload: PreparedWorkload
    guest: records.Guest
    qemu: Qemu | None
    observe: bool
    folder: Path
    place: GuestPlace | None = None
    machines: Mapping[str, MachineState | records.Failure] = field(default_factory=dict)
    models: Mapping[str, Qemu] = field(default_factory=dict)
    workloads: Mapping[str, PreparedWorkload] = field(default_factory=dict)
    _archives: dict[tuple[tuple[str, ...], VariedState | None, str], Path] = field(
        default_factory=dict, init=False
    )
    _states: dict[SavedMachine, MachineState | records.Failure] = field(
        default_factory=dict, init=False
    )

    @property
    def emulated(self) -> bool:
        """Whether runs are in guests without a processor of their own."""
        return self.qemu is not None and not self.qemu.kvm

    @property
    def alone(self) -> bool:
        """Whether nothing else may run beside a run: it would be in the caches, unless time itself
        is counted."""
        return not self.emulated

    def start(self, job: RunJob) -> "Running":
        """Start a run. Raises what ``initramfs.build`` does, and OSError."""
        if job.kernel.machine is not None:
            return self._start_there(job)
        qemu = self.emulator(job.kernel)
        if qemu is None or job.kernel.image is None:
            raise InputError(f"{job.kernel.label}: there is neither a guest nor a machine for it")
        if self.restores:
            return self._restore(qemu, job)
        guest, archive = job.kernel.variant.guest(self.guest), self._archive(qemu, job)
        boot = Boot(job.kernel.image, archive, guest.append, guest.memory, job.cpus, job.variation)
        if self.place is not None:
            return self.place.start(self, job, boot)
        more = self.collector.qemu_arguments(
            qemu, self.options, job.folder, job.repetition, job.kernel
        )
        arguments = qemu.arguments(boot, job.folder, more)
        return Running(self, job, GuestRun(arguments, job.folder, self.guest.timeout), arguments)

    def emulator(self, kernel: KernelFiles) -> Qemu | None:
        """What the guest of a kernel runs on; None on machines."""
        model = kernel.variant.cpu
        return self.models[model] if model and self.qemu else self.qemu

    def workload_of(self, kernel: KernelFiles) -> PreparedWorkload:
        """What a kernel runs."""
        return self.workloads.get(kernel.label, self.workload)

    @property
    def restores(self) -> bool:
        """Whether runs restore a machine instead of booting one."""
        return self.guest.restored and self.emulated

    def machine(self, kernel: KernelFiles, cpus: int) -> SavedMachine:
        """The machine that runs of a kernel are restored from. Raises InputError where what is to
        be delivered is too large for one, MissingError, OSError."""
        qemu, guest = self.emulator(kernel), kernel.variant.guest(self.guest)
        assert qemu  # noqa: S101
        programs = self.collector.programs(qemu.architecture)
        # Names of arguments take less than what is added to this. One machine serves all programs.
        every = [*self.workloads.values(), self.workload]
        room = max(room_for(one.files, self._own_files(one, ())) for one in every)
        return SavedMachine(qemu, kernel, guest, cpus, tuple(programs), room)

    def _restore(self, qemu: Qemu, job: RunJob) -> "Running":
        machine = self.machine(job.kernel, job.cpus)
        state = self._states.get(machine)
        if state is None:
            state = self.machines.get(machine.key()) or machine.saved(self.folder)
            self._states[machine] = state
        if isinstance(state, records.Failure):
            if state.kind in FAILS_BOOTED_TOO:
                return Running(self, job, NotBooted(state), [])
            raise MissingError(
                f"{job.kernel.label}: its machine cannot be restored ({state.message}): add "
                "--no-restore"
            )
        workload = self.workload_of(job.kernel)
        for file in workload.files:
            refuse_own(file)
        own = self._own_files(workload, job.argv, observe=self._observes(job))
        delivery = Delivery(workload.files, own)
        if self.place is not None:
            return self.place.restore(self, job, machine, state, delivery)
        self.folder.mkdir(parents=True, exist_ok=True)
        more = self.collector.qemu_arguments(
            qemu, self.options, job.folder, job.repetition, job.kernel
        )
        places = Places(job.folder, self.folder)
        run = machine.restore(state, delivery, job.variation, places, more)
        return Running(self, job, run, run.arguments, restored=state)

    def _start_there(self, job: RunJob) -> "Running":
        address = job.kernel.machine
        assert address is not None  # noqa: S101
        resources = guest_resources()
        files = {name: (resources / name).read_bytes() for name in _MACHINE_SCRIPTS}
        command, programs = workload_there(address, self.workload, job.argv)
        if self.collector.uses_agent:
            programs["agent"] = AGENT.find(host())
        run = MachineRun(
            address,
            script="machine.sh",
            files=files | self._own_files(self.workload, command),
            programs=programs,
            folder=job.folder,
            timeout=self.guest.timeout,
            # On this machine the workload runs as the user would start it.
            work_folder=Path.cwd(),
        )
        return Running(self, job, run, run.command)

    def _observes(self, job: RunJob) -> bool:
        """Whether the workload runs once more. In a varied state, it does what it did in the plain
        one."""
        return self.observe and job.variation.state is None

    def _own_files(
        self,
        workload: PreparedWorkload,
        argv: list[str] | tuple[str, ...],
        *,
        observe: bool = False,
    ) -> dict[str, bytes]:
        own = dict(self.collector.files(self.options, emulated=self.emulated))
        if observe and self.collector.uses_agent:
            own["observe"] = b""
        # The agent finds the further copies beside the first one.
        for number, words in enumerate(workload.arguments_of(argv)):
            own[f"argv.{number}" if number else "argv"] = nul_separated(words)
        if workload.environment:
            own["environment"] = nul_separated(workload.environment)
        if script := self.collector.script():
            own["collector.sh"] = script.encode()
        return own

    def _archive(self, qemu: Qemu, job: RunJob) -> Path:
        """What a guest of ``job`` boots from, built when the first run needs it."""
        workload = self.workload_of(job.kernel)
        label = job.kernel.label if job.kernel.label in self.workloads else ""
        key = job.argv, job.variation.state, label
        if key not in self._archives:
            own = self._own_files(workload, job.argv, observe=self._observes(job))
            own |= job.variation.files()
            files = {file.guest_path: file for file in self.collector.programs(qemu.architecture)}
            files |= {file.guest_path: file for file in workload.files}
            self.folder.mkdir(parents=True, exist_ok=True)
            path = self.folder / f"{len(self._archives)}.cpio.gz"
            build(path, files.values(), own, self.guest.settle, qemu.architecture)
            self._archives[key] = path
        return self._archives[key]


@dataclass(frozen=True)
class Running:
    """A run in progress; ``arguments``: the command line of what runs, or is going to;
    ``restored``: the machine that it began with, None where it booted."""

    recorder: Recorder
    job: RunJob
    process: Process
    arguments: list[str]
    restored: MachineState | None = field(default=None, kw_only=True)

    @property
    def emulator(self) -> records.Qemu | None:
        """What the guest runs on; None on a machine."""
        qemu = self.recorder.emulator(self.job.kernel)
        return qemu.described(self.arguments) if qemu and self.job.kernel.machine is None else None

    @property
    def node(self) -> records.Node | None:
        """Which node of a cluster made it; None for one that ran from here."""
        return None

    def finish(self) -> Result:
        """Take what it left, and judge it. Raises OSError, MissingError."""
        collector, folder = self.recorder.collector, self.job.folder
        members: Mapping[str, int] = {**MEMBERS, **collector.leaves}
        outcome = self.process.result(members)
        failure = outcome if isinstance(outcome, records.Failure) else None
        names = set() if isinstance(outcome, records.Failure) else outcome
        files = take_files(folder, names, collector.called)
        if self.restored and not failure:
            files |= self.restored.give_facts(folder)
        if self.emulator:
            files |= guest_files(folder)
            if "cpus" in files:
                failure = failure or too_few_cpus(folder / files.pop("cpus"), self.job.cpus)
        left = Left(
            folder,
            files,
            failure,
            self.recorder.options,
            self.recorder.emulated,
            self.recorder.workload_of(self.job.kernel).has_marks,
        )
        return collector.judge(left)
