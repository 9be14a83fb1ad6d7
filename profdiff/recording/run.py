"""The runs that a session still lacks, made by its collectors, side by side where that is sound.

All runs are polled from this one thread, so that an interrupt finds them all here.
"""

import re
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from profdiff.base import guest_clock, units
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError
from profdiff.base.metric import Metric
from profdiff.base.progress import Progress
from profdiff.collectors.guest.boot import NO_VARIATION, Variation
from profdiff.collectors.guest.result import Result
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Job, Recorder, Running
from profdiff.recording.alike import Alike
from profdiff.recording.schedule import PendingRun, missing_runs, runs_left
from profdiff.session import manifest as m
from profdiff.session.folder import Session
from profdiff.session.points import substitute
from profdiff.symbolization.running_kernel import gnu_build_id

_POLL_SECONDS = 0.1
_NAMED = 3


@dataclass(frozen=True)
class _Active:
    pending: PendingRun
    run: Running
    folder: Path
    started: str


def record(
    session: Session,
    kernels: Sequence[KernelFiles],
    recorders: Sequence[Recorder],
    *,
    jobs: int,
    progress: Progress,
) -> None:
    """Make the missing runs, ``jobs`` at a time, and enter each in the manifest as it ends.

    What deterministic guests would only fail at again is left out (``Alike``).

    Raises InputError when a booted kernel is not the one that its debug ELF belongs to, or when the
    workload does not print the metric that it should, OSError, and whatever the collector raises;
    all runs have ended then, finished ones are kept.
    """
    alike = Alike(session.manifest)
    waiting = alike.ordered(missing_runs(session.manifest, kernels, recorders))
    before = len(session.manifest.runs)
    active: list[_Active] = []
    try:
        while waiting or active:
            while waiting and _may_start(waiting[0], active, jobs):
                active.append(_start(session, waiting.pop(0)))
            for item in list(active):
                progress.phase(item.pending.name, item.run.process.phase)
                if item.run.process.poll():
                    active.remove(item)
                    run = _enter(session, item)
                    alike.ended(item.pending, run.failure)
                    waiting = alike.without(waiting)
                    left = [*waiting, *(one.pending for one in active)]
                    told = runs_left(session.manifest, left, jobs, before)
                    progress.ended(item.pending.name, outcome(run), told)
                    _refuse_unreadable(session, run)
            time.sleep(_POLL_SECONDS)
    finally:
        for item in active:
            item.run.process.stop()
    for line in alike.lines():
        progress.say(line)


def _may_start(pending: PendingRun, active: list[_Active], jobs: int) -> bool:
    if pending.recorder.alone or any(item.pending.recorder.alone for item in active):
        return not active
    return len(active) < jobs


def _start(session: Session, pending: PendingRun) -> _Active:
    folder = session.run_folder(pending.id)
    manifest = session.manifest
    variation = NO_VARIATION
    if manifest.order.vary:
        settle = manifest.guest.settle if manifest.guest else 0.0
        variation = Variation.drawn(
            manifest.order.seed, pending.kernel.label, pending.repetition, settle
        )
    point = manifest.points[pending.point]
    guest_argv = pending.recorder.workload.guest_argv
    argv = tuple(substitute(word, point.parameters) for word in guest_argv)
    job = Job(pending.kernel, argv, point.cpus or 1, folder, variation)
    return _Active(pending, pending.recorder.start(job), folder, m.timestamp())


def _enter(session: Session, item: _Active) -> m.Run:
    """Add the ended run to the manifest, and what it told of its kernel."""
    result = item.run.finish()
    prefix = f"runs/{item.pending.id}"
    run = m.Run(
        id=item.pending.id,
        kernel=item.pending.kernel.label,
        collector=item.pending.recorder.collector.name,
        point=item.pending.point,
        repetition=item.pending.repetition,
        started=item.started,
        boot=_boot(item, result),
        wall_seconds=round(item.run.process.wall_seconds, 3),
        files={what: f"{prefix}/{name}" for what, name in sorted(result.files.items())},
        qemu=item.run.emulator,
        sampling=result.sampling,
        failure=result.failure,
        exit_status=result.exit_status,
        window=result.window,
        instructions=result.instructions,
        measured=result.measured,
    )
    manifest = session.manifest
    kernels = [
        _told(session, kernel, item, result) if kernel.label == run.kernel else kernel
        for kernel in manifest.kernels
    ]
    session.save(m.replace(manifest, kernels=kernels, runs=[*manifest.runs, run]))
    return run


def _refuse_unreadable(session: Session, run: m.Run) -> None:
    """Raises InputError when a metric could not be read from ``run``, nor from any before it: other
    runs print the same."""
    runs = session.manifest.runs
    read = any(one.failure is None and one.collector == run.collector for one in runs)
    if run.failure is None or run.failure.kind != "metric" or read:
        return
    told = f"{run.failure.message}; the other runs are left out: correct --metric and run it again"
    # Of several executions, the output holds one behind the other.
    if "stdout" in run.files and run.window and run.window.count == 1:
        path = shlex.quote(str(session.path(run.files["stdout"])))
        told += f" (--metric-sample {path} tries it on this output)"
    raise InputError(told)


def _boot(item: _Active, result: Result) -> str | None:
    """Which boot of a machine the run was in (random(4), boot_id)."""
    if item.pending.kernel.machine is None or "state" not in result.files:
        return None
    text = (item.folder / result.files["state"]).read_text(errors="replace")
    found = re.search(r"^boot_id ([0-9a-f-]{36})$", text, re.MULTILINE)
    return found[1] if found else None


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
    path = session.path(relative)
    path.parent.mkdir(exist_ok=True)
    write_atomic(path, source.read_bytes())
    return relative


def outcome(run: m.Run) -> str:
    """A run's outcome in one line."""
    if run.failure:
        return f"failed: {run.failure.message}"
    if run.sampling:
        return f"sampled {' and '.join(run.sampling.events)} ({run.wall_seconds:.1f} s)"
    if run.measured:
        by_clock = run.qemu is not None and run.qemu.virtual_clock
        told = ", ".join(_measured(one, by_clock) for one in run.measured[:_NAMED])
        return f"{units.printable(told)} ({run.wall_seconds:.1f} s)"
    return "no counts"


def _measured(one: m.Measured, by_clock: bool) -> str:
    metric, value = Metric(one.name, one.unit), median(one.values)
    if by_clock:
        metric = guest_clock.counted(metric)
    told = f"{value:,.0f}" if value.is_integer() else f"{value:,.6g}"
    unit = [told, metric.unit]
    words = unit if metric.name == metric.unit else [metric.name, *unit]
    return " ".join(filter(None, words))
