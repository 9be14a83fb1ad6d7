"""What one command records: an experiment, or the same one for each of several architectures, or
under each of several compilers."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES, X86_64, Architecture, unnamed
from profdiff.collectors.kernels.kinds.machine import Machine
from profdiff.collectors.kernels.kinds.registry import KernelArgument
from profdiff.collectors.workload.sides import PROGRAM, example
from profdiff.recording import copies, located, plan, series
from profdiff.recording.experiment import Answers, Equipment, Experiment, RecordOptions
from profdiff.session import opened
from profdiff.session.held import ARCHITECTURE, COMPILER, PartKind, held, parted_by
from profdiff.session.lock import recording
from profdiff.session.parts import Parts
from profdiff.session.session import Session


@dataclass(frozen=True)
class Experiments:
    """Experiments that are recorded one after the other. ``folder``: the session of the only one,
    or the one that has them as its parts. ``names``: of all its parts, those of an earlier
    recording too; none where ``folder`` is a session; ``kind``: what they differ by."""

    folder: Path
    names: Sequence[str]
    each: Sequence[Experiment]
    kind: PartKind = ARCHITECTURE

    @staticmethod
    def of(asked: RecordOptions, known: Answers | None = None) -> "Experiments":
        """All are planned before anything is recorded: what one part lacks must not show when the
        other is done. ``known``: what other experiments found. Raises InputError, MissingError,
        SessionError."""
        known = known or Answers()
        if asked.architectures and asked.compilers:
            raise InputError(
                "--arch and --compilers: one folder has parts of one kind: leave --arch out and "
                "write git:REPO@REV,arch=ARCH, or record once for each compiler"
            )
        folder = session_folder(asked.output, asked.command)
        recorded = sessions(folder) if asked.series or not asked.command else []
        if asked.series:
            kernels, labels = series.as_in(recorded, asked.kernels, asked.series)
            asked = replace(asked, kernels=kernels, series=labels)
            # Before anything is built.
            every = list(dict.fromkeys(kernel.label for kernel in asked.kernels))
            for session in recorded:
                plan.refuse_other_series(session, every)
        if any(one.manifest.options.get("boot") for one in recorded if not asked.command):
            raise InputError(f"{folder} holds recorded boots: add --boot")
        if any(one.manifest.workload.replay for one in recorded if not asked.command):
            raise InputError(f"{folder} holds a replay: add --replay TRACE")
        command = asked.command or command_of(folder, recorded)
        if asked.replay and any(isinstance(one.spec, Machine) for one in asked.kernels):
            raise InputError("--replay: a trace is replayed in guests: name kernels that boot")
        _refuse_replay(asked, *asked.architectures)
        on_machines = all(isinstance(kernel.spec, Machine) for kernel in asked.kernels)
        if not (on_machines or asked.options.get("boot")):
            roots = asked.sysroots or any(one.kind == "sysroot" for one in asked.sides.values())
            copies.refuse_early(example(asked.sides, command), asked.sweep, in_root=bool(roots))
        kind = _kind(asked, folder)
        names = _parts(asked, folder, kind)
        if kind is COMPILER:
            return _by_compiler(asked, folder, command, names, known)
        return _by_architecture(asked, folder, command, names, known)

    @contextmanager
    def recording(self) -> Iterator[Parts | None]:
        """Keep other recorders out, and make what the sessions lie in, which is yielded if there
        are several. Raises InputError when another is at work, OSError."""
        with ExitStack() as locks:
            locks.enter_context(recording(self.folder))
            made = self.made()
            for one in self.each if made else ():
                locks.enter_context(recording(one.folder))
            yield made

    def made(self) -> Parts | None:
        """What the sessions lie in if there are several, made if it is not there. Raises InputError
        when something else is, OSError."""
        if not self.names:
            return None
        if held(self.folder) == "parts":
            return Parts.open(self.folder).with_parts(self.names)
        command = self.each[0].planned.command
        return Parts.create(self.folder, self.names, command, self.kind)


def _refuse_replay(asked: RecordOptions, *architectures: Architecture | None) -> None:
    if asked.replay and any(one not in (X86_64, None) for one in architectures):
        raise InputError("--replay: traces are of x86-64: name kernels of x86-64")


def _by_architecture(
    asked: RecordOptions, folder: Path, command: Sequence[str], names: Sequence[str], known: Answers
) -> Experiments:
    wanted = asked.architectures
    if names:
        # In the order of the folder, whatever is asked for now.
        every = {one.arch: one for one in ARCHITECTURES}
        wanted = [every[n] for n in names if not wanted or every[n] in wanted]
    if len(wanted) > 1 and (plain := unnamed(asked.qemu)):
        raise InputError(
            f"--qemu {plain[0]} is the emulator of one architecture: write --qemu "
            f"{wanted[0].arch}={plain[0]}"
        )
    if not wanted:
        kernels, architecture = known.get(
            ("together", *asked_kernels(asked)),
            partial(located.together, asked.kernels, asked.may_lack),
        )
        _refuse_replay(asked, architecture)
        equipment = Equipment.of(asked, architecture, known)
        one = Experiment.of(asked, folder, command, kernels, equipment, known)
        return Experiments(folder, (), [one])
    # Before kernels are fetched.
    equipped = [Equipment.of(asked, one, known) for one in wanted]
    found = known.get(
        ("for each", *wanted, *asked_kernels(asked)),
        partial(located.for_each, asked.kernels, wanted, asked.may_lack),
    )
    each = [
        Experiment.of(
            asked, folder / one.arch if names else folder, command, found[one], equipment, known
        )
        for one, equipment in zip(wanted, equipped, strict=True)
    ]
    return Experiments(folder, names, each)


def _by_compiler(
    asked: RecordOptions, folder: Path, command: Sequence[str], names: Sequence[str], known: Answers
) -> Experiments:
    wanted: Sequence[str] = asked.compilers
    if names:
        wanted = [name for name in names if not wanted or name in wanted]
    arguments = located.specified(asked.kernels, wanted)
    architecture = located.only_architecture(arguments[wanted[0]])
    # Before kernels are built.
    equipment = Equipment.of(asked, architecture, known)
    located.check_compilers(wanted, architecture)
    found = known.get(
        ("under each", *wanted, *asked_kernels(asked)),
        partial(located.under_each, arguments, asked.may_lack),
    )
    each = [
        Experiment.of(
            asked, folder / name if names else folder, command, found[name], equipment, known
        )
        for name in wanted
    ]
    return Experiments(folder, names, each, COMPILER)


def not_built(asked: RecordOptions) -> list[str]:
    """The kernels from git, ``LABEL=SPEC``, that may have to be built before this is recorded
    (``located.not_built``): of the parts that its folder has, where nobody says of which. Raises
    InputError, SessionError."""
    folder = session_folder(asked.output, asked.command)
    kind = _kind(asked, folder)
    names = _parts(asked, folder, kind)
    architectures, compilers = asked.architectures, asked.compilers
    if not architectures and not compilers:
        architectures = [
            architecture
            for architecture in ARCHITECTURES
            if kind is ARCHITECTURE and architecture.arch in names
        ]
        compilers = names if kind is COMPILER else []
    return located.not_built(asked.kernels, architectures, compilers)


def asked_kernels(asked: RecordOptions) -> tuple[KernelArgument | frozenset[str], ...]:
    """What was asked for of kernels, to find it again."""
    return (frozenset(asked.may_lack), *asked.kernels)


def _kind(asked: RecordOptions, folder: Path) -> PartKind:
    """What the parts of ``folder`` differ by, or are going to. Raises InputError where it has parts
    of another kind than is asked for."""
    kind = parted_by(folder)
    wanted = COMPILER if asked.compilers else ARCHITECTURE if asked.architectures else kind
    if kind and wanted is not kind:
        raise InputError(
            f"{folder} holds a session for each of several {kind.plural}: name another folder with "
            "-o"
        )
    return wanted or ARCHITECTURE


def _parts(asked: RecordOptions, folder: Path, kind: PartKind) -> list[str]:
    """The names of all parts that ``folder`` is going to have; none for one session. Raises
    InputError, SessionError."""
    names = list(asked.compilers) or [architecture.arch for architecture in asked.architectures]
    if held(folder) == "parts":
        return list(dict.fromkeys([*Parts.open(folder).names, *names]))
    if len(names) < 2:
        return []
    if held(folder) == "session":
        raise InputError(
            f"{folder} holds a recording of one {kind.name}: name another folder with -o, or "
            "delete that one"
        )
    return names


def session_folder(output: Path | None, command: Sequence[str]) -> Path:
    """Where a recording goes: ``-o``, or the workload's name."""
    name = Path(command[0]).stem if command else "session"
    return output or Path(f"{name.strip('{}') if name == PROGRAM else name}.profdiff")


def sessions(folder: Path) -> list[Session]:
    """What is recorded in ``folder``: the session that it is, or its parts; none if it is neither.
    Raises SessionError."""
    known = held(folder) in ("session", "parts")
    return list(opened.open(folder).sessions().values()) if known else []


def command_of(folder: Path, found: Sequence[Session]) -> Sequence[str]:
    """The command of what is to be continued, the sessions that were ``found`` in ``folder``.
    Raises InputError where there is none, or several."""
    commands = [one.manifest.workload.argv for one in found]
    if not commands:
        raise InputError("no COMMAND: write the command to record after --")
    if any(command != commands[0] for command in commands):
        raise InputError(
            f"the parts of {folder} have different commands: write the command to record after --"
        )
    return commands[0]
