"""A machine that is to be saved, once for all runs that it can be restored for.

The clock of a machine while it boots.

A kernel that boots waits by reading the clock: Linux measures the local APIC's timer for 100 ms.
Where an instruction takes longer, that is fewer instructions. All clocks of a guest show virtual
time, which QEMU calculates from the number of instructions (``-icount``). With another number in
its saved state, a machine goes on at the same time, and its instructions take less.
"""

import hashlib
import itertools
import json
import mmap
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.atomic import naming
from profdiff.base.temporary import temporary_folder
from profdiff.collectors.guest import initramfs, machine_state
from profdiff.collectors.guest.boot import NO_VARIATION, Boot, Variation
from profdiff.collectors.guest.delivery import Delivery, make_shared
from profdiff.collectors.guest.machine_state import MachineState
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.result import take_files, too_few_cpus
from profdiff.collectors.guest.saved_run import RestoredRun, SavingRun, shared_arguments
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.records import Failure, Guest
from profdiff.collectors.workload.files import GuestFile

# What is saved, and how: a state that an older profdiff made otherwise is not found.
_FORMAT = 2
_POLL_SECONDS = 0.1
FAILS_BOOTED_TOO = ("boot", "panic", "timeout")
"""Kinds of failure of a machine that is to be saved that its runs would have if they booted."""
_numbers = itertools.count()


@dataclass(frozen=True)
class SavedMachine:
    """The machine that a run of ``kernel`` is restored from: ``programs`` are the collector's,
    ``room`` the bytes of memory that it shares with us. The workload is not part of it."""

    qemu: Qemu
    kernel: KernelFiles
    guest: Guest
    cpus: int
    programs: Sequence[GuestFile]
    room: int

    def key(self) -> str:
        """What tells its state from others. Raises MissingError, OSError."""
        nowhere = Path("/")
        own = initramfs.digest(self.programs, _OWN, self.guest.settle, self.qemu.architecture)
        assert self.kernel.image  # noqa: S101
        told = {
            "format": _FORMAT,
            "qemu": self.qemu.identity(),
            "image": initramfs.content_of(self.kernel.image),
            "initramfs": own,
            "arguments": self.arguments(nowhere, nowhere, nowhere, nowhere),
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:40]

    def arguments(
        self, image: Path, archive: Path, folder: Path, shared: Path, more: Sequence[str] = ()
    ) -> list[str]:
        """QEMU's command line: what it boots or booted from, where it leaves what it does, and the
        memory that it shares."""
        guest = self.guest
        boot = Boot(image, archive, guest.append, guest.memory, self.cpus, NO_VARIATION)
        own = shared_arguments(shared, self.room)
        return self.qemu.arguments(boot, folder, [*own, *more])

    def find(self) -> MachineState | None:
        """It as it was saved; None if it was not, or its state is damaged. Raises MissingError,
        OSError."""
        return machine_state.find(self.key())

    def start_saving(self, folder: Path) -> "Saving":
        """Boot it to be saved; ``folder`` is empty, and for what that needs. Raises what
        ``initramfs.build`` does, and OSError."""
        return Saving(self, folder)

    def saved(self, folder: Path) -> MachineState | Failure:
        """It as it was saved, now if need be; or why it cannot be. Raises what ``start_saving``
        does."""
        if found := self.find():
            return found
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_folder(beside=folder / "saving") as temporary:
            saving = self.start_saving(temporary)
            try:
                while not saving.run.poll():
                    time.sleep(_POLL_SECONDS)
            finally:
                saving.run.stop()
            return saving.end()

    def restore(
        self,
        state: MachineState,
        delivery: Delivery,
        variation: Variation,
        places: "Places",
        more: Sequence[str],
    ) -> RestoredRun:
        """Start a run; ``more`` of QEMU's arguments. Raises OSError."""
        assert self.kernel.image  # noqa: S101
        shared = places.work / f"{next(_numbers)}.shared"
        make_shared(shared, self.room)
        image, folder = self.kernel.image, places.folder
        return RestoredRun(
            self.arguments(image, state.initramfs, folder, shared, more),
            folder,
            self.guest.timeout,
            state.state,
            shared,
            delivery.content(variation, self.guest.settle),
            self.qemu.architecture,
        )


@dataclass(frozen=True)
class Places:
    """A run's folders: ``folder`` receives what the run leaves, the other what is sent with it."""

    folder: Path
    work: Path


class Saving:
    """A machine that is being saved by ``run``, in ``folder``."""

    def __init__(self, machine: SavedMachine, folder: Path) -> None:
        self._machine, self._folder = machine, folder
        kernel, architecture = machine.kernel, machine.qemu.architecture
        assert kernel.image  # noqa: S101
        shared = folder / "shared"
        make_shared(shared, machine.room)
        archive = folder / "initramfs"
        initramfs.build(archive, machine.programs, _OWN, machine.guest.settle, architecture)
        arguments = machine.arguments(kernel.image, archive, folder, shared, ARGUMENTS)
        timeout = machine.guest.timeout
        self.run = SavingRun(
            arguments, folder, timeout, folder / "machine", architecture, machine.cpus
        )

    def end(self) -> MachineState | Failure:
        """The state, once the run has ended. Raises MissingError, OSError."""
        names = self.run.saved()
        if isinstance(names, Failure):
            return names
        facts = take_files(self._folder, names, {})
        told = facts.pop("cpus", None)
        if told and (failure := too_few_cpus(self._folder / told, self._machine.cpus)):
            return failure
        try:
            replace_instructions(self._folder / "machine")
        except ValueError as error:
            return Failure("qemu", str(error))

        def fill(folder: Path) -> dict[str, str]:
            for name in ("machine", "initramfs", *facts.values()):
                shutil.move(self._folder / name, folder / name)
            return facts

        return machine_state.keep(self._machine.key(), self._machine.kernel.label, fill)


# What tells the guest's init that the machine is going to be saved.
_OWN = {"held": b""}


class NotBooted:
    """In place of a run of a kernel whose machine could not be saved, because it does not boot."""

    wall_seconds = 0.0
    phase = "boot"

    def __init__(self, failure: Failure) -> None:
        self._failure = failure

    def poll(self) -> bool:
        """It has ended before it began."""
        return True

    def stop(self) -> None:
        """There is nothing to stop."""

    def result(self, members: Mapping[str, int]) -> set[str] | Failure:
        """Why."""
        del members
        return self._failure


# Nanoseconds of an instruction, as a power of two.
_SHIFT = 3
ARGUMENTS = ("-icount", f"shift={_SHIFT}")
"""Of QEMU for such a boot, behind its others."""
# QEMU's migration stream (migration/savevm.c): a whole section, with the number, name, instance and
# version of what it is of; then the fields of cpu-timers.c (``vmstate_timers`` and, in a
# subsection, ``icount_vmstate_timers``), of which the last one is the number of instructions.
_INSTRUCTIONS = re.compile(
    rb"\x04.{4}\x05timer.{4}\0\0\0\x02.{24}\x05\x0ctimer/icount\0\0\0\x01.{8}(.{8})", re.DOTALL
)


def replace_instructions(state: Path) -> None:
    """Let a machine that booted with ``ARGUMENTS`` and was saved to the file ``state`` be restored
    at the same time by a QEMU without them. Raises OSError, ValueError where its clock is not
    found."""
    with state.open("r+b") as file, naming(state):
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            found = [match.span(1) for match in _INSTRUCTIONS.finditer(content)]
            if len(found) != 1:
                raise ValueError("the clock is not where QEMU saves it")
            start, end = found[0]
            number = int.from_bytes(content[start:end], "big", signed=True) << _SHIFT
        # Not where it is mapped: without room for a copy of the page, that would kill us (SIGBUS).
        file.seek(start)
        file.write(number.to_bytes(8, "big", signed=True))
