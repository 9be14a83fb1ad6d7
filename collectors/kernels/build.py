"""A kernel from a git repository: out of the cache, or built into it (``docs/kernels.md``)."""

import errno
import shutil
import subprocess
import time
from pathlib import Path

import msgspec

from profdiff.base.atomic import make_folder
from profdiff.base.errors import MissingError
from profdiff.base.terminal import tell
from profdiff.collectors.kernels.building import kept
from profdiff.collectors.kernels.building.errors import BuildError, DoesNotApply, UnfitError
from profdiff.collectors.kernels.building.job import BuildJob, image_of
from profdiff.collectors.kernels.building.make import steps
from profdiff.collectors.kernels.building.making import (
    Make,
    make_kernel,
    no_room,
    raise_failed,
    tell_lost,
)
from profdiff.collectors.kernels.building.progress import BuildProgress
from profdiff.collectors.kernels.building.slots import Slot, slot_for
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.git_spec import GitSpec
from profdiff.collectors.messages import last_line

__all__ = [
    "BuildError",
    "DoesNotApply",
    "UnfitError",
    "build",
    "is_built",
    "is_known_built",
]


def is_built(spec: GitSpec) -> bool:
    """Whether the kernel is in the cache. Raises what ``BuildJob.of`` does."""
    return kept.kept_folder(BuildJob.of(spec).key).is_dir()


def is_known_built(spec: GitSpec) -> bool | None:
    """The same without a network, and without writing into the repository; None where it takes
    one of them to tell: a work tree, changes, a config of Debian. Raises what ``is_built`` does."""
    if spec.revision is None or spec.changes:
        return None
    job = BuildJob.known(spec)
    return None if job is None else kept.kept_folder(job.key).is_dir()


def build(job: BuildJob, label: str, *, quiet: bool = False) -> KernelFiles:
    """The kernel that ``job`` is for. What is not in the cache is built; others that want the same
    wait for it.

    Raises UnfitError for what a guest needs of a config, BuildError where the source does not
    build, MissingError where this machine lacks a program, memory or room.
    """
    folder = kept.kept_folder(job.key)
    built = False
    while not kept.use(folder):
        built |= _build_alone(job, label, folder, quiet=quiet)
    lost = kept.lost(folder)
    if not quiet:
        for path in job.prepared.left_out:
            tell(f"{label}: {path} is a separate git repository: its files are not built")
        if not built:
            tell_lost(job, lost)
    debug_elf = next((path for path in folder.glob("vmlinux*")), None)
    return KernelFiles(
        label,
        str(job.spec),
        folder / Path(image_of(job.architecture)).name,
        debug_elf=debug_elf,
        config=folder / "config",
        source=msgspec.structs.replace(job.source, lost=lost),
    )


def _build_alone(job: BuildJob, label: str, folder: Path, *, quiet: bool) -> bool:
    """Build it, unless another process does so; whether it was we. Raises what ``build`` does; what
    that process could not build is not tried again."""
    began = time.time()
    with kept.lock(folder) as lock:
        if lock.taken_by_another:
            if not quiet:
                tell(f"{label}: another process builds {job.about}: waiting for it")
            lock.wait()
        if folder.is_dir():
            return False
        if lock.taken_by_another:
            raise_failed(job, since=began)
        _build(job, label, folder, quiet=quiet)
        return True


def _build(job: BuildJob, label: str, folder: Path, *, quiet: bool) -> None:
    before = [one.about for one in kept.kept_kernels() if one.about.objects == job.objects]
    with slot_for(job.prepared, job.objects) as slot:
        slot.check_out(job.prepared.git, job.prepared.built)
        objects = slot.objects(job.objects)
        alike = next((one for one in before if one.new == objects.new), None)
        total = alike.steps if alike and objects.new else 0
        seconds = alike.seconds if alike else 0.0
        with BuildProgress(label, job.about, total, seconds, quiet) as progress:
            started = time.monotonic()
            lost = make_kernel(Make(job, slot, objects, progress), quiet=quiet)
            about = kept.About(
                spec=str(job.spec.absolute()),
                source=job.source,
                release=_release(objects.folder),
                objects=job.objects,
                new=objects.new,
                steps=steps(slot.log),
                seconds=round(time.monotonic() - started, 1),
                lost=lost,
            )
            try:
                keep(job, slot, objects.folder, folder, about)
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                raise no_room(folder.parent, job) from error
        objects.whole()


def keep(job: BuildJob, slot: Slot, objects: Path, folder: Path, about: kept.About) -> None:
    """Take image, vmlinux and config over, whole or not at all."""
    image = objects / image_of(job.architecture)
    with make_folder(folder) as made:
        shutil.copyfile(image, made / image.name)
        shutil.copyfile(objects / ".config", made / "config")
        shutil.copyfile(slot.log, made / "build.log")
        _pack(job, objects / "vmlinux", made)
        kept.write_about(made, about)


def _pack(job: BuildJob, vmlinux: Path, folder: Path) -> None:
    """vmlinux without what symbolization never reads, compressed where zstd is installed."""
    small = folder / "vmlinux"
    command = [str(job.toolchain.objcopy), "-R", ".debug_loclists", str(vmlinux), str(small)]
    _run(command, job)
    if shutil.which("zstd"):
        _run(["zstd", "-q", "-3", "-T0", "--rm", str(small), "-o", f"{small}.zst"], job)


def _run(command: list[str], job: BuildJob) -> None:
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        if b"No space left on device" in done.stderr:
            raise no_room(Path(command[-1]).parent, job)
        raise MissingError(f"{command[0]} fails: {last_line(done.stderr) or 'it gives no reason'}")


def _release(objects: Path) -> str:
    try:
        return (objects / "include/config/kernel.release").read_text().strip()
    except OSError:
        return ""
