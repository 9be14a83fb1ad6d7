"""Debian packages of a kernel, unpacked without being installed: only what a recording needs."""

import fcntl
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from profdiff.cache import cache_folder
from profdiff.collectors.programs import find_program
from profdiff.errors import InputError, MissingError

# tar's wildcards, where * also matches a slash. vmlinux in -dbg packages lies in two places: a file
# in one, a link in the other; since 6.19 image and configuration are below /usr/lib/modules.
_WANTED = [
    "./boot/vmlinuz-*",
    "./boot/config-*",
    "./usr/lib/modules/*/vmlinuz",
    "./usr/lib/modules/*/vmlinuz.unsigned",
    "./usr/lib/modules/*/config",
    "./lib/modules/*.ko*",
    "./usr/lib/modules/*.ko*",
    "./usr/lib/debug/boot/vmlinux-*",
    "./usr/lib/debug/lib/modules/*/vmlinux",
]


def unpack_kernel(packages: Sequence[Path]) -> Path:
    """The folder in the cache with what ``packages`` hold of a kernel; unpacked if it is not there.

    Raises InputError when one of them is no package, MissingError without dpkg-deb or room.
    """
    digest = hashlib.sha256()
    for package in packages:
        try:
            status = package.stat()
        except OSError as error:
            raise InputError(f"{package}: {error.strerror}") from error
        digest.update(f"{package.resolve()}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
    return unpack_into(f"debs-{digest.hexdigest()[:16]}", packages)


def unpack_into(name: str, packages: Sequence[Path]) -> Path:
    """Unpack ``packages`` to the kernel folder ``name`` of the cache, whole or not at all.

    Raises as ``unpack_kernel``.
    """
    target = cache_folder("kernels") / name
    with (target.parent / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.is_dir():
            return target
        temporary = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{name}."))
        try:
            for package in packages:
                _unpack(package, temporary)
            temporary.chmod(0o755)
            temporary.rename(target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    return target


def _unpack(package: Path, folder: Path) -> None:
    """tar refuses members that lead out of ``folder``, and follows no link that it made."""
    dpkg = subprocess.Popen(
        [find_program("dpkg-deb"), "--fsys-tarfile", str(package)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    command = [str(find_program("tar")), "-x", "-C", str(folder), "--no-same-owner"]
    command += ["--no-same-permissions", "--exclude=*/build", "--exclude=*/source"]
    tar = subprocess.run(
        [*command, "--wildcards", *_WANTED], stdin=dpkg.stdout, capture_output=True, check=False
    )
    if dpkg.stdout:
        dpkg.stdout.close()
    errors = (dpkg.stderr.read() if dpkg.stderr else b"").decode(errors="replace")
    if dpkg.stderr:
        dpkg.stderr.close()
    status = dpkg.wait()
    # tar ends with 2 for each pattern that matched nothing, as most do in any one package.
    problems = [
        line
        for line in tar.stderr.decode(errors="replace").splitlines()
        if not re.search(r"Not found in archive|Exiting with failure status|Removing leading", line)
    ]
    if any("No space left" in line for line in problems):
        raise MissingError(f"no room in {folder.parent} to unpack {package.name}: make some")
    if status not in (0, -13) or problems:
        reason = (errors.strip().splitlines() or problems or ["damaged"])[0]
        raise InputError(f"{package} cannot be unpacked: {reason}")
