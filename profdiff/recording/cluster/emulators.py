"""What makes two QEMUs the same: counts belong to one."""

import hashlib
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from profdiff.base.errors import MissingError
from profdiff.collectors.architecture import named
from profdiff.collectors.guest.qemu import Qemu, find_emulator

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
