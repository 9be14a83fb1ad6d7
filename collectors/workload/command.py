"""The program that COMMAND names: which file it is, and where it lies in the guest.

The commands that a shell script calls, as far as reading tells: which of them a guest lacks.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Collection, Iterator
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.base.names import meant_file
from profdiff.collectors.programs import package_of
from profdiff.collectors.workload.files import GuestFiles
from profdiff.collectors.workload.root import GUEST_FOLDER, OWN

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


_SHELL = re.compile(r"#!\s*(?:\S*/env\s+)?\S*?\b(?:ba|da|a|k)?sh\b|#!\s*\S*busybox")
_MAX_SCRIPT = 1 << 20
# POSIX.1-2024, Shell Command Language, 2.4 and 2.15; bash(1), SHELL BUILTIN COMMANDS.
_RESERVED = """
    . : [ [[ alias bg break builtin case cd command continue coproc declare dirs disown do done
    echo elif else enable esac eval exec exit export false fc fg fi for function getopts hash help
    history if in jobs kill let local logout mapfile popd printf pushd pwd read readarray readonly
    return select set shift shopt source suspend test then time times trap true type typeset ulimit
    umask unalias unset until wait while { } !
"""
_OF_THE_SHELL = frozenset(_RESERVED.split())
# What comes before a command on its line.
_BEFORE = re.compile(r"(?:then|do|else|elif|if|while|until|time|exec|sudo|nice|command|!|\{)\s+")
_PARTS = re.compile(r"&&|\|\||[;|&`]|\$\(|\(")
_WORD = re.compile(r"(?:[A-Za-z_]\w*=\S*\s+)*([A-Za-z0-9_][A-Za-z0-9_.+-]*)(?=\s|$|\))")
_FUNCTION = re.compile(r"^\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*(?:\(\s*\)|(?<=\s)\{)", re.M)
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")


def lacking(script: Path, known: Collection[str]) -> list[str]:
    """The programs of this machine that a shell script calls by a bare name and that are neither
    the shell's own, nor busybox's, nor ``known``; in their order. What cannot be read has none."""
    try:
        with script.open(encoding="utf-8", errors="replace") as file:
            text = file.read(_MAX_SCRIPT)
    except OSError:
        return []
    if not _SHELL.match(text):
        return []
    here = {*known, *_OF_THE_SHELL, *_FUNCTION.findall(text)}
    called = [name for name in dict.fromkeys(_called(text)) if name not in here]
    if not called:
        return []
    applets = _applets()
    return [name for name in called if name not in applets and shutil.which(name)]


def _called(text: str) -> Iterator[str]:
    """Words where a command begins."""
    end = ""
    for line in text.replace("\\\n", " ").splitlines():
        if end:
            end = "" if line.strip() == end else end
            continue
        plain = re.sub(r"'[^']*'", "''", line)
        plain = re.sub(r"(?:^|\s)#.*", "", plain)
        for part in _PARTS.split(plain):
            found = part.strip().strip('"')
            while before := _BEFORE.match(found):
                found = found[before.end() :]
            if word := _WORD.match(found):
                yield word[1]
        if here := _HEREDOC.search(plain):
            end = here[2]


def _applets() -> frozenset[str]:
    """What busybox is called for; all that this machine's knows, empty where there is none."""
    busybox = shutil.which("busybox")
    if busybox is None:
        return frozenset()
    listed = subprocess.run([busybox, "--list"], stdout=subprocess.PIPE, text=True, check=False)
    return frozenset(listed.stdout.split())
