"""perf for a guest: this machine's own, or for another architecture Debian's, unpacked."""

from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.collectors.architecture import Architecture
from profdiff.collectors.guest.userland import foreign_perf
from profdiff.collectors.programs import find_program
from profdiff.collectors.workload.elf import read_elf
from profdiff.collectors.workload.elf_closure import closure
from profdiff.collectors.workload.files import GuestFile
from profdiff.collectors.workload.root import THIS_MACHINE, Root

PERF_GUEST_PATH = "/usr/bin/perf"
# What perf.sh starts it from.
_FOLDER = "/usr/lib/profdiff-perf"


def perf_files(architecture: Architecture) -> list[GuestFile]:
    """perf and the libraries that it needs. Raises MissingError, InputError."""
    root, program = _found(architecture)
    elf = read_elf(program)
    if elf is None:
        raise MissingError(
            f"{program} is a script, the guest needs the program itself: apt-get install linux-perf"
        )
    if not elf.interpreter:
        return [GuestFile(program, PERF_GUEST_PATH, executable=True, is_code=False)]
    sources = {
        "ld.so" if one.guest_path == elf.interpreter else Path(one.guest_path).name: one.source
        for one in closure(elf, root)
    }
    places = {f"{_FOLDER}/{name}": source for name, source in sources.items()}
    places |= {
        PERF_GUEST_PATH: Path(__file__).with_name("perf.sh"),
        f"{_FOLDER}/perf": program,
    }
    return [
        GuestFile(source, guest_path, executable=True, is_code=False)
        for guest_path, source in places.items()
    ]


def _found(architecture: Architecture) -> tuple[Root, Path]:
    """The root folder with perf for an architecture, and perf in it. Raises MissingError."""
    if architecture.is_host:
        return THIS_MACHINE, find_program("perf").resolve()
    root = Root(foreign_perf(architecture).resolve())
    program = root.find("/usr/bin/perf")
    if program is None:
        raise MissingError(
            f"Debian's linux-perf for {architecture.debian} in {root.path} holds no perf: remove "
            "that folder, and the next recording downloads it anew"
        )
    return root, program
