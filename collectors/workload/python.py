"""A Python workload: its interpreter with the standard library, and the modules beside the script.

The standard library travels as the archive that every interpreter looks into first
(``lib/python311.zip``, in sys.path since PEP 273), compiled so that a guest need not, and the
extension modules beside it.
"""

import ast
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import tell
from profdiff.collectors.messages import last_line, short
from profdiff.collectors.workload.elf_closure import read_elf
from profdiff.collectors.workload.files import GuestFiles

_NAME = re.compile(r"python(3(\.\d{1,2})?)?")
# Of the standard library, what no workload imports: tests, an editor, windows, other packages.
_WITHOUT = (
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data"),
    *("site-packages", "dist-packages", "__pycache__"),
)
_WITHOUT_EXTENSIONS = re.compile(r"_tkinter|_test|_ctypes_test|_xx|xx")
_MAX_LIBRARY = 128 << 20
_MAX_SOURCE = 4 << 20
_SECONDS = 120
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
# Compiled with no time in it, and hashes in a fixed order, so that the same gives the same.
_PACK = """\
import os, py_compile, sys, tempfile, zipfile
library, out, without = sys.argv[1], sys.argv[2], set(sys.argv[3].split(","))
with zipfile.ZipFile(out, "w") as packed, tempfile.TemporaryDirectory() as made:
    for place, folders, names in os.walk(library):
        folders[:] = sorted(f for f in folders if f not in without and f != "lib-dynload"
                            and not f.startswith("config-"))
        for name in sorted(names):
            if not name.endswith(".py"):
                continue
            path, done = os.path.join(place, name), os.path.join(made, "m.pyc")
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            try:
                py_compile.compile(path, done, path, doraise=True, invalidation_mode=mode)
            except Exception:
                continue
            member = zipfile.ZipInfo(os.path.relpath(path, library) + "c")
            with open(done, "rb") as file:
                packed.writestr(member, file.read())
"""


@dataclass(frozen=True)
class Python:
    """An interpreter of this machine. ``program``: without a virtual environment; ``archive``:
    where it looks for its packed standard library, ``library`` for the files; ``path``: sys.path;
    ``standard``: names of its own modules, empty if it does not say."""

    program: Path
    version: str
    archive: str
    library: Path
    path: Sequence[str]
    standard: frozenset[str]

    def add_to(self, files: GuestFiles) -> None:
        """The interpreter, what it links, and its standard library. Raises InputError."""
        elf = read_elf(self.program)
        if elf is None:
            raise InputError(f"{self.program} is no program: give COMMAND another Python")
        files.add(self.program, str(self.program), executable=True, is_code=True)
        files.add_closure(elf)
        archive = _packed(self)
        files.add(archive, self.archive, executable=False, is_code=False)
        # By this file an interpreter finds where its library is (Modules/getpath.py).
        landmark = self.library / "os.py"
        files.add(landmark, str(landmark), executable=False, is_code=False)
        for extension in sorted((self.library / "lib-dynload").glob("*.so")):
            if _WITHOUT_EXTENSIONS.match(extension.name):
                continue
            try:
                files.add_any(extension, str(extension))
            except InputError:
                # What it links is not here either: importing it fails here as there.
                files.by_path.pop(str(extension), None)
        size = sum(f.source.stat().st_size for f in files.by_path.values())
        tell(
            f"Python {self.version} travels into guests with its standard library "
            f"({size >> 20} MiB), without site-packages"
        )


def is_python(program: Path) -> bool:
    """Whether a program is called like an interpreter."""
    return _NAME.fullmatch(program.name) is not None


def find(program: Path) -> Python | None:
    """The interpreter that ``program`` starts, or None if it is named otherwise. Raises
    InputError when it does not answer."""
    if not is_python(program):
        return None
    command = [str(program), "-I", "-c", _ASK]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)
        told = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} does not work as a Python interpreter: {error}") from error
    if not told["zip"] or not Path(told["library"], "os.py").is_file():
        raise InputError(
            f"{program} has its standard library in no folder: use another Python for the workload"
        )
    return Python(
        Path(told["program"]).resolve(),
        told["version"],
        told["zip"],
        Path(told["library"]),
        told["path"],
        frozenset(told["standard"]),
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


def add_modules(python: Python, script: Path, guest_path: str, files: GuestFiles) -> None:
    """The modules beside a script that it imports, and theirs. Raises InputError for one that is
    not there, and in no standard library, when it starts."""
    beside = script.parent
    folder = os.path.dirname(guest_path)  # noqa: PTH120 - a path of the guest's
    pending, seen = [script], {script}
    while pending:
        for name, needed in _imports(pending.pop()):
            if not python.standard or name in python.standard or name.startswith("_"):
                continue
            module, package = beside / f"{name}.py", beside / name
            found = [module] if module.is_file() else sorted(package.rglob("*.py"))
            for path in found:
                if path not in seen:
                    seen.add(path)
                    pending.append(path)
                    files.add_any(path, f"{folder}/{path.relative_to(beside)}")
            at = (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py")
            given = any(path in files.by_path for path in at)
            given = given or any(path.startswith(f"{folder}/{name}.") for path in files.by_path)
            if needed and not found and not given:
                raise InputError(_missing(python, script, name))


def _missing(python: Python, script: Path, name: str) -> str:
    says = f"{script} imports {name}, which is not in Python's standard library"
    for place in python.path:
        for path in (Path(place, name), Path(place, f"{name}.py")):
            if path.exists():
                return f"{says}: add --file {path} (and what it imports itself)"
    return f"{says}, nor beside it, nor installed for {python.program}: install it, and use --file"


def _imports(source: Path) -> Iterator[tuple[str, bool]]:
    """The top-level names that a source imports; whether it does so unconditionally, when it
    starts. None of what Python cannot read: the interpreter says what is wrong with it."""
    try:
        if source.stat().st_size > _MAX_SOURCE:
            return
        tree = ast.parse(source.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    first = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        needed = id(node) in first
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], needed
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0], needed


def _packed(python: Python) -> Path:
    """The standard library as an archive, made once for each of its states."""
    state = hashlib.sha256(f"{python.program} {python.version} {_PACK}".encode())
    size = 0
    for path in sorted(python.library.rglob("*.py")):
        status = path.stat()
        if set(path.relative_to(python.library).parts).isdisjoint(_WITHOUT):
            size += status.st_size
            state.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    if size > _MAX_LIBRARY:
        raise InputError(f"{python.library} is too large to travel into guests: use another Python")
    archive = cache_folder("python") / f"{python.version}-{state.hexdigest()[:16]}.zip"
    if archive.exists():
        return archive
    tell(f"Python {python.version}: packing its standard library for guests, once")
    with temporary_folder(beside=archive) as folder:
        made = folder / archive.name
        command = [str(python.program), "-sS", "-c", _PACK, str(python.library), str(made)]
        done = subprocess.run(
            [*command, ",".join(_WITHOUT)],
            cwd=folder,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": "0"},
            capture_output=True,
            check=False,
        )
        if done.returncode != 0 or not made.is_file():
            why = last_line(done.stderr) or short(str(done.returncode))
            raise InputError(f"cannot pack the standard library of {python.program}: {why}")
        made.replace(archive)
    return archive
