"""What a collector is. Each is one object, of a class made from this one (docs/collectors.md).

An object is made whenever the command line is read, so whatever is heavy (numpy, msgspec, the
native module) is imported where it is used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import click

from profdiff.base.metric import Kind

if TYPE_CHECKING:
    from profdiff.collectors.architecture import Architecture
    from profdiff.collectors.guest.qemu import Qemu
    from profdiff.collectors.guest.result import Left, Result
    from profdiff.collectors.kernels.files import KernelFiles
    from profdiff.collectors.machine.environment import Environment, Finding
    from profdiff.collectors.recorded import Recorded
    from profdiff.collectors.records import Measured, Value
    from profdiff.collectors.workload.files import GuestFile

Options = Mapping[str, Any]


class Collector:
    """Runs a workload once more and keeps what it found. What is here records the workload alone,
    with nothing attached; a collector says what it does differently.

    - ``name``: letters, digits and ``-``; ``kind`` of its values.
    - ``help``: what it records, for ``--collector``; ``how``: what reports say behind its metrics;
      ``short_how``: the same for a reader who knows how it counts, "" for ``how``.
    - ``options``: the command line's that are its own, or that several collectors have (then they
      have the same object). Those in ``selected_by`` select it where no collector was named.
    - ``functions``: the option of its own that names functions of the kernel, in its settings a
      list. Where none is named, they are those with the largest total deltas of exact counts.
    - ``leaves``: files that only its script leaves, and how many bytes each may have; ``called``:
      what the session calls such a file, where that is not its name.
    - ``failures``: kinds of failure of its own.
    - ``uses_agent``: its script starts the agent. ``several_vcpus``: one alone shows nothing.
    - ``profiles``: ``read`` gives places and counts. ``whole_command``: what it counts has start-up
      in it, so that two lengths are subtracted; so have profiles. ``records``: it can record, not
      only read.
    """

    name: ClassVar[str]
    kind: ClassVar[Kind]
    help: ClassVar[str] = ""
    how: ClassVar[str] = ""
    short_how: ClassVar[str] = ""
    options: ClassVar[Sequence[click.Option]] = ()
    selected_by: ClassVar[Sequence[str]] = ()
    functions: ClassVar[str | None] = None
    leaves: ClassVar[Mapping[str, int]] = {}
    called: ClassVar[Mapping[str, str]] = {}
    failures: ClassVar[Sequence[str]] = ()
    uses_agent: ClassVar[bool] = True
    profiles: ClassVar[bool] = False
    whole_command: ClassVar[bool] = False
    several_vcpus: ClassVar[bool] = False
    records: ClassVar[bool] = True

    @property
    def subtracted(self) -> bool:
        """Whether it runs at both lengths where two are subtracted."""
        return self.profiles or self.whole_command

    def refusal(self, architecture: Architecture | None) -> str | None:
        """Why it cannot record in guests of an architecture, or on machines (None)."""
        return None

    def settings(self, given: Mapping[str, Any]) -> dict[str, Value]:
        """Its options as the manifest holds them, from click's values. Raises InputError."""
        own = {option.name or "": given[option.name or ""] for option in self.options}
        return {name: list(v) if isinstance(v, tuple) else v for name, v in own.items()}

    def refuse(self, kernels: Sequence[KernelFiles], options: Options, qemu: Qemu | None) -> None:
        """Raise InputError or MissingError where these kernels, or this QEMU, cannot be recorded
        with its options."""

    def preview(self, given: Mapping[str, Any]) -> list[str]:
        """What ``plan`` can say of click's values without a run; one line each. Raises
        InputError."""
        return []

    def emulator(self, architecture: Architecture, program: Path | None) -> Qemu:
        """The QEMU for its guests. Raises MissingError."""
        from profdiff.collectors.guest.qemu import find_emulator

        return find_emulator(architecture, program)

    def qemu_arguments(
        self,
        qemu: Qemu,
        options: Options,
        folder: Path,
        repetition: int = 1,
        kernel: KernelFiles | None = None,
    ) -> list[str]:
        """What it adds to QEMU's command line for the run of ``kernel`` in ``folder``, the cell's
        first or another one."""
        return []

    def script(self) -> str | None:
        """``collector.sh FOLDER OUT``, which runs in guests and on machines, in the workload's
        folder. FOLDER holds ``argv``, the agent, and ``files``. What it puts into OUT comes back:
        ``leaves``, and what the agent writes. None: the agent alone runs the workload."""
        return None

    def files(self, options: Options, *, emulated: bool) -> dict[str, bytes]:
        """What its script finds beside it; the agent alone runs the workload as often as
        ``boot-runs`` says. ``emulated``: in a guest without a processor of its own. Raises
        InputError."""
        return {"boot-runs": b"1\n"}

    def programs(self, architecture: Architecture) -> list[GuestFile]:
        """What travels into guests for it. Raises MissingError, InputError."""
        return []

    def findings(
        self, architecture: Architecture | None, environment: Environment | None
    ) -> list[Finding]:
        """What ``doctor`` says of guests of an architecture, or of a machine's environment."""
        return []

    def judge(self, left: Left) -> Result:
        """The result of what a run left. Raises OSError, MissingError."""
        from profdiff.collectors.guest.result import agents_result

        return agents_result(left, self.measure)

    def measure(self, left: Left) -> list[Measured]:
        """The metrics of a run that went well. Raises InputError if it has none after all."""
        return []

    def read(self, files: Mapping[str, Path]) -> Recorded | None:
        """A run's files as plain arrays, by what they are; None if they hold no places.

        Raises SessionError, NativeError.
        """
        return None
