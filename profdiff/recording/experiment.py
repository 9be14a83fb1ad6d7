"""An experiment: what a user asked for, found, checked and described.

What the experiments of one command have in common: found once, however many ask for it.
"""

import sys
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

from profdiff import __version__
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.architecture import Architecture, value_for
from profdiff.collectors.guest import boot, initramfs
from profdiff.collectors.guest.machine_state import MachineState
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.kinds.registry import KernelArgument
from profdiff.collectors.programs import program_named
from profdiff.collectors.recorder import Recorder
from profdiff.collectors.records import Failure, Value
from profdiff.collectors.workload import sides
from profdiff.collectors.workload.files import GuestFile
from profdiff.collectors.workload.sides import Side
from profdiff.collectors.workload.workload import PreparedWorkload, prepare, prepare_for_machine
from profdiff.recording import (
    boots,
    copies,
    named_functions,
    notes,
    plan,
    programs,
    states,
    sweep,
    variants,
)
from profdiff.recording.located import Located, UnbuiltKernel, built
from profdiff.session import manifest as m
from profdiff.session.held import is_session
from profdiff.session.session import Session

T = TypeVar("T")


class Answers:
    """Answers by question. If two questions are equal, the second gets the first's answer."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, object] = {}

    def get(self, question: Hashable, find: Callable[[], T]) -> T:
        """The answer to ``question``, which names what it is of: found now, or before. Raises what
        ``find`` raises, which is not an answer."""
        if question not in self._answers:
            self._answers[question] = find()
        return cast(T, self._answers[question])


@dataclass(frozen=True)
class RecordOptions:
    """What the command line or an experiment file says. ``series`` and ``toggled``: the labels of
    the kernels that may lack, because a commit of a series, or an option of the config, need not
    build. ``architectures``: those to record, none: the one that the kernels are for.
    ``compilers``: programs that build the kernels, none: each kernel's own. ``options``: the values
    of collectors' options; ``given``: the names of those that the command line itself gave.
    ``sysroots``, ``cpu_models`` and ``qemu``: of an architecture, ``[ARCH=]VALUE``. ``restore``:
    whether guests are restored or boot, None for as the session has it, or else restored.
    ``repeat`` and ``twin_repeat``: runs of each cell, and of the base's twin. ``repeats``: whether
    what changed is repeated in varied states by itself, because nobody said in how many. ``sides``:
    by a kernel's label, the program that it runs. ``typed``: the command line that asks for it
    without a file; empty where that is this process's own. ``replay``: how much of a trace
    COMMAND replays."""

    kernels: Sequence[KernelArgument]
    series: Set[str]
    architectures: Sequence[Architecture]
    compilers: Sequence[str]
    output: Path | None
    collectors: Sequence[str]
    options: Mapping[str, Any]
    given: Set[str]
    sweep: sweep.Sweep
    files: Sequence[str]
    no_files: Sequence[str]
    sysroots: Sequence[str]
    guest: m.Guest
    restore: bool | None
    cpu_models: Sequence[str]
    repeat: int
    twin_repeat: int
    verify: bool
    order: m.Order
    observe: bool
    qemu: Sequence[str]
    command: Sequence[str]
    repeats: bool = True
    sides: Mapping[str, Side] = field(default_factory=dict)
    toggled: Set[str] = frozenset()
    typed: Sequence[str] = ()
    replay: m.Replayed | None = None

    @property
    def may_lack(self) -> Set[str]:
        return self.series | self.toggled


@dataclass(frozen=True)
class Equipment:
    """What records: in guests of ``architecture``, which are as ``guest`` says, or on machines
    (None). ``collectors``: their names; ``options``: those of all of them; ``emulators`` by
    collector."""

    architecture: Architecture | None
    guest: m.Guest
    collectors: Sequence[str]
    options: Mapping[str, Value]
    emulators: Mapping[str, Qemu | None]

    @staticmethod
    def of(
        asked: RecordOptions, architecture: Architecture | None, known: Answers | None = None
    ) -> "Equipment":
        """The collectors that were asked for, or the one that fits. Raises InputError,
        MissingError."""
        known = known or Answers()
        guest = asked.guest
        if architecture:
            guest = m.replace(guest, cpu=value_for("--cpu", asked.cpu_models, architecture))
        names, options = _collectors(asked, architecture)
        if asked.order.states and (told := states.refusal(asked.order, names, architecture)):
            raise InputError(told)
        emulators = {
            name: known.get(
                ("emulator", name, architecture, guest.cpu, tuple(asked.qemu)),
                partial(_emulator, asked, name, architecture, guest.cpu),
            )
            for name in names
        }
        return Equipment(architecture, guest, names, options, emulators)


@dataclass(frozen=True)
class Experiment:
    """What is going to be recorded into the session ``folder``. ``kernels`` are located, twins too.
    ``own``: the guest's own programs; ``note``: what its user must know of what is counted, before
    anything runs. ``machines``: by key, those that were saved before, or why they could not be.
    ``workloads``: by label, of kernels that run programs of their own; ``workload`` is what all
    have alike then."""

    asked: RecordOptions
    folder: Path
    kernels: list[KernelFiles]
    equipment: Equipment
    workload: PreparedWorkload
    own: list[GuestFile]
    planned: m.Manifest
    note: str | None
    machines: Mapping[str, MachineState | Failure] = field(default_factory=dict)
    workloads: Mapping[str, PreparedWorkload] = field(default_factory=dict)

    @staticmethod
    def of(
        asked: RecordOptions,
        folder: Path,
        command: Sequence[str],
        kernels: Sequence[Located],
        equipment: Equipment,
        known: Answers | None = None,
    ) -> "Experiment":
        """``command`` on ``kernels``, the first of which there is. Raises InputError, MissingError,
        SessionError."""
        known = known or Answers()
        architecture = equipment.architecture
        watched = named_functions.named(folder, equipment.collectors, equipment.options)
        equipment = replace(equipment, options=watched)
        located = built(kernels)
        if architecture and len(located) < 2 and not asked.twin_repeat:
            raise InputError(notes.too_few(kernels, toggled=bool(asked.toggled)))
        described = [
            plan.describe_hole(kernel)
            if isinstance(kernel, UnbuiltKernel)
            else known.get(("kernel", kernel), partial(plan.describe_kernel, kernel))
            for kernel in kernels
        ]
        folders = cache_folder("workloads"), initramfs.guest_resources()
        workloads: dict[str, PreparedWorkload] = {}
        programs.refuse(asked.sides, equipment.collectors, architecture)
        if asked.options.get("boot"):
            prepared = boots.workload()
        elif architecture:
            ready = partial(_prepared, asked, folders, architecture)
            if asked.sides:
                workloads = sides.prepared(asked.sides, command, asked.files, ready)
            prepared = sides.common(workloads) if workloads else ready(command, asked.files)
            described = programs.described(described, workloads, prepared)
        elif asked.sysroots:
            raise InputError("--sysroot is for guests: a machine has programs of its own")
        else:
            remote = any(one.machine is not None and one.machine.host for one in located)
            prepared = prepare_for_machine(
                command,
                asked.files,
                *folders,
                remote=bool(remote),
                without=asked.no_files,
                copies=asked.sweep.copies,
            )
        if asked.twin_repeat:
            located = plan.with_twin(located)
            base, twin = located[:2]
            described.insert(1, m.replace(described[0], label=twin.label, twin_of=base.label))
            if workloads:
                workloads[twin.label] = workloads[base.label]
        copies.refuse(prepared, asked.sweep, equipment.collectors)
        for name in equipment.collectors:
            emulator = equipment.emulators.get(name)
            registry.collector(name).refuse(located, equipment.options, emulator)
            variants.models(located, partial(_emulator, asked, name, architecture))
        own = (
            known.get(("own files", architecture), partial(initramfs.own_files, architecture))
            if architecture
            else []
        )
        if architecture:
            for one in workloads.values() or [prepared]:
                boot.refuse(equipment.guest.memory, located, [*one.files, *own])
        counting = [one for one in map(registry.collector, equipment.collectors) if one.subtracted]
        # Samples are of the whole command, marks or not.
        marks = prepared.has_marks and any(one.kind.exact for one in counting)
        whole = bool(counting) and not marks and not asked.options.get("boot")
        if architecture is None and not asked.command and asked.sweep.is_empty:
            # The machine's other kernel, at the points that the session knows.
            points = sweep.Points(Session.open(folder).manifest.points, None)
        else:
            guests = architecture is not None
            named = copies.named(prepared, sides.example(asked.sides, command))
            points = sweep.points(asked.sweep, named, in_guests=guests, whole=whole)
        variants.refuse_cpus(located, asked.sweep, equipment.collectors, architecture)
        several = any((one.cpus or 1) > 1 for one in points.every)
        if several and architecture and architecture.one_vcpu:
            raise InputError(
                f"--cpus: {architecture.told} guests have one vCPU: with several, they wait for "
                "each other in their firmware"
            )
        typed = () if asked.options.get("boot") else asked.command
        planned = m.Manifest(
            schema=m.SCHEMA,
            profdiff=__version__,
            created=m.timestamp(),
            command=list(asked.typed) or plan.command_line(["profdiff", *sys.argv[1:]], typed),
            collectors=list(equipment.collectors),
            repeat=max(asked.repeat, 2) if asked.verify else asked.repeat,
            verify=asked.verify,
            twin_repeat=asked.twin_repeat,
            options=dict(equipment.options),
            order=asked.order,
            points=points.every,
            workload=m.replace(
                plan.describe_workload(prepared, own), replay=asked.replay, op=asked.sweep.op
            ),
            guest=_guest(asked, equipment, architecture, folder) if architecture else None,
            kernels=described,
            runs=[],
        )
        note = "; ".join(filter(None, [points.note, *notes.of(prepared, planned)])) or None
        found = asked, folder, located, equipment, prepared, own, planned, note
        return Experiment(*found, workloads=workloads)

    @property
    def code(self) -> dict[str, Path]:
        """What the session keeps of what its guests execute."""
        own = sides.own_files(self.workloads, self.workload)
        return plan.kept_code([*self.workload.files, *self.own], own)

    @property
    def most_states(self) -> int:
        """In how many varied states what changed is repeated by itself, at most."""
        equipment = self.equipment
        refused = states.refusal(self.asked.order, equipment.collectors, equipment.architecture)
        return states.BY_DEFAULT if self.asked.repeats and not refused else 0

    def recorders(self, manifest: m.Manifest, folder: Path) -> list[Recorder]:
        """The collectors of a plan, ready. What guests boot from is put into ``folder``. Raises
        MissingError."""
        guest = manifest.guest or self.equipment.guest
        return [
            Recorder(
                registry.collector(name),
                manifest.options,
                self.workload,
                guest,
                qemu=self.equipment.emulators.get(name)
                or _emulator(self.asked, name, self.equipment.architecture, guest.cpu),
                observe=self.asked.observe,
                folder=folder / name,
                machines=self.machines,
                models=variants.models(
                    self.kernels,
                    partial(_emulator, self.asked, name, self.equipment.architecture),
                ),
                workloads=self.workloads,
            )
            for name in manifest.collectors
        ]


def _prepared(
    asked: RecordOptions,
    folders: tuple[Path, Path],
    architecture: Architecture,
    command: Sequence[str],
    files: Sequence[str],
    **more: Any,
) -> PreparedWorkload:
    about: dict[str, Any] = {"without": asked.no_files, "copies": asked.sweep.copies}
    about |= {"sysroots": asked.sysroots, **more}
    return prepare(command, files, *folders, architecture, **about)


def _guest(
    asked: RecordOptions, equipment: Equipment, architecture: Architecture, folder: Path
) -> m.Guest:
    """What guests are like. A session that began with booted ones goes on with these. Raises
    InputError, SessionError."""
    restore = asked.restore
    exact = all(registry.collector(name).kind.exact for name in equipment.collectors)
    sleeps = architecture.loses_timers and not exact
    if restore and sleeps:
        raise InputError(
            f"--restore: {architecture.told} guests are restored for exact counts only, because "
            "QEMU restores no timers: leave it out"
        )
    if restore is None:
        before = Session.open(folder).manifest.guest if is_session(folder) else None
        restore = before is None or before.restored or bool(before.not_restored)
    return m.replace(equipment.guest, restored=restore and not sleeps)


def _collectors(
    asked: RecordOptions, architecture: Architecture | None
) -> tuple[list[str], dict[str, Value]]:
    """The collectors that were asked for, or the one that fits, and their options. Raises
    InputError."""
    known = registry.recording()
    selecting = {
        option: one.name
        for one in known.values()
        for option in one.selected_by
        if asked.options[option]
    }
    names = list(dict.fromkeys(asked.collectors or selecting.values()))
    if not names:
        names = [next(name for name, one in known.items() if not one.refusal(architecture))]
    for option, name in selecting.items():
        if name not in names and option in asked.given:
            flag = registry.spelled(option, asked.options[option]).split()[0]
            raise InputError(f"{flag}: only {name} runs use it: add --collector {name}")
    _refuse_unused(asked, names)
    for name in names:
        if refusal := known[name].refusal(architecture):
            raise InputError(refusal)
    settings = [known[name].settings(asked.options) for name in names]
    return names, {key: value for own in settings for key, value in own.items()}


def _refuse_unused(asked: RecordOptions, names: Sequence[str]) -> None:
    """Raise InputError for an option on the command line that no collector among ``names`` has: it
    would say nothing."""
    for option in registry.options():
        having = [one.name for one in registry.recording().values() if option in one.options]
        value = asked.options[option.name or ""]
        # What is switched off is off in runs that do not have it.
        if option.name in asked.given and value is not False and not set(having) & set(names):
            raise InputError(
                f"{option.opts[0]}: only {' and '.join(having)} runs use it: add --collector "
                f"{having[-1]}"
            )


def _emulator(
    asked: RecordOptions, name: str, architecture: Architecture | None, cpu: str | None
) -> Qemu | None:
    if architecture is None:
        return None
    given = value_for("--qemu", asked.qemu, architecture)
    program = program_named("--qemu", given) if given else None
    emulator = registry.collector(name).emulator(architecture, program)
    return _with_cpu(emulator, cpu)


@cache
def _with_cpu(emulator: Qemu, model: str | None) -> Qemu:
    """It is started to try the model: once, however many sessions of a suite ask."""
    return emulator.with_cpu(model)
