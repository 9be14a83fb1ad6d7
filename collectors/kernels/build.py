"""A kernel from a git repository: out of the cache, or built into it (``docs/kernels.md``) by make,
with its arguments, and the config before it."""

import errno
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from profdiff.base.atomic import make_folder, write_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError
from profdiff.base.terminal import last_line, tell
from profdiff.collectors.kernels import code_options
from profdiff.collectors.kernels.building import config as configs
from profdiff.collectors.kernels.building import kept
from profdiff.collectors.kernels.building.job import BuildJob, image_of
from profdiff.collectors.kernels.building.make import (
    BuildError,
    BuildProgress,
    DoesNotApply,
    UnfitError,
    clean_environment,
    first_error,
    is_damaged,
    is_full,
    lacking,
    steps,
    supervised,
)
from profdiff.collectors.kernels.building.slots import Objects, Slot, slot_for
from profdiff.collectors.kernels.building.toolchain import needed
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.git_spec import GitSpec

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
    before = [kernel.about for kernel in kept.kept_kernels() if kernel.about.objects == job.objects]
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


_MAX_OPTIONS = 6
# In a folder of object files: the tree that its config was made for.
_CONFIGURED = ".profdiff-configured"
# Files of a tree that its config depends on, at the end of a name or as a folder in it.
_OF_CONFIG = re.compile(rb"(?:^|[/\0])(?:Kconfig[^/\0]*\0|Makefile\0|scripts/|configs/)|\.config\0")


class Make:
    """make with the arguments of one build. ``flags``: of the compiler, behind its usual ones."""

    def __init__(
        self,
        job: BuildJob,
        slot: Slot,
        objects: Objects,
        progress: BuildProgress,
        flags: str = "",
    ) -> None:
        self.job, self.slot, self.objects = job, slot, objects
        self._progress = progress
        # Names as of a build in the source tree, wherever that is.
        maps = f"-ffile-prefix-map={objects.folder}=/linux -ffile-prefix-map=../="
        self._command = [
            "make",
            f"-j{_processors()}",
            f"O={objects.folder}",
            *job.toolchain.arguments,
            *job.variables,
            f"KCFLAGS={maps}{' ' * bool(flags)}{flags}",
            f"KAFLAGS={maps}",
            "LOCALVERSION=",
        ]

    def __call__(self, target: str) -> None:
        """Raises BuildError, MissingError without room, memory or a program."""
        command = [*self._command, target]
        status = supervised(
            command,
            self.slot.tree,
            clean_environment(),
            self.slot.log,
            lock=self.slot.lock,
            seen=self._progress.seen,
        )
        if not status:
            return
        if is_full(self.slot.log):
            raise no_room(self.slot.tree.parent, self.job)
        first = first_error(self.slot.log)
        # Neither the source's fault nor known what is left of it: the marks stay.
        if status < 0 or (lacks := lacking(self.slot.log)):
            why = lacks if status >= 0 else f"make was killed by signal {-status}"
            raise MissingError(
                f"{self.job.about} cannot be built on this machine: {why}: fix that and run the "
                "same command again"
            )
        log = _failed(self.job)
        shutil.copyfile(self.slot.log, log)
        shown = shlex.join(["make", "-C", str(self.slot.tree), *command[1:]])
        raise BuildError(
            f"{self.job.spec} does not build: {first} ({shown}; log: {log})", log, first
        )


def no_room(folder: Path, job: BuildJob) -> MissingError:
    """The disk of ``folder`` is full."""
    return MissingError(
        f"no room in {folder} to build {job.about}: make room and run the same command again"
    )


def _failed(job: BuildJob) -> Path:
    """The log of its last build that failed."""
    return cache_folder("builds", "failed") / f"{job.key}.log"


def raise_failed(job: BuildJob, since: float) -> None:
    """Raise BuildError where another process found, after ``since``, that it does not build."""
    log = _failed(job)
    if log.is_file() and log.stat().st_mtime >= since:
        first = first_error(log)
        raise BuildError(f"{job.spec} does not build: {first} (log: {log})", log, first)


def make_kernel(make: Make, *, quiet: bool) -> list[str]:
    """Configure and build; returns the options that are not as they were asked for. What an earlier
    build left and cannot be used is made again. Raises what ``configure`` and ``Make`` do."""
    try:
        return _make_kernel(make, quiet=quiet)
    except InputError:
        # The source or the config is to blame: what is there is as make left it.
        make.objects.whole()
        make.slot.unclean.unlink(missing_ok=True)
        raise


def _make_kernel(make: Make, *, quiet: bool) -> list[str]:
    target = image_of(make.job.architecture).rpartition("/")[2]
    try:
        lost = _configure_again(make, quiet=quiet)
        make(target)
    except BuildError:
        if make.objects.new or not is_damaged(make.slot.log):
            raise
        make.objects.empty()
        # What is said now is of this try.
        os.truncate(make.slot.log, 0)
        lost = configure(make, quiet=True)
        make(target)
    return lost


def _configure_again(make: Make, *, quiet: bool) -> list[str]:
    try:
        return configure(make, quiet=quiet)
    except BuildError:
        if make.objects.new:
            raise
        # Its programs are made in a moment, and may be what is damaged.
        for name in ("kconfig", "basic"):
            shutil.rmtree(make.objects.folder / "scripts" / name, ignore_errors=True)
        os.truncate(make.slot.log, 0)
        return configure(make, quiet=quiet)


def configure(make: Make, *, quiet: bool, tiny: str = "") -> list[str]:
    """Make the config; returns the options that are not as they were asked for. ``tiny``: what
    ``tinyconfig`` makes, if that is known. Raises InputError where a guest cannot work with it."""
    job, place = make.job, make.objects.folder / ".config"
    configured = make.objects.folder / _CONFIGURED
    if make.objects.cut_short or not place.is_file() or not _same_options(job, configured):
        configured.unlink(missing_ok=True)
        if (make.slot.tree / "scripts/kconfig").is_dir():
            needed("flex", "bison", "bc")
        wanted = job.requested.asked
        if not job.requested.whole:
            if not tiny:
                make("tinyconfig")
                tiny = place.read_text(errors="replace")
            wanted = configs.merged(tiny, wanted)
        write_atomic(place, wanted.encode(), durable=False)
        make("olddefconfig")
        write_atomic(configured, _made_for(job).encode(), durable=False)
    got = configs.options(place.read_text(errors="replace"))
    lost = configs.lost(configs.options(job.requested.asked), got)
    lost += job.requested.turned_off
    if lacking := code_options.lacking(dict(job.spec.code), got):
        raise InputError(
            f"{job.spec}: {', '.join(lacking)} is not set: {job.toolchain.version}, or "
            f"the config ({job.requested.name}), lacks what that depends on"
        )
    lost = [one for one in lost if not (job.spec.code and code_options.is_code_option(one))]
    if not quiet:
        tell_lost(job, lost)
    modules = sum(value == "m" for value in got.values())
    if modules and job.requested.whole and not quiet:
        words = "option of the config is a module" if modules == 1 else "options are modules"
        tell(f"{job.prepared.described}: {modules:,} {words}: profdiff builds none")
    configs.check(got, job.architecture, job.requested.name)
    return lost


def tell_lost(job: BuildJob, lost: Sequence[str]) -> None:
    """Tell the options that are not as they were asked for."""
    if lost:
        more = f" and {len(lost) - _MAX_OPTIONS} more" if len(lost) > _MAX_OPTIONS else ""
        tell(
            f"{job.prepared.described}: not as the config asks for: "
            f"{', '.join(lost[:_MAX_OPTIONS])}{more}"
        )
    if off := job.requested.turned_off:
        tell(
            f"{job.prepared.described}: turned off, since each build generates it at random: "
            f"{', '.join(off)}"
        )


def _same_options(job: BuildJob, configured: Path) -> bool:
    """Whether nothing that the config is made of differs from what it was made for, a tree and a
    config, which ``configured`` names: Kconfig takes a third of the time of a small build."""
    if not configured.is_file():
        return False
    tree, _, config = configured.read_text().partition(" ")
    if config != job.requested.digest:
        return False
    words = ("diff-tree", "-r", "--name-only", "-z", tree, job.prepared.tree)
    changed = job.prepared.git.succeeds(*words)
    return changed is not None and not _OF_CONFIG.search(changed)


def _made_for(job: BuildJob) -> str:
    return f"{job.prepared.tree} {job.requested.digest}"


def _processors() -> int:
    return len(os.sched_getaffinity(0))
