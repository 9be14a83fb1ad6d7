"""What one command records: an experiment, or the same one for each of several architectures."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.by_architecture import unnamed
from profdiff.recording import located
from profdiff.recording.experiment import Asked, Equipment, Experiment
from profdiff.session.architectures import Architectures, opened
from profdiff.session.folder import Session, is_session, is_several, recording


@dataclass(frozen=True)
class Experiments:
    """Experiments that are recorded one after the other. ``folder``: the session of the only one,
    or the one that has them as its parts. ``names``: the architectures of all its parts, those of
    an earlier recording too; none where ``folder`` is a session."""

    folder: Path
    names: Sequence[str]
    each: Sequence[Experiment]

    @staticmethod
    def of(asked: Asked) -> "Experiments":
        """All are planned before anything is recorded: what one architecture lacks must not show
        when the other is done. Raises InputError, MissingError, SessionError."""
        folder = session_folder(asked.output, asked.command)
        command = asked.command or command_of(folder, sessions(folder))
        names = _parts(asked, folder)
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
            kernels, architecture = located.together(asked.kernels)
            equipment = Equipment.of(asked, architecture)
            return Experiments(
                folder, (), [Experiment.of(asked, folder, command, kernels, equipment)]
            )
        # Before kernels are fetched.
        equipped = [Equipment.of(asked, one) for one in wanted]
        found = located.for_each(asked.kernels, wanted)
        each = [
            Experiment.of(
                asked, folder / one.arch if names else folder, command, found[one], equipment
            )
            for one, equipment in zip(wanted, equipped, strict=True)
        ]
        return Experiments(folder, names, each)

    @contextmanager
    def recording(self) -> Iterator[Architectures | None]:
        """Keep other recorders out, and make what the sessions lie in, which is yielded if there
        are several. Raises InputError when another is at work, OSError."""
        with ExitStack() as locks:
            locks.enter_context(recording(self.folder))
            made = None
            if self.names:
                command = self.each[0].planned.command
                if is_several(self.folder):
                    made = Architectures.open(self.folder).with_parts(self.names)
                else:
                    made = Architectures.create(self.folder, self.names, command)
                for one in self.each:
                    locks.enter_context(recording(one.folder))
            yield made


def _parts(asked: Asked, folder: Path) -> list[str]:
    """The names of all parts that ``folder`` is going to have; none for one session. Raises
    InputError, SessionError."""
    names = [one.arch for one in asked.architectures]
    if is_several(folder):
        return list(dict.fromkeys([*Architectures.open(folder).names, *names]))
    if len(names) < 2:
        return []
    if is_session(folder):
        raise InputError(
            f"{folder} holds a recording of one architecture: name another folder with -o, or "
            "delete that one"
        )
    return names


def session_folder(output: Path | None, command: Sequence[str]) -> Path:
    """Where a recording goes: ``-o``, or the workload's name."""
    return output or Path(f"{Path(command[0]).stem if command else 'session'}.profdiff")


def sessions(folder: Path) -> list[Session]:
    """What is recorded in ``folder``: the session that it is, or its parts; none if it is neither.
    Raises SessionError."""
    known = is_session(folder) or is_several(folder)
    return list(opened(folder).values()) if known else []


def command_of(folder: Path, found: Sequence[Session]) -> Sequence[str]:
    """The command of what is to be continued, the sessions that were ``found`` in ``folder``.
    Raises InputError where there is none, or several."""
    commands = [one.manifest.workload.argv for one in found]
    if not commands:
        raise InputError("no COMMAND: write the command to record after --")
    if any(one != commands[0] for one in commands):
        raise InputError(
            f"the parts of {folder} have different commands: write the command to record after --"
        )
    return commands[0]
