"""perf for a guest: this machine's own, or for another architecture Debian's, unpacked."""

from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.apt import Apt
from profdiff.collectors.elf_closure import closure, read_elf
from profdiff.collectors.programs import find_program
from profdiff.collectors.workload import GuestFile

PERF_GUEST_PATH = "/usr/bin/perf"
BUSYBOX_GUEST_PATH = "/bin/busybox"
# The release whose programs run in arm64 guests; any kernel does.
SUITE = "bookworm"
_PROGRAMS = ("linux-perf", "busybox-static")
_FILES = [
    "./usr/bin/perf*",
    "./bin/busybox",
    "./usr/bin/busybox",
    "./lib/aarch64-linux-gnu/*",
    "./lib/ld-linux-aarch64.so.1",
    "./usr/lib/aarch64-linux-gnu/*.so*",
]


def perf_files(architecture: str) -> list[GuestFile]:
    """perf and the libraries that it needs. Raises MissingError, InputError."""
    root = Path("/") if architecture == "x86_64" else _userland()
    program = find_program("perf") if architecture == "x86_64" else root / "usr/bin/perf"
    elf = read_elf(program.resolve())
    if elf is None:
        raise MissingError(
            f"{program} is a script, the guest needs the program itself: apt-get install linux-perf"
        )
    files = [GuestFile(program.resolve(), PERF_GUEST_PATH, executable=True, is_code=False)]
    for library in closure(elf, root):
        guest_path = f"/{library.relative_to(root)}"
        files.append(GuestFile(library, guest_path, executable=True, is_code=False))
    return files


def arm64_busybox() -> Path:
    """A static busybox for arm64. Raises MissingError, InputError."""
    root = _userland()
    for name in ("usr/bin/busybox", "bin/busybox"):
        if (root / name).is_file():
            return root / name
    raise MissingError("Debian's busybox-static for arm64 holds no busybox")


def _userland() -> Path:
    """Debian's arm64 perf and busybox with what they need, downloaded once."""
    target = cache_folder("userland") / f"{SUITE}-arm64"
    if target.is_dir():
        return target
    try:
        apt = Apt((SUITE,), "arm64")
        packages = apt.closure(_PROGRAMS)
        return apt.unpack("perf and busybox for arm64", packages, target, _FILES)
    except InputError as error:
        raise MissingError(f"no perf for arm64 guests: {error}") from error
