"""What travels between the recorder and a node: plain data."""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.records import Failure
from profdiff.recording.cluster.emulators import Emulator

# What a run may leave in all, many times what one does.
_MOST = 1 << 30
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
        if total > _MOST:
            raise InputError(f"the run left more than {_MOST >> 20} MiB")
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
