"""What travels between the recorder and a node: plain data.

What makes two QEMUs the same: counts belong to one.
"""

import hashlib
import re
import subprocess
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from profdiff.base.errors import InputError, MissingError
from profdiff.collectors.architecture import named
from profdiff.collectors.guest.qemu import Qemu, find_emulator
from profdiff.collectors.records import Failure

_SECONDS = 60


@dataclass(frozen=True)
class Emulator:
    """One QEMU: its version line, and the hashes of its program and of the firmware that it loads.
    ``given``: the program that --qemu names."""

    architecture: str
    given: Path | None
    version: str
    program: str
    firmware: str

    @staticmethod
    def of(qemu: Qemu, given: Path | None = None) -> "Emulator":
        """Raises MissingError, OSError."""
        program, firmware = _digests(qemu)
        return Emulator(qemu.architecture.name, given, qemu.version, program, firmware)

    def refusal(self, found: "Emulator") -> str | None:
        """Why what runs under ``found`` does not belong beside what runs under this one."""
        if found.version != self.version:
            return f"its QEMU is {found.version!r}, not {self.version!r}"
        if found.program != self.program:
            return f"its QEMU is another build of {self.version!r} (sha256 {found.program[:16]})"
        if found.firmware != self.firmware:
            return f"the firmware of its QEMU is another one (sha256 {found.firmware[:16]})"
        return None


@cache
def found_here(wanted: Emulator) -> tuple[Qemu, Emulator]:
    """This node's QEMU for guests as ``wanted`` has them. Raises MissingError, OSError."""
    architecture = named(wanted.architecture)
    if architecture is None:
        raise MissingError(f"its profdiff knows no {wanted.architecture} guests")
    qemu = find_emulator(architecture, wanted.given)
    return qemu, Emulator.of(qemu, wanted.given)


def _digests(qemu: Qemu) -> tuple[str, str]:
    with qemu.program.open("rb") as file:
        program = hashlib.file_digest(file, "sha256").hexdigest()
    firmware = hashlib.sha256()
    paths = [*qemu.firmware, *_folders(qemu.program)]
    for name in qemu.architecture.firmware:
        path = next((folder / name for folder in paths if (folder / name).is_file()), None)
        content = hashlib.sha256(path.read_bytes()).digest() if path else b""
        firmware.update(name.encode() + b"\0" + content)
    return program, firmware.hexdigest()


def _folders(program: Path) -> Iterable[Path]:
    """Where this QEMU looks for firmware (qemu -L help)."""
    try:
        told = subprocess.run(
            [str(program), "-L", "help"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise MissingError(f"{program} does not answer within {_SECONDS} s") from error
    return [Path(line) for line in told.stdout.splitlines() if line]


# What a run may leave in all, many times what one does.
_MAX_BYTES = 1 << 30
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")


INPUTS = "in"
"""The folder, in a run's, with what the guest boots from; each is named by its sha256."""
SHARED = "shared"
"""The file, in a run's folder, of the memory that a restored machine shares."""


@dataclass(frozen=True)
class Needs:
    """What a node must have. ``plugins``: what its QEMU must load, by sha256, with the arguments
    for a try."""

    profdiff: str
    emulators: tuple[Emulator, ...]
    plugins: Mapping[str, tuple[bytes, str]]


@dataclass(frozen=True)
class Told:
    """What a node says of itself. ``store``: what tells its store from those of other nodes;
    ``refusal``: why it cannot take part."""

    host: str
    store: str
    refusal: str | None


@dataclass(frozen=True)
class Restored:
    """A machine that is restored: ``state`` and ``delivery`` are among the inputs; ``room``: bytes
    of the memory that it shares."""

    state: str
    delivery: str
    room: int


@dataclass(frozen=True)
class Errand:
    """One guest: QEMU's ``arguments`` without the program, with names relative to the run's folder;
    ``inputs`` by sha256; ``members`` of what it sends, and how many bytes each may have.
    ``restored``: None if it boots."""

    name: str
    emulator: Emulator
    arguments: tuple[str, ...]
    inputs: tuple[str, ...]
    members: Mapping[str, int]
    timeout: float
    restored: Restored | None = None


@dataclass(frozen=True)
class Left:
    """What a guest left. ``outcome``: the names of the members that it sent, or its failure;
    ``files`` are compressed (zlib)."""

    host: str
    arguments: list[str]
    wall_seconds: float
    outcome: set[str] | Failure
    files: Mapping[str, bytes]


def packed(folder: Path, without: set[str]) -> dict[str, bytes]:
    """The files of a run's folder. Raises InputError when they are too large, OSError."""
    found: dict[str, bytes] = {}
    total = 0
    for path in sorted(folder.iterdir()):
        if path.name in without or path.is_symlink() or not path.is_file():
            continue
        total += path.stat().st_size
        if total > _MAX_BYTES:
            raise InputError(f"the run left more than {_MAX_BYTES >> 20} MiB")
        found[path.name] = zlib.compress(path.read_bytes(), 1)
    return found


def unpack(files: Mapping[str, bytes], folder: Path) -> None:
    """Write what ``packed`` made into ``folder``. Raises InputError for what no run left, OSError.
    A node that means harm can do more (docs/clusters.md)."""
    for name, data in files.items():
        if not _NAME.fullmatch(name):
            raise InputError(f"a node sent a file with the name {name!r}")
        try:
            (folder / name).write_bytes(zlib.decompress(data))
        except zlib.error as error:
            raise InputError(f"the file {name} of a node is damaged: {error}") from error
