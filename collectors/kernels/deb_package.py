"""Debian packages, unpacked without being installed: only what a recording needs."""

import contextlib
import fcntl
import hashlib
import os
import re
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from profdiff.base.atomic import make_folder
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.programs import find_program

# tar's wildcards, where * also matches a slash. The image is vmlinuz, riscv64's vmlinux; since 6.19
# image and configuration are below /usr/lib/modules. vmlinux in -dbg packages lies in two places: a
# file in one, a link in the other.
KERNEL_FILES = [
    "./boot/vmlinuz-*",
    "./boot/vmlinux-*",
    "./boot/config-*",
    "./usr/lib/modules/*/vmlinuz",
    "./usr/lib/modules/*/vmlinuz.unsigned",
    "./usr/lib/modules/*/config",
    "./lib/modules/*.ko*",
    "./usr/lib/modules/*.ko*",
    "./usr/lib/debug/boot/vmlinux-*",
    "./usr/lib/debug/lib/modules/*/vmlinux",
]
# All that is wanted of a package with a kernel's debug symbols. Until 6.18 Debian has it before
# those of the modules, which are twice as much, and tar reads no further: damage behind it is not
# noticed. It is no link: dpkg-deb puts those last (build.c: "symlinks will not appear before their
# target").
_DEBUG_ELF = ["--occurrence=1", "./usr/lib/debug/*/vmlinux*"]
_DEBUG = re.compile(r"linux-.*-dbg_.*\.deb")
_IMAGE = re.compile(r"linux-(image|binary)-.*(?<!-dbg)")
# Bytes that a package may hold. Four times the largest that Debian has: linux-image-7.2.12+deb13-
# amd64-dbg, whose Installed-Size is 7.9 million KiB.
_MAX_BYTES = 32 << 30


def check_packages(packages: Sequence[Path]) -> None:
    """Check what can be told of a kernel's packages without unpacking them. Raises InputError for
    one that is none or given twice, or where none is a kernel image; MissingError without dpkg-deb.
    """
    program = find_program("dpkg-deb")
    names: list[str] = []
    for number, package in enumerate(packages):
        if not package.is_file():
            raise InputError(f"{package} is not a file")
        if any(package.samefile(other) for other in packages[:number]):
            raise InputError(f"{package} is given twice")
        command = [str(program), "--field", str(package), "Package"]
        told = subprocess.run(command, capture_output=True, text=True, check=False)
        if told.returncode:
            raise InputError(f"{package} is not a Debian package")
        names.append(told.stdout.strip())
    images = [name for name in names if _IMAGE.fullmatch(name)]
    if not images:
        raise InputError(
            f"no kernel image is in {', '.join(names)}: add linux-image-*.deb, since 6.19 "
            "linux-binary-*.deb"
        )


def unpack_kernel(packages: Sequence[Path]) -> Path:
    """The folder in the cache with what ``packages`` hold of a kernel; unpacked if it is not there.

    Raises InputError when one of them is not a package, MissingError without dpkg-deb or room.
    """
    digest = hashlib.sha256()
    for package in packages:
        try:
            status = package.stat()
        except OSError as error:
            raise InputError(f"{package}: {error.strerror}") from error
        digest.update(f"{package.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    target = cache_folder("kernels") / f"debs-{digest.hexdigest()[:16]}"
    return unpack_into(target, packages, KERNEL_FILES)


def unpack_into(target: Path, packages: Sequence[Path], wanted: Sequence[str]) -> Path:
    """Unpack what matches ``wanted`` (tar's wildcards) of ``packages`` to the folder ``target``,
    whole or not at all.

    Raises what ``unpack_kernel`` does.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_name(f".{target.name}.lock")):
        if not target.is_dir():
            with make_folder(target) as folder:
                for package in packages:
                    _unpack_part(package, folder, wanted)
                    _check(package, folder)
    return target


@contextlib.contextmanager
def locked(path: Path, *, shared: bool = False) -> Iterator[None]:
    """Hold the lock file ``path`` against other processes, if ``shared`` only against those that do
    not share it; waits for it. Raises OSError."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        yield


def _unpack_part(package: Path, folder: Path, wanted: Sequence[str]) -> None:
    if wanted is KERNEL_FILES and _DEBUG.fullmatch(package.name):
        _unpack(package, folder, _DEBUG_ELF)
        if any(path.is_file() for path in folder.glob("usr/lib/debug/**/vmlinux*")):
            return
        # Something else than dpkg-deb made it, and put a link first.
    _unpack(package, folder, wanted)


def _unpack(package: Path, folder: Path, wanted: Sequence[str]) -> None:
    """tar refuses members that lead out of ``folder``, and follows no link that it made."""
    # Messages are read below, so they are asked for in English.
    environment = {**os.environ, "LC_ALL": "C"}
    program = find_program("dpkg-deb")
    command = [str(find_program("tar")), "-x", "-C", str(folder), "--no-same-owner"]
    command += ["--no-same-permissions", "--exclude=*/build", "--exclude=*/source"]
    with tempfile.TemporaryFile() as dpkg_errors, tempfile.TemporaryFile() as tar_errors:
        dpkg = subprocess.Popen(
            [str(program), "--fsys-tarfile", str(package)],
            stdout=subprocess.PIPE,
            stderr=dpkg_errors,
            env=environment,
        )
        tar = subprocess.Popen(
            [*command, "--wildcards", *wanted],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=tar_errors,
            env=environment,
        )
        try:
            assert dpkg.stdout  # noqa: S101 - both are pipes
            assert tar.stdin  # noqa: S101
            within, whole = _pass_on(dpkg.stdout, tar.stdin)
        finally:
            for process in (dpkg, tar):
                for pipe in (process.stdout, process.stdin):
                    # tar may have ended before it read all that is buffered here.
                    with contextlib.suppress(BrokenPipeError):
                        if pipe:
                            pipe.close()
        ends = [tar.wait(), dpkg.wait()]
        # Where tar has all that it wants, nobody reads what dpkg-deb writes, which ends by that.
        # tar itself ends with 2 where a pattern matched nothing: its messages tell the rest.
        failed = ends[0] < 0 or (whole and ends[1] != 0)
        errors, messages = _lines(dpkg_errors), _lines(tar_errors)
    if not within:
        limit = _MAX_BYTES >> 30
        raise InputError(f"{package} holds more than {limit} GiB: no kernel is that large")
    # tar ends with 2 for each pattern that matched nothing, as most do in any one package.
    problems = [
        line
        for line in messages
        if not re.search(r"Not found in archive|Exiting with failure status|Removing leading", line)
    ]
    if any("No space left" in line for line in problems):
        raise MissingError(f"no room in {folder.parent} to unpack {package.name}: free some space")
    if failed or problems:
        raise InputError(f"{package} cannot be unpacked: {(errors or problems or ['damaged'])[0]}")


def _pass_on(source: IO[bytes], sink: IO[bytes]) -> tuple[bool, bool]:
    """Copy ``source`` to ``sink`` until either ends: whether that was no more than a package may
    hold, and whether all of it was taken."""
    left = _MAX_BYTES
    while chunk := source.read(1 << 20):
        left -= len(chunk)
        if left < 0:
            return False, False
        try:
            sink.write(chunk)
        except BrokenPipeError:
            return True, False
    return True, True


def _lines(file: IO[bytes]) -> list[str]:
    file.seek(0)
    return file.read().decode(errors="replace").splitlines()


def _check(package: Path, folder: Path) -> None:
    """Nothing but folders, files, and links that stay below ``folder``.

    A link out of it would make a file of this machine the kernel, a named pipe would block whoever
    opens it. Raises InputError.
    """
    root = os.path.realpath(folder)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                if os.path.commonpath([root, os.path.realpath(path)]) != root:
                    raise InputError(f"{package} is unsafe: {name} is a link out of the package")
            elif not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
                raise InputError(f"{package} is unsafe: {name} is neither file nor folder nor link")
