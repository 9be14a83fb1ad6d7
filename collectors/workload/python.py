"""A Python workload: its interpreter with the standard library, and the modules beside the script.

The standard library travels as the archive that every interpreter looks into first
(``lib/python311.zip``, in sys.path since PEP 273), compiled so that a guest need not, and the
extension modules beside it.

A Python's standard library as one archive, compiled so that a guest need not.

The modules beside a Python script that it imports, which travel into guests with it.
"""

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import last_line, tell
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.files import GuestFiles
from profdiff.collectors.workload.root import THIS_MACHINE, Root

# Parts of the standard library that no workload imports: tests, an editor, windows, other packages;
# and what is not part of the archive.
_WITHOUT = {
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data"),
    *("site-packages", "dist-packages", "__pycache__", "lib-dynload"),
}
_MAX_LIBRARY, _MAX_FILES = 128 << 20, 20_000
_LIBRARY_SECONDS, _ANSWER = 900, 60
# Compiled with no time in it, and hashes in a fixed order, so that the same gives the same.
_PACK = """\
import json, os, py_compile, resource, sys, tempfile, zipfile
try:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
except ValueError:
    pass  # Less is allowed anyway.
with zipfile.ZipFile(sys.argv[1], "w") as packed, tempfile.TemporaryDirectory() as made:
    for name, place, path in json.load(sys.stdin):
        done = os.path.join(made, "m.pyc")
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        try:
            py_compile.compile(path, done, place, doraise=True, invalidation_mode=mode)
        except Exception:
            continue
        member = zipfile.ZipInfo(name + "c")
        with open(done, "rb") as file:
            packed.writestr(member, file.read())
"""


def packed(root: Root, program: str, version: str, library: str) -> Path:
    """The archive of the folder ``library`` of the interpreter ``program``, made once for each
    state of the folder. Raises InputError."""
    compiler = _compiler(root, program, version)
    state = hashlib.sha256(f"{compiler} {root.path} {program} {version} {_PACK}".encode())
    sources, size = [], 0
    for name, path in _sources(root, library):
        status = path.stat()
        size += status.st_size
        state.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
        sources.append((name, f"{library}/{name}", str(path)))
    if size > _MAX_LIBRARY or len(sources) > _MAX_FILES:
        raise InputError(
            f"{root.told(library)} is too large to travel into guests: use another Python"
        )
    archive = cache_folder("python") / f"{version}-{state.hexdigest()[:16]}.zip"
    if archive.exists():
        return archive
    tell(f"Python {version}: packing its standard library for guests, once")
    with temporary_folder(beside=archive) as folder:
        made = folder / archive.name
        if compiler:
            _compile(compiler, sources, made, program)
        else:
            tell(
                f"Python {version} is not installed here, so its library travels uncompiled and "
                "guests compile what they import: install it to count less"
            )
            with zipfile.ZipFile(made, "w") as file:
                for name, _, source in sources:
                    file.writestr(zipfile.ZipInfo(name), Path(source).read_bytes())
        made.replace(archive)
    return archive


def _compiler(root: Root, program: str, version: str) -> str | None:
    """An interpreter that runs here and compiles for ``program``: the format depends on the version
    alone (PEP 3147)."""
    if root.is_here:
        return program
    if sys.executable and version == f"{sys.version_info.major}.{sys.version_info.minor}":
        return sys.executable
    found = shutil.which(f"python{version}")
    return found if found and _version(found) == version else None


def _version(program: str) -> str | None:
    """What a Python here says; None if it does not run, as a version manager's may not."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    try:
        command = [program, "-ISc", ask]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_ANSWER)
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _compile(compiler: str, sources: list[tuple[str, str, str]], made: Path, program: str) -> None:
    try:
        done = subprocess.run(
            [compiler, "-sS", "-c", _PACK, str(made)],
            cwd=made.parent,
            env={"PATH": os.environ.get("PATH", ""), "PYTHONHASHSEED": "0"},
            input=json.dumps(sources).encode(),
            capture_output=True,
            check=False,
            timeout=_LIBRARY_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"cannot pack the standard library of {program}: {error}") from error
    if done.returncode != 0 or not made.is_file():
        why = last_line(done.stderr) or f"exit status {done.returncode}"
        raise InputError(f"cannot pack the standard library of {program}: {why}")


def _sources(root: Root, library: str) -> list[tuple[str, Path]]:
    """The modules below a folder by their names in it, in a fixed order, and their files."""
    top = root.folder(library)
    found: list[tuple[str, Path]] = []
    for place, folders, names in os.walk(top) if top else ():
        folders[:] = sorted(f for f in folders if f not in _WITHOUT and not f.startswith("config-"))
        inside = os.path.relpath(place, top)
        for name in sorted(names):
            module = os.path.normpath(os.path.join(inside, name))  # noqa: PTH118
            path = root.find(f"{library}/{module}") if name.endswith(".py") else None
            if path:
                found.append((module, path))
        if len(found) > _MAX_FILES:
            break
    return found


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


_MAX_SOURCE = 4 << 20


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
    for folder in python.path:
        for place in (f"{folder}/{name}", f"{folder}/{name}.py"):
            if python.root.folder(place) or python.root.find(place):
                path = python.root.told(place)
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
