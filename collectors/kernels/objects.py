"""Object files of a git repository's tree, built alone: as a kernel's build would, without it."""

import re
import shutil
from contextlib import suppress
from pathlib import Path

from profdiff.base.bounded import read
from profdiff.base.errors import InputError
from profdiff.base.git import Git
from profdiff.collectors.kernels.build import Make, configure
from profdiff.collectors.kernels.building.job import BuildJob, image_of
from profdiff.collectors.kernels.building.make import BuildError, BuildProgress, UnfitError
from profdiff.collectors.kernels.building.slots import slot_for

# More files than define a name that people write for a function.
_MOST = 8
_OF_OTHERS = r"tools/|scripts/|samples/|Documentation/|usr/|arch/(?!{}/)"
_MAX_SOURCE = 16 << 20


def build_objects(
    job: BuildJob,
    label: str,
    wanted: str,
    folder: Path,
    *,
    flags: str = "",
    quiet: bool = False,
) -> list[Path]:
    """Build the object file ``wanted`` (``mm/mprotect.o``), or those whose sources seem to define
    the function ``wanted``, and copy them into ``folder``; those of several that do not build are
    left out. ``flags``: behind the compiler's usual ones. Raises InputError for a function that no
    source defines, or too many do, and what building a kernel does."""
    found, failure = [], None
    with slot_for(job.prepared, job.objects) as slot:
        slot.check_out(job.prepared.git, job.prepared.built)
        objects = [wanted] if wanted.endswith(".o") else _defining(job, slot.tree, wanted)
        made = slot.objects(job.objects)
        with BuildProgress(label, f"{', '.join(objects)} of {job.about}", 0, 0.0, quiet) as shown:
            make = Make(job, slot, made, shown, flags)
            try:
                # Nothing boots.
                with suppress(UnfitError):
                    configure(make, quiet=True)
                for name in objects:
                    try:
                        make(name)
                    except BuildError as error:
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


def _defining(job: BuildJob, tree: Path, function: str) -> list[str]:
    """The object files whose sources in ``tree`` seem to define a function."""
    if not re.fullmatch(r"\w+", function):
        raise InputError(f"{function!r} is not a function's name: write one as C has it")
    call = re.sub(r"^__(?:x64|arm64|riscv|do|se)_sys_", "", function)
    definition = re.compile(
        rf"^(?:[A-Za-z_].*\W)?{function}\((?!.*;$)|SYM_(?:FUNC|CODE)_START\w*\({function}\)"
        + (rf"|SYSCALL_DEFINE[0-6]\({call}[,)]" if call != function else ""),
        re.MULTILINE,
    )
    words = ("grep", "-z", "-l", "-F", "-w", "-e", function, "-e", call)
    told = (Git(str(tree), tree).succeeds(*words) or b"").decode(errors="replace")
    others = re.compile(_OF_OTHERS.format(image_of(job.architecture).split("/")[1]))
    files = [
        name
        for name in told.split("\0")[:-1]
        if name.endswith((".c", ".S", ".h"))
        and not others.match(name)
        and definition.search(read(tree / name, _MAX_SOURCE).decode(errors="replace"))
    ]
    found = sorted(name.rpartition(".")[0] + ".o" for name in files if not name.endswith(".h"))
    if not found:
        why = f"no source of {job.prepared.described} defines {function}"
        if files:
            why = f"{files[0]} defines {function}, for others to inline"
        raise InputError(f"{why}: name an object that has its code, as in mm/mprotect.o:{function}")
    if len(found) > _MOST:
        raise InputError(
            f"{len(found)} sources seem to define {function}, {', '.join(found[:3])} among them: "
            f"name one: {found[0]}:{function}"
        )
    return found
