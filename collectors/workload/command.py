"""The program that COMMAND names: which file it is, and where it lies in the guest."""

import re
import shutil
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.workload.files import GuestFiles
from profdiff.collectors.workload.places import GUEST_FOLDER, OWN

# Where a guest's own scripts find their programs, which are busybox.
_BUSYBOX = re.compile("/s?bin/")


def find_command(command: str, files: GuestFiles) -> tuple[Path, str]:
    """The file that a command names, and its path in the guest: a program of a root folder keeps
    its own where it replaces none of the guest's. Raises InputError."""
    path, sysroot = Path(command), files.sysroot
    place = None
    if "/" not in command and not path.is_file():
        place = which(command, files)
        if place is None:
            where = f"no command in {sysroot.path}" if sysroot else "not on PATH"
            raise InputError(f"no such workload: {command} (not a file here, and {where})")
        path = path if sysroot else Path(place)
    elif sysroot:
        place = sysroot.holds(path) or (command if command.startswith("/") else None)
    if sysroot and place and (source := sysroot.find(place)):
        own = OWN.match(place) or _BUSYBOX.match(place)
        return source, f"{GUEST_FOLDER}/{Path(place).name}" if own else place
    if not path.exists():
        raise InputError(f"no such workload: {command}")
    if not path.is_file():
        raise InputError(f"the workload {command} is not a file")
    return path, f"{GUEST_FOLDER}/{path.name}"


def which(name: str, files: GuestFiles) -> str | None:
    """The path in the guest of the command ``name``, which has no slash."""
    return files.sysroot.which(name) if files.sysroot else shutil.which(name)
