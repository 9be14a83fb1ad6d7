"""What a recording is going to be: kernels and workload described, and the session that holds it.

A session whose plan is the same is resumed; one with another plan is refused.
"""

import hashlib
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from pathlib import Path

from profdiff.base import bounded
from profdiff.base.atomic import open_atomic, write_atomic
from profdiff.base.cache import symbol_cache
from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.collectors.architecture import of_image
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.kernels.images import build_ids
from profdiff.collectors.kernels.variant import suffix
from profdiff.collectors.workload.files import GuestFile
from profdiff.collectors.workload.workload import PreparedWorkload
from profdiff.recording import origin
from profdiff.recording.located import UnbuiltKernel
from profdiff.session import manifest as m
from profdiff.session.held import is_session, refuse_compared
from profdiff.session.points import number_of
from profdiff.session.session import Session
from profdiff.symbolization._native import KernelImage, NativeError, elf_build_id
from profdiff.symbolization.debug_files import kernel_debug_elf
from profdiff.symbolization.running_kernel import running_build_id

_SOURCE = "workload/source"
_MAX_ID = 128  # bytes of a build id in hexadecimal


def describe_kernel(files: KernelFiles) -> m.Kernel:
    """A kernel as the manifest names it. Raises InputError when the image is not a kernel, or its
    debug ELF is damaged or of another build."""
    try:
        built = elf_build_id(str(files.debug_elf)) if files.debug_elf else None
        digest = _sha256(files.image) if files.image else None
        noted = _known_build_ids(files, digest)
        # If there are several, the kernel itself says which one when it runs.
        known = noted[0] if len(noted) == 1 else None
    except NativeError as error:
        raise InputError(f"{files.label}: {error}") from error
    if files.debug_elf and built is None:
        raise InputError(
            f"{files.label}: {files.debug_elf} has no build id, so it cannot be tied to its image: "
            "build the kernel with one (ld --build-id)"
        )
    if built and noted and built not in noted:
        raise InputError(
            f"{files.label}: {files.image or files.spec} has build id {noted[-1]}, "
            f"{files.debug_elf} has {built}: give the vmlinux of that build"
        )
    debug_elf = files.debug_elf
    if files.machine is not None and not debug_elf:
        release = os.uname().release if not files.machine.host else ""
        debug_elf = kernel_debug_elf(known, release)
    return m.Kernel(
        label=files.label,
        spec=files.spec,
        image_sha256=digest,
        build_id=built or known,
        debug_elf=str(debug_elf.resolve()) if debug_elf else None,
        source=files.source,
        variant=files.variant,
        local=files.machine is not None and not files.machine.host,
    )


def describe_hole(hole: UnbuiltKernel) -> m.Kernel:
    """A kernel that was not built, as the manifest names it."""
    spec = str(hole.spec)
    return m.Kernel(label=hole.label, spec=spec, hole=hole.reason, variant=hole.variant)


def _known_build_ids(files: KernelFiles, digest: str | None) -> list[str]:
    """What the running kernel says, or an image (``digest``); other machines say it when they run.
    An image can hold more than the kernel's own, which is then the last. Raises NativeError,
    InputError."""
    known: str | None = None
    if files.machine is not None:
        known = running_build_id() if not files.machine.host else None
    elif files.image and digest and of_image(files.image).image_is_elf:
        known = _packed_build_id(files.image, digest)
    elif files.image:
        return build_ids(files.image)
    return [known] if known else []


def _packed_build_id(image: Path, digest: str) -> str | None:
    """That of a bzImage, kept in the cache: to unpack it takes 0.1 to 2 s. Raises NativeError."""
    kept = None
    with suppress(OSError, ValueError):
        if cache := symbol_cache():
            kept = cache / f"{digest}.build-id"
            if told := bounded.read(kept, _MAX_ID).decode("ascii"):
                return told
    known = KernelImage.open(str(image)).build_id
    if kept and known:
        with suppress(OSError):
            write_atomic(kept, known.encode(), durable=False)
    return known


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe_workload(prepared: PreparedWorkload, own: Sequence[GuestFile]) -> m.Workload:
    """A workload as the manifest names it; ``own`` are the guest's own programs."""
    return m.Workload(
        argv=list(prepared.argv),
        guest_argv=list(prepared.guest_argv),
        kind=prepared.kind,
        source=f"{_SOURCE}{prepared.source.suffix}" if prepared.source else None,
        copies=prepared.copies,
        files=describe_files([*prepared.files, *own]),
    )


def describe_files(files: Sequence[GuestFile], label: str = "") -> list[m.WorkloadFile]:
    """Files that travel into all guests, or into those of a label alone."""
    return [
        m.WorkloadFile(
            guest_path=file.guest_path,
            sha256=file.sha256(),
            executable=file.executable,
            path=_kept_as(number, file, label) if file.is_code else None,
        )
        for number, file in enumerate(files)
    ]


def kept_code(
    files: Sequence[GuestFile], own: Mapping[str, Sequence[GuestFile]]
) -> dict[str, Path]:
    """By its place in the session, each file that may execute: a report finds its functions
    elsewhere. ``files``: of all guests, in the plan's order; ``own``: by label."""
    return {
        _kept_as(number, file, label): file.source
        for label, some in {"": files, **own}.items()
        for number, file in enumerate(some)
        if file.is_code
    }


def with_twin(kernels: Sequence[KernelFiles]) -> list[KernelFiles]:
    """The kernels, and behind the base its twin, which is measured against it (A/A)."""
    base, *others = kernels
    return [base, replace(base, label=f"{base.label[:60]}.aa"), *others]


def open_session(
    folder: Path, planned: m.Manifest, code: Mapping[str, Path], source: Path | None = None
) -> Session:
    """The session in ``folder``: a new one, or the one that was interrupted there, or that lacks
    kernels which are planned now. ``code``: as ``kept_code``; ``source``: what the workload was
    compiled from.

    Raises InputError when the session there was recorded with another plan, SessionError, OSError.
    """
    manifest = continued(folder, planned)
    if not is_session(folder):
        session = Session.create(folder, manifest)
    else:
        session = Session.open(folder)
        session.save(manifest)
    origin.remember(session.folder, session.manifest)
    for place, file in code.items():
        path = session.whole(place)
        if path is None or path.stat().st_size != file.stat().st_size:
            session.write(place, partial(_copy, file))
    kept = manifest.workload.source
    if source and kept and not session.place(kept).exists():
        session.write(kept, partial(_copy, source))
    return session


def continued(folder: Path, planned: m.Manifest) -> m.Manifest:
    """The manifest with which ``planned`` begins, or goes on where ``folder`` holds a session.
    Raises what ``open_session`` does; nothing is written."""
    if not is_session(folder):
        return planned
    old = Session.open(folder).manifest
    if old.recordings:
        refuse_compared(folder)
    if told := difference(old, planned):
        raise InputError(
            f"{folder} holds a recording with {told}: name another folder with -o, or "
            "delete that one"
        )
    made = m.replace(updated(old, planned), kernels=_every_kernel(old, planned))
    return m.replace(made, command=_command(old, planned, made))


def command_line(words: Sequence[str], command: Sequence[str]) -> list[str]:
    """``words`` with -- in front of COMMAND, if they end with it, so that options can be added."""
    at = len(words) - len(command)
    separator = [] if "--" in words or not command or words[at:] != [*command] else ["--"]
    return [*words[:at], *separator, *words[at:]]


def _command(old: m.Manifest, new: m.Manifest, made: m.Manifest) -> list[str]:
    """The command line that records ``made``: the new one if it asks for all of that, else the old
    one, with the kernels that guests of the new one add."""
    asked = {kernel.label for kernel in new.kernels}
    added = asked - {kernel.label for kernel in old.kernels}
    same = ("collectors", "repeat", "twin_repeat", "verify", "order", "options")
    whole = all(getattr(new, name) == getattr(made, name) for name in same)
    if whole and len(asked) == len(made.kernels) and _has_workload(new):
        return new.command
    words = [
        word
        for kernel in new.kernels
        if kernel.label in added and kernel.image_sha256 and not kernel.twin_of
        for word in ("--kernel", f"{kernel.label}={kernel.spec}{suffix(kernel.variant)}")
    ]
    end = old.command.index("--") if "--" in old.command else len(old.command)
    return [*old.command[:end], *words, *old.command[end:]]


def _has_workload(manifest: m.Manifest) -> bool:
    """Whether its command line says what to run, rather than a session that is continued."""
    named = {"--suite", "--boot", "--replay"}
    return "--" in manifest.command or not named.isdisjoint(
        word.partition("=")[0] for word in manifest.command
    )


def added(folder: Path, planned: m.Manifest) -> list[str]:
    """The labels of the kernels that ``planned`` adds to the session in ``folder``; none where
    there is no session. Raises SessionError."""
    if not is_session(folder):
        return []
    known = {kernel.label for kernel in Session.open(folder).manifest.kernels}
    return [kernel.label for kernel in planned.kernels if kernel.label not in known]


def refuse_other_series(session: Session, labels: Sequence[str]) -> None:
    """Raises InputError unless the kernels ``labels``, of which some are a series, begin with those
    of the session, in order: what a rebase moved or left out would make a ladder that never was."""
    known = [kernel.label for kernel in session.manifest.kernels if kernel.twin_of is None]
    if list(labels[: len(known)]) == known:
        return
    pairs = zip_longest(known, labels)
    at, (had, now) = next((n, pair) for n, pair in enumerate(pairs) if pair[0] != pair[1])
    instead = f"the series now has {now}" if now else "the series ends before"
    raise InputError(
        f"{session.folder} holds another series: where it has {had}, kernel {at + 1} of "
        f"{len(known)}, {instead}: name another folder with -o, or delete that one"
    )


def _every_kernel(old: m.Manifest, new: m.Manifest) -> list[m.Kernel]:
    """The kernels of a session, and behind them those that ``new`` adds."""
    asked = {kernel.label: kernel for kernel in new.kernels}
    kept = [_kept(was, asked.pop(was.label, None)) for was in old.kernels]
    return [*kept, *asked.values()]


def _kept(was: m.Kernel, now: m.Kernel | None) -> m.Kernel:
    """A kernel of a session as a later recording finds it: one that could not be built may be there
    by now, and one that ran keeps what it was."""
    if now is None or (now.hole and not was.hole):
        return was
    return now if was.hole else m.replace(was, source=was.source or now.source)


def _refuse_other_machines(old: m.Manifest, new: m.Manifest) -> None:
    """Kernels that machines run come one after the other, each after a reboot. Raises InputError
    when a label now runs another kernel, or a kernel has another label."""
    known = {kernel.label: kernel for kernel in old.kernels}
    for kernel in new.kernels:
        if kernel.build_id is None:
            continue
        before = known.get(kernel.label)
        if before and before.build_id and before.build_id != kernel.build_id:
            raise InputError(
                f"{kernel.label} was recorded on a kernel with build id {before.build_id}, but the "
                f"machine now runs {kernel.build_id}: give it another label"
            )
        alike = [k.label for k in old.kernels if k.build_id == kernel.build_id and not k.twin_of]
        twin = next(iter(alike), kernel.label)
        if twin != kernel.label and kernel.twin_of is None:
            raise InputError(
                f"{kernel.label} is the kernel already recorded as {twin} (build id "
                f"{kernel.build_id}): boot the other kernel first"
            )


def _other_kernels(old: m.Manifest, new: m.Manifest) -> str | None:
    """Why the kernels of ``new`` cannot be beside those of ``old``; None if they can. Raises
    InputError for the kernels of machines."""
    if not any(kernel.image_sha256 for kernel in (*old.kernels, *new.kernels)):
        _refuse_other_machines(old, new)
        return None
    known = {kernel.label: kernel for kernel in old.kernels}
    if new.kernels[0].label != old.kernels[0].label:
        return f"other kernels ({', '.join(known)})"
    for kernel in new.kernels:
        was = known.get(kernel.label, kernel)
        # Nobody knows what a hole would have been.
        if not (was.hole or kernel.hole) and was.image_sha256 != kernel.image_sha256:
            return f"another kernel called {kernel.label}"
        if was.files != kernel.files and was.variant == kernel.variant:
            return f"another program for {kernel.label}, or other contents of its files"
        if was.variant != kernel.variant:
            given = " ".join(was.variant.words)
            return f"{kernel.label} {f'with {given}' if given else 'without options of its own'}"
    return None


def updated(old: m.Manifest, new: m.Manifest) -> m.Manifest:
    """``old`` with what a later command may change besides kernels: how often, in how many states,
    how long, how many ops it was; how collectors record, too, where no run has a result yet."""
    guest = new.guest and old.guest and m.replace(old.guest, timeout=new.guest.timeout)
    points = old.points
    if len(points) == len(new.points):
        points = [
            m.replace(was, ops=now.ops or was.ops)
            for was, now in zip(points, new.points, strict=True)
        ]
    # What never gave a result may be recorded otherwise, such as with another --metric.
    options = {**old.options, **new.options}
    if any(run.failure is None for run in old.runs):
        options = {**new.options, **old.options}
    return m.replace(
        old,
        collectors=[*old.collectors, *(c for c in new.collectors if c not in old.collectors)],
        options=options,
        repeat=max(old.repeat, new.repeat),
        order=m.replace(old.order, states=max(old.order.states, new.order.states)),
        twin_repeat=max(old.twin_repeat, new.twin_repeat),
        verify=old.verify or new.verify,
        guest=guest,
        points=points,
        shard=new.shard,
        workload=m.replace(
            old.workload,
            source=old.workload.source or new.workload.source,
            op=new.workload.op or old.workload.op,
        ),
    )


def difference(old: m.Manifest, new: m.Manifest) -> str | None:
    """What tells two plans apart, in words; None if one session can hold both."""
    if others := _other_kernels(old, new):
        return others
    old = updated(old, new)
    if old.workload.copies != new.workload.copies:
        return f"--copies {old.workload.copies}"
    if m.replace(old.workload, op=new.workload.op) != new.workload:
        return f"another workload ({' '.join(old.workload.argv)}, or other contents of its files)"
    if _conditions(old) != _conditions(new):
        if all(point.shorter is None for point in old.points):
            asked = [point for point in _conditions(new) if point[2] is not None]
            if [point[:2] for point in _conditions(old)] == [point[:2] for point in asked]:
                return "--difference none"
        return f"another sweep ({number_of(old)})"
    for name, value in new.options.items():
        if old.options[name] != value:
            return registry.spelled(name, old.options[name])
    if old.order != m.replace(new.order, states=old.order.states):
        return f"--seed {old.order.seed}{' --vary-boots' if old.order.vary else ''}"
    return _other_guest(old.guest, new.guest)


def _other_guest(old: m.Guest | None, new: m.Guest | None) -> str | None:
    for field in m.Guest.__struct_fields__:
        was, now = getattr(old, field, None), getattr(new, field, None)
        if field == "restored" and bool(was) != bool(now):
            return "--restore" if was else "--no-restore"
        if field not in ("restored", "not_restored") and was != now:
            return f"no --{field}" if was is None else f"--{field} {was}"
    return None


def _conditions(manifest: m.Manifest) -> list[tuple[dict[str, str], int | None, int | None]]:
    return [(point.parameters, point.cpus, point.shorter) for point in manifest.points]


def _kept_as(number: int, file: GuestFile, label: str = "") -> str:
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", Path(file.guest_path).name)
    return f"workload/{f'{label}/' if label else ''}{number}-{name}"


def _copy(source: Path, path: Path) -> None:
    with source.open("rb") as file, open_atomic(path, durable=False) as copy:
        shutil.copyfileobj(file, copy)
