"""Copies of a workload that run at the same time: whether it can have them, and knows how long."""

from collections.abc import Collection, Sequence
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.architecture import host
from profdiff.collectors.workload.command import find_command
from profdiff.collectors.workload.compilation import is_source
from profdiff.collectors.workload.files import GuestFiles
from profdiff.collectors.workload.workload import PreparedWorkload
from profdiff.recording.lengths import OPS
from profdiff.recording.sweep import Sweep, points


def refuse(prepared: PreparedWorkload, asked: Sweep, collectors: Collection[str]) -> None:
    """Raises InputError where ``collectors`` cannot record the copies of a workload, or a test in
    will-it-scale's shape is not told how many operations they do."""
    if prepared.is_test and not _tells_ops(asked):
        raise InputError(
            f"{prepared.argv[0]} is a test in will-it-scale's shape, whose loop never ends: add "
            "--ops 2000, the number of operations of each copy"
        )
    used = [registry.collector(name) for name in collectors]
    if sharing := next((one.name for one in used if one.several_vcpus), None):
        if max(asked.cpus) < 2:
            copied = " --copies 2" if prepared.is_test else ""
            raise InputError(
                f"--collector {sharing}: one vCPU has no other to share with: add --cpus 2{copied}"
            )
        if prepared.is_test and prepared.copies < 2:
            raise InputError(
                f"--collector {sharing}: one copy has no other to share with: add --copies 2"
            )
    if prepared.started == 1:
        return
    if alone := [one.name for one in used if not one.uses_agent]:
        raise InputError(
            f"--copies {asked.copies}: {alone[0]} starts the command itself, once: leave --copies "
            f"out, or --collector {alone[0]}"
        )
    if prepared.has_marks and any(one.kind.exact for one in used):
        raise InputError(
            f"--copies {asked.copies}: the program has marks, and each copy would open the window: "
            "leave PROFDIFF_START() and PROFDIFF_STOP() out, or start the copies in the program"
        )


def named(prepared: PreparedWorkload, command: Sequence[str]) -> Sequence[str]:
    """The words of a ``command`` that may name parameters."""
    return prepared.guest_argv if prepared.is_test else command


def possible(command: Sequence[str], asked: Sweep) -> Sequence[str]:
    """As ``named``, before anything is compiled: a source may be a test."""
    swept = any(text.startswith(f"{OPS}=") for text in asked.texts)
    return [*command, f"{{{OPS}}}"] if swept and is_source(Path(command[0])) else command


def refuse_early(command: Sequence[str], asked: Sweep, *, in_root: bool) -> None:
    """Raise InputError for what a ``command`` in guests shows before kernels are fetched or built,
    and before anything is compiled; ``in_root``: its program is a root folder's."""
    source = is_source(Path(command[0]))
    words = [*command, f"{{{OPS}}}"] if source and _tells_ops(asked) else command
    points(asked, words, in_guests=True)
    if not in_root:
        find_command(command[0], GuestFiles(host()))


def _tells_ops(asked: Sweep) -> bool:
    texts = [*asked.texts, asked.difference or ""]
    return asked.ops is not None or any(text.startswith(f"{OPS}=") for text in texts)
