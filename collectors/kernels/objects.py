"""Object files of a git repository's tree, built alone: as a kernel's build would, without it."""

import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.build import Make, configure
from profdiff.collectors.kernels.building.job import BuildJob, image_of
from profdiff.collectors.kernels.building.kept import key_of
from profdiff.collectors.kernels.building.make import BuildProgress, UnfitError
from profdiff.collectors.kernels.building.slots import slot_for

# More files than define a name that people write for a function.
_MOST = 8
_SOURCES = r"(?!tools/|scripts/|samples/|Documentation/|usr/|arch/(?!{}/))"


def objects_of(job: BuildJob, function: str) -> list[str]:
    """The object files whose sources seem to define a function: ``mm/mprotect.o``. Raises
    InputError where none does, or too many do."""
    prepared = job.prepared
    if not re.fullmatch(r"\w+", function):
        raise InputError(f"{function!r} is not a function's name: write one as C has it")
    call = re.sub(r"^__(?:x64|arm64|riscv|do|se)_sys_", "", function)
    pattern = (
        rf"^(([A-Za-z_].*[^A-Za-z0-9_])?{function}\(.*[^;]$|SYM_(FUNC|CODE)_START.*\({function}\)"
        + (rf"|SYSCALL_DEFINE[0-6]\({call}[,)]" if call != function else "")
        + ")"
    )
    words = ("grep", "-z", "-l", "-E", pattern, prepared.built, "--", "*.c", "*.S", "*.h")
    told = (prepared.git.succeeds(*words) or b"").decode(errors="replace").split("\0")[:-1]
    own = _SOURCES.format(image_of(job.architecture).split("/")[1])
    files = [file for name in told if re.match(own, file := name.partition(":")[2])]
    found = sorted(file.rpartition(".")[0] + ".o" for file in files if not file.endswith(".h"))
    if not found:
        why = f"no source of {prepared.described} defines {function}"
        if files:
            why = f"{files[0]} defines {function}, for others to inline"
        raise InputError(f"{why}: name an object that has its code, as in mm/mprotect.o:{function}")
    if len(found) > _MOST:
        raise InputError(
            f"{len(found)} sources seem to define {function}, {', '.join(found[:3])} among them: "
            f"name one: {found[0]}:{function}"
        )
    return found


def build_objects(
    job: BuildJob,
    label: str,
    objects: Sequence[str],
    folder: Path,
    *,
    flags: str = "",
    quiet: bool = False,
) -> list[Path]:
    """Build object files, and copy them into ``folder``; those of several that do not build are
    left out. ``flags``: behind the compiler's usual ones. Raises what building a kernel does."""
    if job.spec.link_time:
        raise InputError(f"{job.spec}: lto= makes code when the kernel is linked")
    key = key_of(job.objects, flags)[:12] if flags else job.objects
    found, failure = [], None
    with slot_for(job.prepared, key) as slot:
        slot.check_out(job.prepared.git, job.prepared.built)
        made = slot.objects(key)
        with BuildProgress(label, f"{', '.join(objects)} of {job.about}", 0, 0.0, quiet) as shown:
            make = Make(job, slot, made, shown, flags)
            try:
                # Nothing boots.
                with suppress(UnfitError):
                    configure(make, quiet=True)
                for name in objects:
                    try:
                        make(name)
                    except InputError as error:
                        failure = error
                        continue
                    copy = folder / label / name
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(made.folder / name, copy)
                    found.append(copy)
            except InputError:
                made.whole()
                slot.unclean.unlink(missing_ok=True)
                raise
        made.whole()
    if failure and not found:
        raise failure
    return found
