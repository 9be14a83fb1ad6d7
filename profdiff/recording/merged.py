"""Shards put together: a session as if one process had recorded all of their runs."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np

from profdiff.base import bounded
from profdiff.base.atomic import link_or_copy, make_folder, open_atomic
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors import registry
from profdiff.profile import kept
from profdiff.profile.runs import recorded
from profdiff.recording import plan, schedule
from profdiff.session import manifest as m
from profdiff.session.held import inside, is_session, refuse_occupied, symbols_file
from profdiff.session.inlines import joined
from profdiff.session.lock import recording
from profdiff.session.session import Session
from profdiff.symbolization.chains import Chains
from profdiff.symbolization.data_accesses import DataAccesses
from profdiff.symbolization.joined import joined_accesses, joined_chains, joined_code
from profdiff.symbolization.kernel_code import KernelCode

# The largest file that a run left.
_MAX_FILE = 8 << 30
_MOST_FILES = 256
# What tells two runs of one cell apart, whatever machine and folder they were in.
_SAID = (
    "kernel",
    "collector",
    "point",
    "repetition",
    "state",
    "failure",
    "exit_status",
    "window",
    "instructions",
    "clock",
    "measured",
)
_RECORDED = ("counts", "perf-data", "stacks")


@dataclass(frozen=True)
class Taken:
    """A run and the session that it is from."""

    session: Session
    run: m.Run


def merge_sessions(target: Path, shards: Sequence[Session]) -> Session:
    """Make the session ``target`` of the runs of ``shards``, or add them to it. A target that was
    not there appears whole; one that was is as it was until all files are there.

    Raises InputError when they are not shards of one plan, or two runs of one cell differ,
    SessionError for a damaged or hostile shard, OSError.
    """
    if not is_session(target):
        refuse_occupied(target)
        if target.is_dir():
            (target / ".lock").unlink(missing_ok=True)
        with make_folder(target) as folder:
            _merge(folder, target, list(shards))
        return Session.open(target)
    with recording(target):
        return _merge(target, target, [Session.open(target), *shards])


def _merge(folder: Path, told: Path, every: Sequence[Session]) -> Session:
    """Put all into ``folder``, which is going to be ``told``."""
    first, *others = every
    for session in every:
        if session.folder != folder and session.left_out:
            raise SessionError(f"{session.folder}: {session.damaged[0]}: bring this shard again")
    manifest = first.manifest
    for other in others:
        # What all before say: the first may lack a kernel, or an option, that others have.
        _refuse_other_plan(Session(first.folder, manifest), other)
        manifest = m.replace(
            plan.updated(manifest, other.manifest),
            kernels=_kernels(manifest, other),
            runs=[*manifest.runs, *other.manifest.runs],
        )
    _refuse_other_emulators(every)
    taken = _runs(every)
    order = _order(manifest)
    runs = sorted(taken.values(), key=lambda one: order.of(one.run))
    copied: dict[tuple[int, int], Path] = {}
    for run in runs:
        if run.session.folder != folder:
            _copy_run(run, folder, copied)
    _copy_others(every, manifest, folder)
    if first.folder == folder:
        first.disclaim(name for name in first.manifest.checksums if name.startswith("symbols/"))
    manifest = m.replace(
        manifest,
        runs=[run.run for run in runs],
        # A copy is what the shard says that it is, or as damaged there.
        checksums={
            path: run.session.manifest.checksums[path]
            for run in runs
            for path in run.run.files.values()
            if path in run.session.manifest.checksums
        },
        functions=None,
        events=None,
        shard="",
    )
    manifest = m.replace(manifest, kernels=[_config(k, manifest) for k in manifest.kernels])
    made = Session(folder, manifest)
    made.save(m.replace(manifest, kernels=_keep_symbols(made, every)))
    kept.keep(made)
    return made


def _refuse_other_plan(first: Session, other: Session) -> None:
    """Raise InputError unless runs of ``other`` can be beside those of ``first``, which is the
    first of them with what the ones before ``other`` added."""
    told = plan.difference(other.manifest, first.manifest)
    if told is None and len(other.manifest.kernels) < len(first.manifest.kernels):
        told = plan.difference(first.manifest, other.manifest)
    if told is None:
        known = {one.label: one for one in first.manifest.kernels}
        for kernel in other.manifest.kernels:
            was = known.get(kernel.label, kernel)
            if kernel.build_id and was.build_id and kernel.build_id != was.build_id:
                told = f"{kernel.label} with build id {kernel.build_id}, not {was.build_id}"
                break
    if told:
        raise InputError(
            f"{other.folder} is not a shard of {first.folder}: it was recorded with {told}"
        )


def _refuse_other_emulators(every: Sequence[Session]) -> None:
    """Raise InputError when runs of one collector come from two QEMUs."""
    known: dict[str, tuple[Session, m.Qemu]] = {}
    for session in every:
        for run in session.manifest.runs:
            if run.qemu is None or run.failure is not None:
                continue
            first, qemu = known.setdefault(run.collector, (session, run.qemu))
            mine, other = _bare(run.qemu), _bare(qemu)
            if mine != other:
                fields = m.Qemu.__struct_fields__
                names = [name for name in fields if getattr(mine, name) != getattr(other, name)]
                raise InputError(
                    f"{session.folder} is not a shard of {first.folder}: another QEMU recorded it "
                    f"({names[0]} {getattr(mine, names[0])}, not {getattr(other, names[0])})"
                )


def _bare(qemu: m.Qemu) -> m.Qemu:
    """Without the arguments, which name files."""
    return m.replace(qemu, arguments=[])


def _kernels(manifest: m.Manifest, other: Session) -> list[m.Kernel]:
    """The kernels of both, with what either knows of each."""
    more = {one.label: one for one in other.manifest.kernels}
    found = []
    for kernel in manifest.kernels:
        also = more.pop(kernel.label, kernel)
        if kernel.hole and not also.hole:
            kernel = also
        fields = ("release", "version", "compiler", "build_id", "config", "source", "debug_elf")
        known = {n: getattr(kernel, n) or getattr(also, n) for n in fields}
        told = [one.inlines for one in (kernel, also) if one.inlines is not None]
        found.append(m.replace(kernel, **known, inlines=joined(told) if told else None))
    return [*found, *more.values()]


def _runs(every: Sequence[Session]) -> dict[str, Taken]:
    """Each run once, by its id. Raises InputError when two of one id differ."""
    found: dict[str, Taken] = {}
    for session in every:
        for run in session.manifest.runs:
            one, before = Taken(session, run), found.get(run.id)
            # What failed in one place and not in another is there.
            if before is None or (before.run.failed and run.failure is None):
                found[run.id] = one
            elif not (run.failed or before.run.failed) and (told := _differ(before, one)):
                raise InputError(
                    f"run {run.id} of {session.folder} differs from that of "
                    f"{before.session.folder}: {told}"
                )
    return found


def _differ(one: Taken, other: Taken) -> str | None:
    """By what two runs of one cell differ; None if they are equal."""
    for name in _SAID:
        if getattr(one.run, name) != getattr(other.run, name):
            return name
    for what in _RECORDED:
        pair = [_path(each, what) for each in (one, other)]
        if pair[0] is None or pair[1] is None:
            if pair[0] != pair[1]:
                return what
        elif not _same_bytes(pair[0], pair[1]) and not _same_counts(one, other):
            return what
    return None


def _path(one: Taken, what: str) -> Path | None:
    relative = one.run.files.get(what)
    return one.session.path(relative) if relative else None


def _same_bytes(one: Path, other: Path) -> bool:
    with bounded.open_regular(one) as left, bounded.open_regular(other) as right:
        while True:
            data = left.read(1 << 20)
            if data != right.read(1 << 20):
                return False
            if not data:
                return True


def _same_counts(one: Taken, other: Taken) -> bool:
    """Whether two exact recordings count the same at every place, in whatever order."""
    if not registry.collector(one.run.collector).kind.exact:
        return False
    left, right = recorded(one.session, one.run), recorded(other.session, other.run)
    if left is None or right is None:
        return False
    return np.array_equal(left.places.keys(), right.places.keys()) and np.array_equal(
        left.count, right.count
    )


@dataclass(frozen=True)
class _Order:
    """Where each run of a plan stands in it."""

    rank: Mapping[schedule.PlannedRun, int]
    wanted: int

    def of(self, run: m.Run) -> tuple[int, int]:
        turn = 0 if run.state else (run.repetition - 1) % self.wanted
        place = schedule.PlannedRun(run.kernel, run.collector, run.point, turn, run.state)
        return self.rank.get(place, len(self.rank)), run.repetition


def _order(manifest: m.Manifest) -> _Order:
    labels = [kernel.label for kernel in manifest.kernels if not kernel.hole]
    every = chain.from_iterable(
        schedule.places(manifest, labels, name) for name in manifest.collectors
    )
    rank = {place: number for number, place in enumerate(every)}
    return _Order(rank, max(manifest.repeat, manifest.twin_repeat))


def _copy_run(one: Taken, folder: Path, copied: dict[tuple[int, int], Path]) -> None:
    """Copy what a run left. Files that were one in the shard are one again. Raises SessionError for
    files that are not in the run's folder."""
    run = one.run
    place = Session(folder, one.session.manifest).run_folder(run.id)
    for what, name in names_of(one.session, run).items():
        if not (place / name).exists():
            copy_file(one.session.place(run.files[what]), place / name, copied)


def names_of(session: Session, run: m.Run) -> dict[str, str]:
    """What the files of a run are called in its folder, by what they are. Raises SessionError for
    too many, and for files that are not in that folder."""
    if len(run.files) > _MOST_FILES:
        raise SessionError(f"{session.folder}: run {run.id} has too many files: refused")
    folder = f"runs/{run.id}/"
    found = {what: path.removeprefix(folder) for what, path in run.files.items()}
    for what, name in found.items():
        if name == run.files[what] or "/" in name:
            raise SessionError(
                f"{session.folder}: run {run.id} has files elsewhere ({run.files[what]}): refused"
            )
    return found


def copy_file(source: Path, path: Path, copied: dict[tuple[int, int], Path] | None = None) -> None:
    """Copy a file, or give the one that was ``copied`` before a second name; by device and inode.
    Raises SessionError for a file that cannot be read, OSError."""
    try:
        file = bounded.open_regular(source)
    except OSError as error:
        raise SessionError(f"cannot read {source}: {error.strerror}") from error
    with file:
        status = source.stat()
        key = status.st_dev, status.st_ino
        if copied is not None and key in copied:
            link_or_copy(copied[key], path)
            return
        if status.st_size > _MAX_FILE:
            raise SessionError(f"{source} is too large to be a run's: refused")
        with open_atomic(path, durable=False) as copy:
            shutil.copyfileobj(file, copy, 1 << 20)
    if copied is not None:
        copied[key] = path


def _copy_others(every: Sequence[Session], manifest: m.Manifest, folder: Path) -> None:
    """The workload's code and source, and configs that no run left."""
    own = [file for kernel in manifest.kernels for file in kernel.files]
    wanted = [file.path for file in [*manifest.workload.files, *own] if file.path]
    wanted += [manifest.workload.source] if manifest.workload.source else []
    wanted += [k.config for k in manifest.kernels if k.config and k.config.startswith("kernels/")]
    for relative in wanted:
        path = inside(folder, relative)
        others = (one for one in every if one.folder != folder)
        source = next((found for other in others if (found := other.whole(relative))), None)
        if source is not None and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            copy_file(source, path)


def _config(kernel: m.Kernel, manifest: m.Manifest) -> m.Kernel:
    """With the config that the first of its runs left, as one recording would have it."""
    if kernel.config is None or kernel.config.startswith("kernels/"):
        return kernel
    left = (run.files["config"] for run in manifest.runs if _left_config(run, kernel))
    return m.replace(kernel, config=next(left, None))


def _left_config(run: m.Run, kernel: m.Kernel) -> bool:
    return run.kernel == kernel.label and "config" in run.files


def _keep_symbols(made: Session, every: Sequence[Session]) -> list[m.Kernel]:
    """The kernels, with what the shards kept of each: chains, code and accesses; without them where
    a shard with runs of it kept none: reports resolve those anew."""
    return [_with_symbols(made, kernel, every) for kernel in made.manifest.kernels]


def _with_symbols(made: Session, kernel: m.Kernel, every: Sequence[Session]) -> m.Kernel:
    without = m.replace(kernel, symbols=None, code=None, accesses=None)
    chains, codes, accesses = [], [], []
    for session, known in _recorded(kernel.label, every):
        if known.symbols is None:
            return without
        chains.append(Chains.load(session.path(known.symbols)))
        if known.code is not None:
            codes.append(KernelCode.load(session.path(known.code)))
        if known.accesses is not None:
            accesses.append(DataAccesses.load(session.path(known.accesses)))
    if not chains:
        return without
    files: dict[str, str] = {"symbols": symbols_file(kernel.label)}
    try:
        made.write(files["symbols"], joined_chains(chains).save)
        if len(codes) == len(chains):
            files["code"] = symbols_file(kernel.label, "code")
            made.write(files["code"], joined_code(codes).save)
    except ValueError:
        return without
    if len(accesses) == len(chains):
        files["accesses"] = symbols_file(kernel.label, "accesses")
        made.write(files["accesses"], joined_accesses(accesses).save)
    return m.replace(without, **files)


def _recorded(label: str, every: Sequence[Session]) -> Iterator[tuple[Session, m.Kernel]]:
    """The sessions with exact runs of a kernel, and what each says of it."""
    for session in every:
        for kernel in session.manifest.kernels:
            runs = [
                run
                for run in session.manifest.runs
                if run.kernel == label and run.failure is None and "counts" in run.files
            ]
            if kernel.label == label and runs:
                yield session, kernel
