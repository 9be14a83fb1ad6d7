"""The runs that a session still lacks, made by the exact collector, guests side by side.

All guests are polled from this one thread, so that an interrupt finds them all here.
"""

import re
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from profdiff import manifest as m
from profdiff.atomic import write_atomic
from profdiff.collectors.exact import ExactResult, ExactRun
from profdiff.collectors.kernel_files import KernelFiles
from profdiff.collectors.qemu import Qemu
from profdiff.errors import InputError, SessionError
from profdiff.progress import Progress
from profdiff.session import Session
from profdiff.symbolization.running_kernel import gnu_build_id

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class _Pending:
    id: str
    kernel: KernelFiles
    repetition: int


@dataclass(frozen=True)
class _Active:
    pending: _Pending
    run: ExactRun
    folder: Path
    started: str


def missing_runs(session: Session, kernels: list[KernelFiles]) -> list[_Pending]:
    """The runs that are still to be made, interleaved over the kernels."""
    manifest = session.manifest
    missing: list[_Pending] = []
    for turn in range(manifest.repeat):
        for kernel in kernels:
            lacking = manifest.repeat - len(session.finished(kernel.label, "exact"))
            if turn >= lacking:
                continue
            made = sum(run.kernel == kernel.label for run in manifest.runs)
            number = made + turn + 1
            missing.append(_Pending(_run_id(kernel.label, number), kernel, number))
    return missing


def _run_id(label: str, number: int) -> str:
    # A label may be as long as an id.
    return f"{label[: 63 - len(str(number))]}-{number}"


def record(
    session: Session,
    kernels: list[KernelFiles],
    qemu: Qemu,
    *,
    initramfs: Path,
    expect_marks: bool,
    jobs: int,
    progress: Progress,
) -> None:
    """Make the missing runs, ``jobs`` at a time, and enter each in the manifest as it ends.

    Raises InputError when a booted kernel is not the one that its debug ELF belongs to, OSError,
    and whatever the collector raises; all guests have ended then, finished runs are kept.
    """
    waiting = missing_runs(session, kernels)
    active: list[_Active] = []
    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                active.append(
                    _start(session, waiting.pop(0), qemu, initramfs=initramfs, marks=expect_marks)
                )
            for item in list(active):
                progress.phase(item.pending.id, item.run.phase)
                if item.run.poll():
                    active.remove(item)
                    run = _enter(session, item, qemu)
                    progress.ended(item.pending.id, outcome(run))
            time.sleep(_POLL_SECONDS)
    finally:
        for item in active:
            item.run.stop()


def _start(
    session: Session, pending: _Pending, qemu: Qemu, *, initramfs: Path, marks: bool
) -> _Active:
    folder = session.run_folder(pending.id)
    guest = session.manifest.guest
    if guest is None:
        raise SessionError("the session describes no guest")
    run = ExactRun(
        qemu,
        image=pending.kernel.image,
        initramfs=initramfs,
        append=guest.append,
        memory=guest.memory,
        cpus=guest.cpus,
        timeout=guest.timeout,
        folder=folder,
        expect_marks=marks,
    )
    return _Active(pending, run, folder, m.timestamp())


def _enter(session: Session, item: _Active, qemu: Qemu) -> m.Run:
    """Add the ended run to the manifest, and what it told of its kernel."""
    result = item.run.finish()
    prefix = f"runs/{item.pending.id}"
    counts = result.counts
    failure = result.failure
    run = m.Run(
        id=item.pending.id,
        kernel=item.pending.kernel.label,
        collector="exact",
        repetition=item.pending.repetition,
        started=item.started,
        wall_seconds=round(result.wall_seconds, 3),
        files={what: f"{prefix}/{name}" for what, name in sorted(result.files.items())},
        qemu=m.Qemu(version=qemu.version, arguments=item.run.arguments, plugin_api=qemu.plugin_api),
        failure=m.Failure(kind=failure.kind, message=failure.message, console=failure.console)
        if failure
        else None,
        exit_status=result.exit_status,
        window=m.Window(kind=counts.kind, count=counts.closed)
        if counts and counts.kind != "none"
        else None,
        instructions=m.Instructions(
            kernel=int(counts.count[counts.in_kernel].sum()),
            user=int(counts.count[~counts.in_kernel].sum()),
        )
        if counts and not failure
        else None,
    )
    manifest = session.manifest
    kernels = [
        _told(session, kernel, item, result) if kernel.label == run.kernel else kernel
        for kernel in manifest.kernels
    ]
    session.save(msgspec.structs.replace(manifest, kernels=kernels, runs=[*manifest.runs, run]))
    return run


def _told(session: Session, kernel: m.Kernel, item: _Active, result: ExactResult) -> m.Kernel:
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
            f"run {kernel.build_id}: give the vmlinux of this very build"
        )
    config = kernel.config
    if config is None:
        config = _keep_config(session, item, result)
    words = version.split()
    # "Linux version R (who@where) (COMPILER, LINKER) #1 ...": init/version-timestamp.c.
    compiler = re.search(r"\) \((.+?), (?=\S*\s?(?:GNU ld|LLD|ld))", version)
    return msgspec.structs.replace(
        kernel,
        version=version,
        release=words[2] if len(words) > 2 else None,
        compiler=compiler[1] if compiler else None,
        build_id=booted or kernel.build_id,
        config=config,
    )


def _keep_config(session: Session, item: _Active, result: ExactResult) -> str | None:
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
    if run.failure or not run.instructions:
        return f"failed: {run.failure.message if run.failure else 'no counts'}"
    total = run.instructions.kernel + run.instructions.user
    return f"{total:,} instructions ({run.wall_seconds:.1f} s)"
