"""The guest's initial file system, a cpio archive: busybox, agent, the workload's files.

Programs for guests of another architecture: Debian's, unpacked.
"""

import contextlib
import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

from profdiff.base.atomic import open_atomic
from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest.agent import AGENT
from profdiff.collectors.kernels.apt import Apt
from profdiff.collectors.programs import find_program
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.files import GuestFile, sha256

AGENT_GUEST_PATH = "/profdiff/agent"
BUSYBOX_GUEST_PATH = "/bin/busybox"
# What the guest's own parts occupy; a workload cannot put its files there.
_OWN = ("/init", "/profdiff", BUSYBOX_GUEST_PATH)


def guest_resources() -> Path:
    """The folder with init.sh, agent.c and profdiff.h."""
    return Path(str(resources.files("profdiff.collectors.guest")))


def static_busybox() -> Path:
    """A statically linked busybox. Raises MissingError."""
    busybox = find_program("busybox")
    status = busybox.stat()
    if not _is_static(busybox, status.st_ino, status.st_size, status.st_mtime_ns):
        raise MissingError(
            f"{busybox} is dynamically linked, the guest needs a static one: "
            "apt-get install busybox-static"
        )
    return busybox


@cache
def _is_static(program: Path, *_: int) -> bool:
    elf = read_elf(program)
    return not (elf and (elf.interpreter or elf.needed))


def own_files(architecture: Architecture) -> list[GuestFile]:
    """The guest's own programs, whose instructions may be part of a window over a whole command."""
    busybox = static_busybox() if architecture.is_host else foreign_busybox(architecture)
    programs = {BUSYBOX_GUEST_PATH: busybox, AGENT_GUEST_PATH: AGENT.find(architecture)}
    return [
        GuestFile(program, path, executable=True, is_code=True)
        for path, program in programs.items()
    ]


def build(
    path: Path,
    files: Iterable[GuestFile],
    own: Mapping[str, bytes],
    settle: float,
    architecture: Architecture,
) -> None:
    """Write the archive to ``path``; the same input gives the same bytes.

    ``own`` is what lies beside the agent, by name: collector.sh with what it needs, argv; with
    ``observe`` the workload runs once more under the agent's eyes. Raises InputError for files that
    cannot be placed, MissingError without cpio, OSError.
    """
    cpio = find_program("cpio")
    own = _beside_agent(own, settle, architecture)
    with tempfile.TemporaryDirectory(dir=path.parent) as temporary:
        root = Path(temporary)
        for name in ("work", "profdiff", "bin"):
            (root / name).mkdir()
        shutil.copyfile(guest_resources() / "init.sh", root / "init")
        (root / "init").chmod(0o755)
        for name, data in own.items():
            (root / "profdiff" / name).write_bytes(data)
        for file in own_files(architecture):
            _place(root, file)
        for file in files:
            refuse_own(file)
            _place(root, file)
        _write_archive(cpio, root, path)


def digest(
    files: Iterable[GuestFile],
    own: Mapping[str, bytes],
    settle: float,
    architecture: Architecture,
) -> str:
    """What tells one archive from another, which need not be built for it: a hash of all that
    ``build`` puts into it. Raises MissingError, OSError."""
    told = hashlib.sha256((guest_resources() / "init.sh").read_bytes())
    for name, data in sorted(_beside_agent(own, settle, architecture).items()):
        told.update(f"{name} {len(data)}\n".encode() + data)
    for file in [*own_files(architecture), *sorted(files, key=lambda one: one.guest_path)]:
        told.update(f"{file.guest_path} {file.executable} {content_of(file.source)}\n".encode())
    return told.hexdigest()


def refuse_own(file: GuestFile) -> None:
    """Raises InputError for what would take the place of the guest's own parts."""
    if file.guest_path.startswith(_OWN):
        raise InputError(f"{file.guest_path} is profdiff's own in the guest")


def content_of(path: Path) -> str:
    """The hash of a file, read again only when it has changed. Raises OSError."""
    status = path.stat()
    return _content_at(path, status.st_ino, status.st_size, status.st_mtime_ns)


@cache
def _content_at(path: Path, *_: int) -> str:
    return sha256(path)


def _beside_agent(
    own: Mapping[str, bytes], settle: float, architecture: Architecture
) -> dict[str, bytes]:
    return {
        **own,
        "settle": f"{settle}\n".encode(),
        "channel": f"{architecture.channel}\n".encode(),
        "facts.sh": (guest_resources() / "facts.sh").read_bytes(),
    }


def nul_separated(arguments: Iterable[str]) -> bytes:
    """Arguments for ``xargs -0`` and the agent: each ended by a NUL. Raises InputError when one of
    them holds one, as only text from a file can."""
    encoded = [os.fsencode(argument) for argument in arguments]
    if hostile := next((argument for argument in encoded if b"\0" in argument), None):
        raise InputError(f"no program can be given the argument {hostile!r}: it holds a NUL")
    return b"".join(argument + b"\0" for argument in encoded)


def _place(root: Path, file: GuestFile) -> None:
    target = root / file.guest_path.lstrip("/")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.source, target)
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise InputError(f"{file.guest_path} is a folder and a file in the guest") from error
    target.chmod(0o755 if file.executable else 0o644)


def _write_archive(cpio: Path, root: Path, path: Path) -> None:
    names = sorted(str(member.relative_to(root)) for member in root.rglob("*"))
    for name in [*names, "."]:
        os.utime(root / name, (0, 0))
    listing = b"".join(os.fsencode(name) + b"\0" for name in names)
    command = [str(cpio), "-o", "-0", "-H", "newc", "-R", "0:0", "--quiet", "--reproducible"]
    result = subprocess.run(command, cwd=root, input=listing, capture_output=True, check=False)
    if result.returncode != 0:
        raise MissingError(f"cpio failed: {result.stderr.decode(errors='replace').strip()}")
    with open_atomic(path) as file:
        file.write(gzip.compress(result.stdout, compresslevel=1, mtime=0))


def foreign_busybox(architecture: Architecture) -> Path:
    """A static busybox for an architecture. Raises MissingError."""
    files = ("./bin/busybox", "./usr/bin/busybox")
    root = _unpacked("busybox-static", _busybox(architecture), files, architecture)
    for name in ("usr/bin/busybox", "bin/busybox"):
        if (root / name).is_file():
            return root / name
    raise MissingError(f"Debian's busybox-static for {architecture.debian} holds no busybox")


def has_busybox(architecture: Architecture) -> bool:
    """Whether it is unpacked already."""
    return _busybox(architecture).is_dir()


def foreign_perf(architecture: Architecture) -> Path:
    """A root folder with perf for an architecture, and what it needs. Raises MissingError."""
    libraries = f"./lib/{architecture.triplet}/*", f"./usr/lib/{architecture.triplet}/*.so*"
    loaders = "./lib*/ld-linux-*.so.*", "./usr/lib*/ld-linux-*.so.*"
    files = ("./usr/bin/perf*", *loaders, *libraries)
    root = _unpacked("linux-perf", _folder(architecture), files, architecture)
    # Since trixie, packages have all below /usr, and another one has the link.
    if not (root / "lib").exists():
        with contextlib.suppress(FileExistsError):
            (root / "lib").symlink_to("usr/lib")
    return root


def _folder(architecture: Architecture) -> Path:
    return cache_folder("userland") / f"{architecture.suite}-{architecture.debian}"


def _busybox(architecture: Architecture) -> Path:
    folder = _folder(architecture)
    return folder.with_name(f"{folder.name}-busybox")


def _unpacked(package: str, target: Path, files: Sequence[str], architecture: Architecture) -> Path:
    """The folder ``target`` with what matches ``files`` (tar's wildcards) of a package and of those
    that it needs, downloaded once."""
    if target.is_dir():
        return target
    try:
        apt = Apt((architecture.suite,), architecture.debian)
        what = f"{package} for {architecture.debian}"
        return apt.unpack(what, apt.closure((package,)), target, files)
    except InputError as error:
        raise MissingError(f"no {package} for {architecture.debian} guests: {error}") from error
