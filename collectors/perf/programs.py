"""perf for a guest: this machine's own, or for another architecture Debian's, unpacked."""

from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest.userland import userland
from profdiff.collectors.programs import find_program
from profdiff.collectors.workload.elf_closure import closure, read_elf
from profdiff.collectors.workload.files import GuestFile

PERF_GUEST_PATH = "/usr/bin/perf"


def perf_files(architecture: Architecture) -> list[GuestFile]:
    """perf and the libraries that it needs. Raises MissingError, InputError."""
    root = Path("/") if architecture.is_host else userland(architecture)
    program = find_program("perf") if architecture.is_host else root / "usr/bin/perf"
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
