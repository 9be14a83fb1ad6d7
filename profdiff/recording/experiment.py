"""An experiment: what a user asked for, found, checked and described."""

import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from profdiff import __version__
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.architecture import ARCHITECTURES, Architecture, of_image
from profdiff.collectors.by_architecture import value_for
from profdiff.collectors.guest import initramfs, memory
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.source import locate
from profdiff.collectors.kernels.spec import parse_arguments
from profdiff.collectors.recorder import Recorder
from profdiff.collectors.records import Value
from profdiff.collectors.workload.files import GuestFile
from profdiff.collectors.workload.workload import PreparedWorkload, prepare, prepare_for_machine
from profdiff.recording import plan, sweep
from profdiff.session import manifest as m
from profdiff.session.folder import Session, is_session


@dataclass(frozen=True)
class Asked:
    """What the command line or an experiment file says. ``options``: the values of collectors'
    options; ``given``: the names of those that the command line itself gave. ``cpu_models``:
    ``[ARCH=]MODEL``, of which ``guest`` gets one. ``repeat`` and ``twin_repeat``: runs of each
    cell, and of the base's twin."""

    kernels: Sequence[str]
    output: Path | None
    collectors: Sequence[str]
    options: Mapping[str, Any]
    given: Set[str]
    sweep: sweep.Asked
    files: Sequence[str]
    sysroots: Sequence[str]
    guest: m.Guest
    cpu_models: Sequence[str]
    repeat: int
    twin_repeat: int
    verify: bool
    order: m.Order
    observe: bool
    qemu: Path | None
    command: Sequence[str]


@dataclass(frozen=True)
class Experiment:
    """What is going to be recorded. ``kernels`` are located, twins too; they run in guests of
    ``architecture``, or on machines (None). ``own``: the guest's own programs; ``emulators`` by
    collector; ``note``: what its user must know of what is counted, before anything runs."""

    asked: Asked
    folder: Path
    kernels: list[KernelFiles]
    architecture: Architecture | None
    emulators: Mapping[str, Qemu | None]
    workload: PreparedWorkload
    own: list[GuestFile]
    planned: m.Manifest
    note: str | None

    @staticmethod
    def of(asked: Asked) -> "Experiment":
        """Raises InputError, MissingError, SessionError."""
        folder = session_folder(asked.output, asked.command)
        command = asked.command or _command_of(folder)
        located = [locate(argument) for argument in parse_arguments(asked.kernels)]
        architecture = _architecture(located)
        if architecture and len(located) < 2 and not asked.twin_repeat:
            raise InputError("give --kernel at least twice: the base and one to compare with it")
        described = [plan.describe_kernel(kernel) for kernel in located]
        if asked.twin_repeat:
            located = plan.with_twin(located)
            described.insert(1, plan.describe_kernel(located[1], located[0].label))
        if architecture:
            cpu = value_for("--cpu", asked.cpu_models, architecture)
            asked = replace(asked, guest=m.replace(asked.guest, cpu=cpu))
        wanted, options = _collectors(asked, architecture)
        emulators = {name: _emulator(asked, name, architecture) for name in wanted}
        folders = cache_folder("workloads"), initramfs.guest_resources()
        if architecture:
            prepared = prepare(command, asked.files, *folders, architecture, asked.sysroots)
        elif asked.sysroots:
            raise InputError("--sysroot is for guests: a machine has programs of its own")
        else:
            remote = any(one.machine is not None and one.machine.host for one in located)
            prepared = prepare_for_machine(command, asked.files, *folders, remote=bool(remote))
        own = initramfs.own_files(architecture) if architecture else []
        if architecture:
            memory.refuse(asked.guest.memory, located, [*prepared.files, *own])
        counting = [one for one in map(registry.collector, wanted) if one.profiles]
        # Samples are of the whole command, marks or not.
        marks = prepared.has_marks and any(one.kind.exact for one in counting)
        whole = bool(counting) and not marks
        if architecture is None and not asked.command and asked.sweep.is_empty:
            # The machine's other kernel, at the points that the session knows.
            points = sweep.Points(Session.open(folder).manifest.points, None)
        else:
            guests = architecture is not None
            points = sweep.points(asked.sweep, command, in_guests=guests, whole=whole)
        planned = m.Manifest(
            schema=m.SCHEMA,
            profdiff=__version__,
            created=m.timestamp(),
            command=["profdiff", *sys.argv[1:]],
            collectors=wanted,
            repeat=max(asked.repeat, 2) if asked.verify else asked.repeat,
            verify=asked.verify,
            twin_repeat=asked.twin_repeat,
            options=options,
            order=asked.order,
            points=points.every,
            workload=plan.describe_workload(prepared, own),
            guest=asked.guest if architecture else None,
            kernels=described,
            runs=[],
        )
        return Experiment(
            asked, folder, located, architecture, emulators, prepared, own, planned, points.note
        )

    def recorders(self, manifest: m.Manifest, folder: Path) -> list[Recorder]:
        """The collectors of a plan, ready. What guests boot from is put into ``folder``. Raises
        MissingError."""
        return [
            Recorder(
                registry.collector(name),
                manifest.options,
                self.workload,
                manifest.guest or self.asked.guest,
                qemu=self.emulators.get(name) or _emulator(self.asked, name, self.architecture),
                observe=self.asked.observe,
                folder=folder / name,
            )
            for name in manifest.collectors
        ]


def _architecture(kernels: Sequence[KernelFiles]) -> Architecture | None:
    """Of the guests that boot all ``kernels``; None where machines run them. Raises InputError when
    they run in places that do not compare."""
    machines = [kernel for kernel in kernels if kernel.machine is not None]
    if machines and len(machines) < len(kernels):
        raise InputError(
            f"{machines[0].label} is a machine, other kernels boot in guests: their costs cannot "
            "be compared"
        )
    if machines:
        return None
    found = {of_image(kernel.image): kernel.label for kernel in kernels if kernel.image}
    if len(found) > 1:
        told = ", ".join(f"{label} is for {one.name}" for one, label in found.items())
        raise InputError(f"the kernels are for different architectures: {told}")
    return next(iter(found), ARCHITECTURES[0])


def _collectors(
    asked: Asked, architecture: Architecture | None
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
    for name in names:
        if refusal := known[name].refusal(architecture):
            raise InputError(refusal)
    settings = [known[name].settings(asked.options) for name in names]
    return names, {key: value for own in settings for key, value in own.items()}


def _emulator(asked: Asked, name: str, architecture: Architecture | None) -> Qemu | None:
    if architecture is None:
        return None
    emulator = registry.collector(name).emulator(architecture, asked.qemu)
    return emulator.with_cpu(asked.guest.cpu)


def session_folder(output: Path | None, command: Sequence[str]) -> Path:
    """Where a recording goes: ``-o``, or the workload's name."""
    return output or Path(f"{Path(command[0]).stem if command else 'session'}.profdiff")


def _command_of(folder: Path) -> Sequence[str]:
    """The command of a session that is to be continued. Raises InputError, SessionError."""
    if not is_session(folder):
        raise InputError("no COMMAND: write the command to record after --")
    return Session.open(folder).manifest.workload.argv
