"""The program that COMMAND names: which file it is, and where it lies in the guest."""

import re
import shlex
import shutil
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.base.names import meant_file
from profdiff.collectors.programs import package_of
from profdiff.collectors.workload.files import GuestFiles
from profdiff.collectors.workload.places import GUEST_FOLDER, OWN

# Words of a shell that are no programs.
_BUILTIN = {"cd", "export", "source", ".", "for", "if", "while", "ulimit", "exec", "eval", "set"}
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
            raise InputError(
                f"no such workload: {command} (not a file here, and {where}){_meant(command)}"
            )
        path = path if sysroot else Path(place)
    elif sysroot:
        place = sysroot.holds(path) or (command if command.startswith("/") else None)
    if sysroot and place and (source := sysroot.find(place)):
        own = OWN.match(place) or _BUSYBOX.match(place)
        return source, f"{GUEST_FOLDER}/{Path(place).name}" if own else place
    if not path.exists():
        raise InputError(f"no such workload: {command}{_meant(command)}")
    if not path.is_file():
        raise InputError(f"the workload {command} is not a file: name a program or a source file")
    return path, f"{GUEST_FOLDER}/{path.name}"


def _meant(command: str) -> str:
    """What to do about a workload that is not there, as a clause; "" if nobody can tell."""
    path = Path(command)
    words = command.split()
    if not words:
        return ": the first word of COMMAND is empty"
    if len(words) > 1 or re.search(r"[|;&<>]", command):
        if re.search(r"[|;&<>]", command):
            return f": a shell reads this: write sh -c {shlex.quote(command)}"
        return f": it is one word: write {command} without quotes"
    if command.startswith(("~", "$")):
        return ": no shell has read this: write it without quotes"
    if re.match(r"[A-Za-z_]\w*=", command):
        return f": write env {command} and the program"
    if command in _BUILTIN:
        return f": a shell does that itself: write sh -c '{command} ...'"
    if package := package_of(path.name):
        return f": {package}"
    try:
        if meant := meant_file(path):
            return f": {meant}"
    except OSError:
        return f": there is no folder {path.parent}"
    return "" if "/" in command else ": name its file, or install its package"


def which(name: str, files: GuestFiles) -> str | None:
    """The path in the guest of the command ``name``, which has no slash."""
    return files.sysroot.which(name) if files.sysroot else shutil.which(name)
