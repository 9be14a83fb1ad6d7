"""What a recording is going to be: kernels and workload described, and the session that holds it.

A session whose plan is the same is resumed; one with another plan is refused.
"""

import hashlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec

from profdiff import __version__
from profdiff import manifest as m
from profdiff._native import KernelImage, NativeError, elf_build_id
from profdiff.collectors.initramfs import own_files
from profdiff.collectors.kernel_files import KernelFiles
from profdiff.collectors.workload import GuestFile, PreparedWorkload
from profdiff.errors import InputError
from profdiff.session import Session, is_session


def describe_kernel(files: KernelFiles) -> m.Kernel:
    """A kernel as the manifest names it. Raises InputError when the image is no kernel, or its
    debug ELF is damaged or of another build."""
    try:
        image = KernelImage.open(str(files.image))
        built = elf_build_id(str(files.debug_elf)) if files.debug_elf else None
    except NativeError as error:
        raise InputError(f"{files.label}: {error}") from error
    if files.debug_elf and built is None:
        raise InputError(
            f"{files.label}: {files.debug_elf} has no build id, so it cannot be tied to its image: "
            "build the kernel with one (ld --build-id)"
        )
    if built and image.build_id and built != image.build_id:
        raise InputError(
            f"{files.label}: {files.image} has build id {image.build_id}, {files.debug_elf} has "
            f"{built}: give the vmlinux of this very build"
        )
    with files.image.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return m.Kernel(
        label=files.label,
        spec=files.spec,
        image_sha256=digest,
        build_id=built or image.build_id,
        debug_elf=str(files.debug_elf.resolve()) if files.debug_elf else None,
    )


def describe_workload(prepared: PreparedWorkload, ops: int | None) -> m.Workload:
    """A workload as the manifest names it, the guest's own programs included."""
    files = [*prepared.files, *own_files()]
    return m.Workload(
        argv=list(prepared.argv),
        guest_argv=list(prepared.guest_argv),
        kind=prepared.kind,
        ops=ops,
        files=[
            m.WorkloadFile(
                guest_path=file.guest_path,
                sha256=file.sha256(),
                executable=file.executable,
                path=_kept_as(number, file) if file.is_code else None,
            )
            for number, file in enumerate(files)
        ],
    )


def plan(
    kernels: Iterable[m.Kernel],
    workload: m.Workload,
    guest: m.Guest,
    *,
    repeat: int,
    verify: bool,
    command: list[str],
) -> m.Manifest:
    """The manifest of a recording of which nothing has run yet."""
    return m.Manifest(
        schema=m.SCHEMA,
        profdiff=__version__,
        created=m.timestamp(),
        command=command,
        collectors=["exact"],
        repeat=max(repeat, 2) if verify else repeat,
        verify=verify,
        workload=workload,
        guest=guest,
        kernels=list(kernels),
        runs=[],
    )


def open_session(folder: Path, planned: m.Manifest, prepared: PreparedWorkload) -> Session:
    """The session in ``folder``: a new one, or the one that was interrupted there.

    Raises InputError when the session there was recorded with another plan, SessionError, OSError.
    """
    if not is_session(folder):
        session = Session.create(folder, planned)
    else:
        session = Session.open(folder)
        difference = _difference(session.manifest, planned)
        if difference:
            raise InputError(
                f"{folder} holds a recording with {difference}: name another folder with -o, or "
                "delete that one"
            )
        session.save(_updated(session.manifest, planned))
    _keep_code(session, [*prepared.files, *own_files()])
    return session


def _updated(old: m.Manifest, new: m.Manifest) -> m.Manifest:
    """``old`` with what a later command may change: how often, how long, how many ops it was."""
    guest = new.guest and old.guest and m.replace(old.guest, timeout=new.guest.timeout)
    ops = new.workload.ops or old.workload.ops
    return msgspec.structs.replace(
        old,
        repeat=max(old.repeat, new.repeat),
        verify=old.verify or new.verify,
        guest=guest,
        workload=msgspec.structs.replace(old.workload, ops=ops),
    )


def _difference(old: m.Manifest, new: m.Manifest) -> str | None:
    """What tells two plans apart, in words; None if one session can hold both."""
    old = _updated(old, new)
    new = msgspec.structs.replace(
        new, workload=msgspec.structs.replace(new.workload, ops=old.workload.ops)
    )
    images = [(kernel.label, kernel.image_sha256) for kernel in old.kernels]
    if images != [(kernel.label, kernel.image_sha256) for kernel in new.kernels]:
        labels = ", ".join(kernel.label for kernel in old.kernels)
        return f"other kernels ({labels})"
    if old.workload != new.workload:
        return f"another workload ({' '.join(old.workload.argv)}, or other contents of its files)"
    for field in m.Guest.__struct_fields__:
        if getattr(old.guest, field) != getattr(new.guest, field):
            return f"--{field} {getattr(old.guest, field)}"
    return None


def _kept_as(number: int, file: GuestFile) -> str:
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", Path(file.guest_path).name)
    return f"workload/{number}-{name}"


def _keep_code(session: Session, files: list[GuestFile]) -> None:
    """Copy what may execute into the session, so that a report finds its functions elsewhere."""
    for number, file in enumerate(files):
        if not file.is_code:
            continue
        path = session.path(_kept_as(number, file))
        path.parent.mkdir(exist_ok=True)
        if path.exists() and path.stat().st_size == file.source.stat().st_size:
            continue
        temporary = path.with_name(f".{path.name}")
        shutil.copyfile(file.source, temporary)
        temporary.replace(path)
