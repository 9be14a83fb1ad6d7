"""The runs that a session still lacks, made by its collectors, side by side where that is sound.

All runs are polled from this one thread, so that an interrupt finds them all here.
"""

import re
import shlex
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import median

from profdiff.base import guest_clock, units
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError
from profdiff.base.metric import IDLE, Metric
from profdiff.base.processes import wait_readable
from profdiff.base.progress import Progress
from profdiff.collectors.guest.boot import NO_VARIATION, Variation
from profdiff.collectors.guest.result import Result
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Recorder, RunJob, Running
from profdiff.recording.alike import Alike, Boots
from profdiff.recording.cluster.cluster import Cluster
from profdiff.recording.schedule import Chosen, Pace, PendingRun, States, missing_runs, runs_left
from profdiff.session import manifest as m
from profdiff.session.points import substitute
from profdiff.session.session import Session
from profdiff.symbolization.running_kernel import gnu_build_id

_POLL_SECONDS = 0.05
_MAX_NAMES = 3
# How many waiting runs are searched for one that suits a node.
_WINDOW = 2_000


@dataclass(frozen=True)
class Batch:
    """The runs that ``session`` lacks, on ``kernels`` by ``recorders``, or of them those that are
    ``chosen``, in varied ``states`` as ``schedule.places``. ``name``: of its workload, where
    several are recorded."""

    session: Session
    kernels: Sequence[KernelFiles]
    recorders: Sequence[Recorder]
    name: str = ""
    chosen: Chosen | None = None
    states: States | None = None

    def missing(self) -> list[PendingRun]:
        """The runs that are to be made."""
        manifest = self.session.manifest
        return missing_runs(manifest, self.kernels, self.recorders, self.chosen, self.states)


class _Begun:
    """A batch whose runs are being made: ``waiting`` ones are not started yet."""

    def __init__(self, batch: Batch, boots: Boots) -> None:
        self.session, self.name = batch.session, batch.name
        self.alike = Alike(batch.session.manifest, boots)
        self.waiting = self.alike.ordered(batch.missing())
        self.before = len(batch.session.manifest.runs)
        self.ids = {run.id for run in batch.session.manifest.runs}

    def called(self, pending: PendingRun) -> str:
        """A run as progress tells of it."""
        return f"{self.name}: {pending.name}" if self.name else pending.name


@dataclass(frozen=True)
class _Active:
    batch: _Begun
    pending: PendingRun
    run: Running
    folder: Path
    started: str

    @property
    def name(self) -> str:
        """As progress tells of it."""
        return self.batch.called(self.pending)


def record(
    session: Session,
    kernels: Sequence[KernelFiles],
    recorders: Sequence[Recorder],
    *,
    jobs: int,
    progress: Progress,
    place: Cluster | None = None,
) -> None:
    """Make the missing runs of one session, as ``record_batches``."""
    batches = [Batch(session, kernels, recorders)]
    record_batches(batches, jobs=jobs, progress=progress, place=place)


def record_batches(
    batches: Sequence[Batch], *, jobs: int, progress: Progress, place: Cluster | None = None
) -> None:
    """Make the missing runs, batch after batch, ``jobs`` at a time, and enter each in its session's
    manifest as it ends. With a ``place``, guests run there, as many as it has room for.

    What deterministic guests would only fail at again is left out (``Alike``).

    Raises InputError when a booted kernel is not the one that its debug ELF belongs to, or when the
    workload does not print the metric that it should, OSError, and whatever the collector raises;
    all runs have ended then, finished ones are kept.
    """
    boots = Boots()
    begun = [_Begun(batch, boots) for batch in batches]
    pace = Pace(sum(len(one.waiting) for one in begun))
    ready = deque(one for one in begun if one.waiting)
    active: list[_Active] = []
    # In a cluster, many runs end at a time: their manifest is written once.
    entered: dict[Path, Session] = {}
    for recorder in (recorder for batch in batches for recorder in batch.recorders):
        recorder.place = place
    try:
        while ready or active:
            if place is not None:
                for line in place.look():
                    progress.say(line)
                jobs = place.slots
            while ready and _may_start(ready[0].waiting[0], active, jobs):
                batch, number = _next(ready, place)
                active.append(_start(batch, batch.waiting.pop(number)))
                _drop_empty(ready)
            for item in list(active):
                progress.phase(item.name, item.run.process.phase)
                if item.run.process.poll():
                    active.remove(item)
                    run = _enter(item.batch.session, item)
                    entered[item.batch.session.folder] = item.batch.session
                    if place is None:
                        _save(entered)
                    _leave_out(item, run, ready)
                    pace.ended(sum(len(one.waiting) for one in ready) + len(active))
                    told = str(pace) if len(begun) > 1 else _left(item, active, jobs)
                    progress.ended(item.name, outcome(run), told, failed=run.failed)
                    _refuse_unreadable(item.batch.session, run)
            _save(entered)
            if ready or active:
                _pause(active)
    finally:
        _save(entered)
        for item in active:
            item.run.process.stop()
    for one in begun:
        for line in one.alike.lines():
            progress.say(f"{one.name}: {line}" if one.name else line)
    for line in place.lines() if place else ():
        progress.say(line)


def _save(entered: dict[Path, Session]) -> None:
    """Write the manifests of sessions that got runs."""
    while entered:
        _, session = entered.popitem()
        session.save(session.manifest)


def _next(ready: Sequence[_Begun], place: Cluster | None) -> tuple[_Begun, int]:
    """The batch and the row of the run that is to be started: the first, or one that suits the
    node of a ``place`` that is free."""
    if place is None:
        return ready[0], 0
    rows = list(islice(((one, n) for one in ready for n in range(len(one.waiting))), _WINDOW))
    return rows[place.choice(one.waiting[n].kernel for one, n in rows)]


def _leave_out(item: _Active, run: m.Run, ready: deque[_Begun]) -> None:
    """Drop what would only fail as ``run`` did. That a kernel does not boot holds for all
    batches."""
    item.batch.alike.ended(item.pending, run.failure)
    boots = run.failure is None or run.failure.kind != "boot"
    for one in [item.batch] if boots else list(ready):
        one.waiting = one.alike.without(one.waiting)
    _drop_empty(ready)


def _drop_empty(ready: deque[_Begun]) -> None:
    for one in [one for one in ready if not one.waiting]:
        ready.remove(one)


def _left(item: _Active, active: Sequence[_Active], jobs: int) -> str:
    """What the only batch still lacks, in words."""
    pending = [*item.batch.waiting, *(one.pending for one in active)]
    return runs_left(item.batch.session.manifest, pending, jobs, item.batch.before)


def _pause(active: Sequence[_Active]) -> None:
    """Until a run has something to tell, but no longer than between two looks at them."""
    wait_readable(
        [one for item in active for one in getattr(item.run.process, "listening", ())],
        _POLL_SECONDS,
    )


def _may_start(pending: PendingRun, active: list[_Active], jobs: int) -> bool:
    if pending.recorder.alone or any(item.pending.recorder.alone for item in active):
        return not active
    return len(active) < jobs


def _start(batch: _Begun, pending: PendingRun) -> _Active:
    """Raises InputError when the session has such a run."""
    session = batch.session
    # Its folder would go, and no session with two runs of one id is read.
    if pending.id in batch.ids:
        raise InputError(f"{session.folder} has a run {pending.id} already: record into another -o")
    batch.ids.add(pending.id)
    folder = session.run_folder(pending.id)
    manifest = session.manifest
    variation, order = NO_VARIATION, manifest.order
    settle = manifest.guest.settle if manifest.guest else 0.0
    if pending.state:
        variation = Variation.of_state(order.seed, pending.state, settle)
    elif order.vary:
        variation = Variation.drawn(order.seed, pending.kernel.label, pending.repetition, settle)
    point = manifest.points[pending.point]
    guest_argv = pending.recorder.workload.guest_argv
    argv = tuple(substitute(word, point.parameters) for word in guest_argv)
    cpus = pending.kernel.variant.cpus or point.cpus or 1
    job = RunJob(pending.kernel, argv, cpus, folder, variation, pending.repetition)
    return _Active(batch, pending, pending.recorder.start(job), folder, m.timestamp())


def _enter(session: Session, item: _Active) -> m.Run:
    """Add the ended run to the manifest, and what it told of its kernel; ``_save`` writes it."""
    result = item.run.finish()
    prefix = f"runs/{item.pending.id}"
    run = m.Run(
        id=item.pending.id,
        kernel=item.pending.kernel.label,
        collector=item.pending.recorder.collector.name,
        point=item.pending.point,
        repetition=item.pending.repetition,
        state=item.pending.state,
        started=item.started,
        boot=_boot(item, result),
        wall_seconds=round(item.run.process.wall_seconds, 3),
        files={what: f"{prefix}/{name}" for what, name in sorted(result.files.items())},
        qemu=item.run.emulator,
        node=item.run.node,
        sampling=result.sampling,
        failure=result.failure,
        exit_status=result.exit_status,
        window=result.window,
        instructions=result.instructions,
        clock=result.clock,
        measured=result.measured,
        remarks=result.remarks,
    )
    manifest = session.manifest
    kernels = [
        _told(session, kernel, item, result) if kernel.label == run.kernel else kernel
        for kernel in manifest.kernels
    ]
    session.manifest = m.replace(manifest, kernels=kernels, runs=[*manifest.runs, run])
    return run


def _refuse_unreadable(session: Session, run: m.Run) -> None:
    """Raises InputError when a metric could not be read from ``run``, nor from any before it: other
    runs print the same."""
    runs = session.manifest.runs
    read = any(one.failure is None and one.collector == run.collector for one in runs)
    if run.failure is None or run.failure.kind != "metric" or read:
        return
    told = f"{run.failure.message}; the other runs are left out: correct --metric and run it again"
    # The output of several executions is concatenated.
    if "stdout" in run.files and run.window and run.window.count == 1:
        path = shlex.quote(str(session.place(run.files["stdout"])))
        told += f" (--metric-sample {path} tries it on this output)"
    raise InputError(told)


def _boot(item: _Active, result: Result) -> str | None:
    """Which boot of a machine the run was in (random(4), boot_id)."""
    if item.pending.kernel.machine is None or "state" not in result.files:
        return None
    text = (item.folder / result.files["state"]).read_text(errors="replace")
    match = re.search(r"^boot_id ([0-9a-f-]{36})$", text, re.MULTILINE)
    return match[1] if match else None


def _told(session: Session, kernel: m.Kernel, item: _Active, result: Result) -> m.Kernel:
    """The kernel with what its guest said of it. Raises InputError when the booted kernel is not
    the one that the debug ELF belongs to, or not the one of an earlier run."""
    if "version" not in result.files:
        return kernel
    version = (item.folder / result.files["version"]).read_text(errors="replace").strip()
    booted = None
    if "notes" in result.files:
        booted = gnu_build_id((item.folder / result.files["notes"]).read_bytes())
    if booted and kernel.build_id and booted != kernel.build_id:
        raise InputError(
            f"{kernel.label}: the booted kernel has build id {booted}, its debug ELF or an earlier "
            f"run {kernel.build_id}: give the vmlinux of that build"
        )
    others = [
        known
        for known in session.manifest.kernels
        if known is not kernel and known.twin_of is None and kernel.twin_of is None
    ]
    twin = next((known for known in others if known.build_id == booted), None)
    if booted and twin and item.pending.kernel.machine is not None:
        raise InputError(
            f"{kernel.label} is the kernel already recorded as {twin.label} (build id {booted}): "
            "boot the other kernel first"
        )
    config = kernel.config
    if config is None:
        config = _keep_config(session, item, result)
    words = version.split()
    # "Linux version R (who@where) (COMPILER, LINKER) #1 ...": init/version-timestamp.c.
    compiler = re.search(r"\) \((.+?), (?=\S*\s?(?:GNU ld|LLD|ld))", version)
    return m.replace(
        kernel,
        version=version,
        release=words[2] if len(words) > 2 else None,
        compiler=compiler[1] if compiler else None,
        build_id=booted or kernel.build_id,
        config=config,
    )


def _keep_config(session: Session, item: _Active, result: Result) -> str | None:
    if "config" in result.files:
        return f"runs/{item.pending.id}/{result.files['config']}"
    source = item.pending.kernel.config
    if source is None:
        return None
    relative = f"kernels/{item.pending.kernel.label}.config"
    session.write(relative, lambda path: write_atomic(path, source.read_bytes()))
    return relative


def outcome(run: m.Run) -> str:
    """A run's outcome in one line."""
    if run.failure:
        return run.failure.message if run.not_there else f"failed: {run.failure.message}"
    if run.sampling:
        return f"sampled {' and '.join(run.sampling.events)} ({run.wall_seconds:.1f} s)"
    if run.measured:
        by_clock = run.qemu is not None and run.qemu.virtual_clock
        shown = [one for one in run.measured if one.name != IDLE.name or any(one.values)]
        told = ", ".join(_measured(one, by_clock) for one in shown[:_MAX_NAMES])
        return f"{units.printable(told)} ({run.wall_seconds:.1f} s)"
    return "no counts"


def _measured(one: m.Measured, by_clock: bool) -> str:
    metric, value = Metric(one.name, one.unit), median(one.values)
    if by_clock:
        metric = guest_clock.counted(metric)
    told = units.rounded(value) if value.is_integer() else f"{value:,.6g}"
    unit = [told, metric.unit]
    words = unit if metric.name == metric.unit else [metric.name, *unit]
    return " ".join(filter(None, words))
