"""A guest that boots to where its machine is saved, and one whose machine is restored."""

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from profdiff.base.terminal import last_line, read_end
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest import result
from profdiff.collectors.guest.delivery import MEMBERS, delivered_phase, handed_over
from profdiff.collectors.guest.qemu import escaped
from profdiff.collectors.guest.qmp import Migration, Qmp, QmpError, events
from profdiff.collectors.guest.run import GuestRun, need_room
from profdiff.collectors.records import Failure

# As fast as it can.
_BANDWIDTH = 1 << 40
_SAVE, _LOAD = "migrate", "migrate-incoming"
_AGENT = "profdiff agent: "
_AT_WORK = "a CPU of it does not sleep"


def shared_arguments(shared: Path, size: int) -> list[str]:
    """QEMU's arguments for what such a machine has more than others: the memory ``shared``, a file
    of ``size`` bytes, and what stops it while it sleeps."""
    backend = f"memory-backend-file,id=shared,size={size},mem-path={escaped(shared)},share=on"
    arguments = ["-object", backend, "-device", "ivshmem-plain,memdev=shared,master=on,addr=5"]
    return [*arguments, "-device", "i6300esb,addr=7", "-action", "watchdog=pause"]


class _Way:
    """How QEMU ``migrate``s to a file, or from one (``migrate-incoming``): by its name, which QEMU
    can since 8.2, or as a descriptor, which it cannot any more in 11."""

    def __init__(self, qmp: Qmp, command: str, path: Path) -> None:
        self._qmp, self._command, self._path = qmp, command, path.absolute()
        self._left = [self._by_name, self._by_descriptor]

    def go(self) -> None:
        """Begin, in the first way."""
        self._left.pop(0)()

    def again(self, error: QmpError) -> None:
        """QEMU refused it: begin in the next way. Raises ``error`` where there is none, OSError."""
        if not self._left:
            raise error
        self.go()

    def _by_name(self) -> None:
        self._qmp.send(self._command, uri=f"file:{self._path}")

    def _by_descriptor(self) -> None:
        flags = os.O_RDONLY if self._command == _LOAD else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        file = os.open(self._path, flags | os.O_CLOEXEC, 0o666)
        try:
            self._qmp.send("getfd", file, fdname="state")
        finally:
            os.close(file)
        self._qmp.send(self._command, uri="fd:state")


class SavingRun(GuestRun):
    """A guest of ``cpus`` vCPUs that boots, tells its facts, and whose machine goes to the file
    ``state``."""

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        timeout: float,
        state: Path,
        architecture: Architecture,
        cpus: int,
    ) -> None:
        """Start QEMU. Raises OSError."""
        self._qmp = Qmp()
        self._migration = Migration(self._qmp)
        super().__init__(
            [*arguments, *self._qmp.arguments], folder, timeout, descriptors=[self._qmp.descriptor]
        )
        self._qmp.connected()
        self._state, self._cpus = state, cpus
        self._asleep, self._behind = architecture.asleep
        self._stopped = self._saved = False
        self._way: _Way | None = None
        self._refusal: str | None = None
        self._seen: list[str] = []
        self._asked: list[tuple[str, int]] = [("info registers -a", 0)]

    @property
    def listening(self) -> Sequence[int]:
        return [*super().listening, *self._qmp.listening]

    def poll(self) -> bool:
        try:
            said = self._heard()
            if not self._stopped and any(name == "STOP" for name, _ in events(said)):
                self._stopped = True
                self._ask()
            elif self._stopped and not self._saved:
                self._look(said)
        except (QmpError, OSError) as error:
            self._refusal = str(error)
            self.stop()
        return super().poll()

    def _heard(self) -> list[dict[str, Any]]:
        try:
            return self._qmp.heard()
        except QmpError as error:
            if self._way is None:
                raise
            self._way.again(error)
            # It says that the first way failed, too, before or behind that it refuses it.
            self._migration = Migration(self._qmp)
            return []

    def _ask(self) -> None:
        """The monitor's next answer, for people, is of this."""
        command, cpu = self._asked[len(self._seen)]
        self._qmp.send("human-monitor-command", **{"command-line": command, "cpu-index": cpu})

    def _look(self, said: list[dict[str, Any]]) -> None:
        answers = [one["return"] for one in said if isinstance(one.get("return"), str)]
        if answers:
            self._seen += answers
            self._check(self._seen)
            if len(self._seen) < len(self._asked):
                self._ask()
            else:
                self._save()
        elif self._migration.ended(said):
            self._saved = True
            self._qmp.send("quit")

    def _check(self, seen: Sequence[str]) -> None:
        """Whether all CPUs sleep, by what was answered so far; asks further if it must. Raises
        QmpError."""
        if len(seen) > 1:
            if self._behind not in seen[-1].lower():
                raise QmpError(_AT_WORK)
            return
        found = re.findall(self._asleep, seen[0], re.MULTILINE)
        if len(found) != self._cpus:
            raise QmpError("QEMU does not say where its CPUs are" if self._behind else _AT_WORK)
        if self._behind:
            places = [int(place, 16) - 4 for place in found]
            self._asked += [(f"x /1xw 0x{place:x}", cpu) for cpu, place in enumerate(places)]

    def _save(self) -> None:
        self._qmp.send(
            "migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}]
        )
        self._qmp.send("migrate-set-parameters", **{"max-bandwidth": _BANDWIDTH})
        self._way = _Way(self._qmp, _SAVE, self._state)
        self._way.go()

    def _close(self) -> None:
        super()._close()
        self._qmp.close()

    def saved(self) -> set[str] | Failure:
        """The names of the guest's facts, which are in the folder now, or why its machine could not
        be saved. Raises OSError, also when the disk is full."""
        if self._refusal is not None:
            need_room(self._folder)
            return Failure("qemu", self._refusal)
        outcome = self.result(MEMBERS)
        if isinstance(outcome, Failure) or self._saved:
            return outcome
        lines = result.read(self._folder / "console.log")
        said = [line.partition(_AGENT)[2] for line in lines if _AGENT in line]
        return Failure("qemu", said[-1] if said else "it never slept")


class RestoredRun(GuestRun):
    """A run in a machine that is restored from the file ``state``. ``delivery``: what the memory
    ``shared`` begins with then."""

    def __init__(
        self,
        arguments: list[str],
        folder: Path,
        timeout: float,
        state: Path,
        shared: Path,
        delivery: bytes,
        architecture: Architecture,
        at: Path | None = None,
    ) -> None:
        """Start QEMU, as ``GuestRun``. Raises OSError."""
        self._qmp = Qmp()
        self._migration = Migration(self._qmp)
        self._shared, self._delivery = shared, delivery
        self._restored = False
        self._woken = architecture.loses_timers
        self._last_phase = "settle"
        self._refusal: str | None = None
        # With it the agent ends the machine, instead of the kernel (alone.c).
        ending = ["-action", "watchdog=reset"]
        self.arguments = [*arguments, *ending, *self._qmp.arguments, "-incoming", "defer"]
        super().__init__(self.arguments, folder, timeout, at, [self._qmp.descriptor])
        self._qmp.connected()
        self._qmp.send(
            "migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}]
        )
        # Else QEMU tells the network where the machine is now, by a timer of its clock, which with
        # several vCPUs moves them against each other.
        self._qmp.send("migrate-set-parameters", **{"announce-rounds": 0})
        self._way = _Way(self._qmp, _LOAD, state)
        self._way.go()

    @property
    def listening(self) -> Sequence[int]:
        return [*super().listening, *self._qmp.listening]

    @property
    def phase(self) -> str:
        """restore, settle, measure or collect."""
        if (known := super().phase) != "boot":
            return known
        return self._told_phase() if self._restored else "restore"

    def _told_phase(self) -> str:
        with contextlib.suppress(FileNotFoundError):
            self._last_phase = delivered_phase(self._shared)
        return self._last_phase

    def poll(self) -> bool:
        try:
            said = self._heard()
            if not self._restored and self._migration.ended(said):
                self._restored = True
                # Not earlier: loading overwrites it.
                with self._shared.open("r+b") as file:
                    file.write(self._delivery)
                # After this, the machine is alone with its clock.
                self._qmp.send("cont")
                if self._woken:
                    self._qmp.send("chardev-send-break", id="channel")
        except (QmpError, OSError) as error:
            self._refusal = str(error)
            self.stop()
        return super().poll()

    def _heard(self) -> list[dict[str, Any]]:
        try:
            return self._qmp.heard()
        except QmpError as error:
            if self._restored:
                raise
            self._way.again(error)
            # It says that the first way failed, too, before or behind that it refuses it.
            self._migration = Migration(self._qmp)
            return []

    def _close(self) -> None:
        super()._close()
        self._qmp.close()

    def stop(self) -> None:
        super().stop()
        self._told_phase()
        self._shared.unlink(missing_ok=True)

    def _received(self, members: Mapping[str, int]) -> set[str] | None:
        found = handed_over(self._shared, self._folder, members)
        return super()._received(members) if found is None else found

    def result(self, members: Mapping[str, int]) -> set[str] | Failure:
        if self._refusal is not None:
            need_room(self._folder)
            # What it ends with, where it ends instead of answering.
            said = last_line(read_end(self._stderr_path))
            why = f"{self._refusal} ({said})" if said else self._refusal
            return Failure("qemu", f"QEMU could not restore the machine: {why}")
        try:
            return super().result(members)
        finally:
            self._shared.unlink(missing_ok=True)
