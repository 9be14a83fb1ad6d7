"""A Python's standard library as one archive, compiled so that a guest need not."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError
from profdiff.base.temporary import temporary_folder
from profdiff.base.terminal import tell
from profdiff.collectors.messages import last_line
from profdiff.collectors.workload.root import Root

# Parts of the standard library that no workload imports: tests, an editor, windows, other packages;
# and what is not part of the archive.
_WITHOUT = {
    *("test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data"),
    *("site-packages", "dist-packages", "__pycache__", "lib-dynload"),
}
_MAX_LIBRARY, _MAX_FILES = 128 << 20, 20_000
_SECONDS, _ANSWER = 900, 60
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
            timeout=_SECONDS,
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
