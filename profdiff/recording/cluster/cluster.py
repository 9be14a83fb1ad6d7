"""A cluster as the place where guests run."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from profdiff import __version__
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError, RunError
from profdiff.collectors.guest.boot import Boot
from profdiff.collectors.guest.delivery import MEMBERS, Delivery
from profdiff.collectors.guest.machine_state import MachineState
from profdiff.collectors.guest.qemu import Qemu
from profdiff.collectors.guest.saving import SavedMachine
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.programs import find_program
from profdiff.collectors.recorder import Recorder, RunJob, Running
from profdiff.recording.cluster.attempt import Attempt, Files, RunningThere, digest_of
from profdiff.recording.cluster.connection import Connection, Where, connected
from profdiff.recording.cluster.errand import INPUTS, SHARED, Emulator, Errand, Needs, Restored
from profdiff.recording.cluster.nodes import Node, Nodes

# How long the first node may take to come, and the next one where none is left.
_WAIT_SECONDS = 120.0
# How long others may still come where every worker that there is was refused.
_REFUSED_SECONDS = 5.0


@contextlib.contextmanager
def cluster(text: str, emulators: Sequence[Qemu | None]) -> Iterator[Cluster]:
    """Yield the cluster that ``--cluster`` names, for guests under ``emulators``, of which a
    machine has none. Raises InputError, MissingError, OSError."""
    where = Where.parse(text)
    qemus = list(dict.fromkeys(emulator for emulator in emulators if emulator))
    if not qemus or None in emulators or any(qemu.kvm for qemu in qemus):
        raise InputError(
            "--cluster runs guests under QEMU's TCG, whose counts are the same on every node: "
            "leave it out for machines, and where guests run on KVM (profdiff doctor)"
        )
    with connected(where) as connection:
        yield Cluster(connection, qemus)


class Cluster:
    """Guests run on nodes, whose number changes; a ``Place``."""

    def __init__(self, connection: Connection, qemus: Sequence[Qemu]) -> None:
        self._connection = connection
        self._emulators = {qemu: _emulator(qemu) for qemu in qemus}
        plugins = {
            digest_of(path): (path.read_bytes(), qemu.plugin_try)
            for qemu in qemus
            if (path := qemu.plugin)
        }
        needs = Needs(__version__, tuple(dict.fromkeys(self._emulators.values())), plugins)
        self._nodes = Nodes(connection.client, needs)
        self._files = Files(self._nodes)
        self._problems: set[str] = set()
        self._lonely = self._looked = time.monotonic()
        page = f"; dashboard: {connection.dashboard}" if connection.dashboard else ""
        self._nodes.lines.append(f"recording on a cluster{page}")
        self._watching = self._nodes.spawn(self._nodes.watch())

    @property
    def slots(self) -> int:
        """How many guests run at a time."""
        return sum(one.slots for one in self._nodes.here)

    def look(self) -> list[str]:
        """Hear what is new: lines to show. Raises RunError when the scheduler is silent, or no node
        is left."""
        self._nodes.check()
        now = time.monotonic()
        # The recorder may have done something else meanwhile.
        if self._nodes.here or now - self._looked > _REFUSED_SECONDS:
            self._lonely = now
        self._looked = now
        workers = self._connection.workers
        problems = [said for worker in workers if (said := worker.problem())]
        if not self._nodes.here:
            self._refuse_to_wait(
                now - self._lonely, problems if len(problems) == len(workers) else []
            )
        else:
            self._nodes.lines += [said for said in problems if said not in self._problems]
            self._problems.update(problems)
        return self._taken()

    def _refuse_to_wait(self, seconds: float, ended: Sequence[str]) -> None:
        """Raises RunError where no node will come. ``ended``: why all own workers have."""
        refusals = self._nodes.refusals
        if ended:
            raise RunError(f"no node of the cluster is left: {ended[-1]}")
        if refusals and seconds > _REFUSED_SECONDS:
            raise RunError(f"no node of the cluster takes part: {refusals[-1]}")
        if seconds > _WAIT_SECONDS:
            raise RunError(
                f"the cluster has had no worker for {_WAIT_SECONDS:g} s: start some and run the "
                "same command again, which resumes from here"
            )

    def choice(self, waiting: Iterable[KernelFiles]) -> int:
        """Which of the runs on kernels that wait is to be next: one whose kernel the next free node
        has, or one whose kernel no node has."""
        there = self._free(set())
        if there is None:
            return 0
        known = [self._files.told(one.image) if one.image else None for one in waiting]
        everywhere = set().union(*(one.has for one in self._nodes.here))
        own = (number for number, one in enumerate(known) if one in there.has)
        return next(own, next((n for n, one in enumerate(known) if one not in everywhere), 0))

    def start(self, recorder: Recorder, job: RunJob, boot: Boot) -> Running:
        """Send a guest to a node, where it boots."""
        inputs = _Inputs(self._files)
        away, more = self._away(recorder, job, inputs)
        there = replace(
            boot, image=inputs.there(boot.image), initramfs=inputs.there(boot.initramfs)
        )
        return self._sent(recorder, job, away.arguments(there, Path(), more), inputs)

    def restore(
        self,
        recorder: Recorder,
        job: RunJob,
        machine: SavedMachine,
        state: MachineState,
        delivery: Delivery,
    ) -> Running:
        """Send a guest to a node, where its machine is restored."""
        assert job.kernel.image  # noqa: S101
        inputs = _Inputs(self._files)
        away, more = self._away(recorder, job, inputs)
        content = delivery.content(job.variation, recorder.guest.settle)
        kept = recorder.folder / f"{hashlib.sha256(content).hexdigest()}.delivery"
        if not kept.exists():
            recorder.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(kept, content, durable=False)
        arguments = replace(machine, qemu=away).arguments(
            inputs.there(job.kernel.image),
            inputs.there(state.initramfs),
            Path(),
            Path(SHARED),
            more,
        )
        restored = Restored(inputs.digest(state.state), inputs.digest(kept), machine.room)
        return self._sent(recorder, job, arguments, inputs, restored, state)

    def _away(self, recorder: Recorder, job: RunJob, inputs: _Inputs) -> tuple[Qemu, Sequence[str]]:
        """The QEMU of a node, and the collector's arguments: names are relative to the run's folder
        there, and the node adds what is its own. Raises InputError."""
        qemu = recorder.emulator(job.kernel)
        if qemu is None or qemu.kvm:
            raise InputError("--cluster runs guests under QEMU's TCG only")
        plugin = inputs.there(qemu.plugin) if qemu.plugin else None
        away = replace(qemu, plugin=plugin, firmware=(), sandbox=())
        return away, recorder.collector.qemu_arguments(
            away, recorder.options, Path(), job.repetition, job.kernel
        )

    def _sent(
        self,
        recorder: Recorder,
        job: RunJob,
        arguments: Sequence[str],
        inputs: _Inputs,
        restored: Restored | None = None,
        state: MachineState | None = None,
    ) -> Running:
        qemu = recorder.emulator(job.kernel)
        assert qemu  # noqa: S101
        if qemu not in self._emulators:
            self._emulators[qemu] = _emulator(qemu)
        errand = Errand(
            job.folder.name,
            self._emulators[qemu],
            tuple(arguments[1:]),
            tuple(inputs.digests),
            {**MEMBERS, **recorder.collector.leaves},
            recorder.guest.timeout,
            restored,
        )
        attempt = Attempt(self._nodes, self._files, errand, job.folder, self._pick)
        return RunningThere(
            recorder, job, attempt, attempt.arguments, attempt=attempt, restored=state
        )

    def lines(self) -> list[str]:
        """What its user is to know in the end."""
        retried, self._nodes.retries = self._nodes.retries, 0
        told = (
            "a run was tried again" if retried == 1 else f"{retried:,} times a run was tried again"
        )
        return [*self._taken(), *([f"{told}, as its node was lost"] if retried else ())]

    def _taken(self) -> list[str]:
        # Others append to it meanwhile.
        return [self._nodes.lines.pop(0) for _ in range(len(self._nodes.lines))]

    def _free(self, without: set[str], wanted: frozenset[str] = frozenset()) -> Node | None:
        """The node with room that has most of the files ``wanted``, then the most room; one of the
        hosts ``without`` only if there is no other."""
        free = [one for one in self._nodes.here if len(one.runs) < one.slots]
        return max(
            free,
            key=lambda one: (
                one.host not in without,
                len(wanted & one.has),
                one.slots - len(one.runs),
            ),
            default=None,
        )

    def _pick(self, errand: Errand, without: set[str]) -> Node | None:
        return self._free(without, frozenset(errand.inputs))


class _Inputs:
    """The files that a run needs on a node."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.digests: list[str] = []

    def digest(self, path: Path) -> str:
        digest = self._files.digest(path)
        if digest not in self.digests:
            self.digests.append(digest)
        return digest

    def there(self, path: Path) -> Path:
        """Where it is, relative to the run's folder."""
        return Path(INPUTS, self.digest(path))


def _emulator(qemu: Qemu) -> Emulator:
    usual = find_program(qemu.architecture.emulator)
    return Emulator.of(qemu, None if qemu.program == usual else qemu.program.absolute())
