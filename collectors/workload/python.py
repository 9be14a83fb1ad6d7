"""A Python workload: its interpreter with the standard library, and the modules beside the script.

The standard library travels as the archive that every interpreter looks into first
(``lib/python311.zip``, in sys.path since PEP 273), compiled so that a guest need not, and the
extension modules beside it.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.base.terminal import tell
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.files import GuestFiles
from profdiff.collectors.workload.python_library import packed
from profdiff.collectors.workload.root import THIS_MACHINE, Root

_NAME = re.compile(r"python(3(\.\d{1,2})?)?")
_WITHOUT_EXTENSIONS = re.compile(r"_tkinter|_test|_ctypes_test|_xx|xx")
_SECONDS, _MAX_EXTENSIONS = 120, 1_000
_ASK = """\
import json, sys, sysconfig
base = getattr(sys, "_base_executable", "") or sys.executable
zips = [p for p in sys.path if p.endswith(".zip")]
print(json.dumps({
    "program": base, "version": "%d.%d" % sys.version_info[:2], "zip": (zips or [""])[0],
    "library": sysconfig.get_path("stdlib"), "path": sys.path,
    "standard": sorted(getattr(sys, "stdlib_module_names", ())),
}))
"""


@dataclass(frozen=True)
class Python:
    """An interpreter in a root folder; its paths are those there. ``program``: without a virtual
    environment; ``archive``: where it looks for its packed standard library, ``library`` for the
    files; ``path``: sys.path; ``standard``: names of its own modules, empty if it does not say."""

    root: Root
    program: str
    version: str
    archive: str
    library: str
    path: Sequence[str]
    standard: frozenset[str]

    def add_to(self, files: GuestFiles) -> None:
        """The interpreter, what it links, and its standard library. Raises InputError."""
        source = self.root.find(self.program)
        elf = read_elf(source) if source else None
        if source is None or elf is None:
            raise InputError(
                f"{self.program} is not an ELF program, so guests cannot execute it: use another "
                "Python for the workload"
            )
        files.add(source, self.program, executable=True, is_code=True)
        files.add_closure(elf, self.program)
        archive = packed(self.root, self.program, self.version, self.library)
        files.add(archive, self.archive, executable=False, is_code=False)
        # By this file an interpreter finds where its library is (Modules/getpath.py).
        landmark = f"{self.library}/os.py"
        if source := self.root.find(landmark):
            files.add(source, landmark, executable=False, is_code=False)
        folder = f"{self.library}/lib-dynload"
        place = self.root.folder(folder)
        for extension in sorted(place.glob("*.so"))[:_MAX_EXTENSIONS] if place else ():
            if _WITHOUT_EXTENSIONS.match(extension.name):
                continue
            guest_path = f"{folder}/{extension.name}"
            try:
                files.add_any(extension, guest_path)
            except InputError:
                # What it links is not here either: importing it fails here as there.
                files.by_path.pop(guest_path, None)
        size = sum(f.source.stat().st_size for f in files.by_path.values())
        tell(
            f"Python {self.version} travels into guests with its standard library "
            f"({size >> 20} MiB), without site-packages"
        )


def is_python(program: Path) -> bool:
    """Whether a program is called like an interpreter."""
    return _NAME.fullmatch(program.name) is not None


def find(program: Path, guest_path: str, files: GuestFiles) -> Python | None:
    """The interpreter that ``program`` starts, which is ``guest_path`` in its root folder; None if
    it is named otherwise. Raises InputError when it does not answer."""
    if not is_python(program):
        return None
    if files.sysroot and files.sysroot.holds(program):
        return _inside(files.sysroot, program, guest_path)
    if not files.architecture.is_host:
        told, arch = files.architecture.told, files.architecture.arch
        raise InputError(
            f"{program} is not for {told}: give --sysroot {arch}=DIR, a root folder for {told} "
            "with python3 and its standard library"
        )
    return _asked(program)


def _asked(program: Path) -> Python:
    command = [str(program), "-I", "-c", _ASK]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)
        told = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} does not work as a Python interpreter: {error}") from error
    if not told["zip"] or not Path(told["library"], "os.py").is_file():
        raise InputError(
            f"{program} has no folder with its standard library, which guests need: use another "
            "Python for the workload"
        )
    return Python(
        THIS_MACHINE,
        str(Path(told["program"]).resolve()),
        told["version"],
        told["zip"],
        told["library"],
        told["path"],
        frozenset(told["standard"]),
    )


def _inside(root: Root, program: Path, guest_path: str) -> Python:
    """An interpreter that cannot be asked: where it looks follows from where it is."""
    place = root.holds(program) or guest_path
    match = re.fullmatch(r"(.*)/[^/]+/python(3\.\d{1,2})", place)
    if not match:
        raise InputError(
            f"the name of {program} does not tell its version: use the python3.N of {root.path}"
        )
    prefix, version = match.groups()
    for folder in (f"{prefix}/lib", f"{prefix}/lib64"):
        library = f"{folder}/python{version}"
        modules = root.folder(library)
        if not modules or not root.find(f"{library}/os.py"):
            continue
        path = [library, f"{library}/site-packages", f"{prefix}/lib/python3/dist-packages"]
        archive = f"{folder}/python{version.replace('.', '')}.zip"
        names = (entry.name.partition(".")[0] for entry in modules.iterdir())
        standard = sys.stdlib_module_names.union(names)
        return Python(root, place, version, archive, library, path, standard)
    missing = root.told(f"{prefix}/lib/python{version}/os.py")
    raise InputError(
        f"{program} has no standard library ({missing} is missing): install it in {root.path}"
    )


def script_of(arguments: Sequence[str]) -> Path | None:
    """The script that the arguments of an interpreter name, whether it is there or not; None for
    -c, -m, and standard input. Options are those of Python/getopt.c in CPython."""
    words = iter(arguments)
    for word in words:
        if word == "-":
            return None
        if not word.startswith("-"):
            return Path(word)
        if word == "--check-hash-based-pycs":
            next(words, None)
        if word.startswith("--"):
            continue
        for at, option in enumerate(word[1:], 2):
            if option in "cm":
                return None
            if option in "WX":
                if at == len(word):
                    next(words, None)
                break
    return None
