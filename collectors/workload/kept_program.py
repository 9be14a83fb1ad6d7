"""Programs that were compiled before: taken again as long as what went into them is the same."""

import contextlib
import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from profdiff.base import bounded
from profdiff.base.atomic import write_atomic

_MAX_NOTE = 1 << 20
# What is larger, a library or the compiler, is known by its size and time.
_MAX_HASHED = 1 << 20


class _Note(msgspec.Struct, frozen=True):
    """``inputs``: what each file was that went into ``program``."""

    inputs: dict[str, str]
    program: str


def note_of(folder: Path, command: Sequence[str], place: Path) -> Path:
    """Where it is noted what came of ``command`` in the folder ``place``."""
    told = msgspec.json.encode([str(place), *command])
    return folder / "compiled" / hashlib.sha256(told).hexdigest()


def kept(note: Path) -> Path | None:
    """The program that was compiled so; None if it is gone, or would come out otherwise."""
    try:
        found = msgspec.json.decode(bounded.read(note, _MAX_NOTE), type=_Note)
        program = Path(found.program)
        same = all(_state(Path(path)) == state for path, state in found.inputs.items())
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return program if same and program.is_file() else None


def keep(note: Path, program: Path, inputs: Iterable[Path]) -> None:
    """Note of what ``program`` was made. Where that cannot be, it is compiled again."""
    with contextlib.suppress(OSError):
        states = {str(path): _state(path) for path in {*inputs, program}}
        note.parent.mkdir(exist_ok=True)
        data = msgspec.json.encode(_Note(states, str(program)))
        write_atomic(note, data, durable=False)


def dependencies(text: str, place: Path) -> list[Path]:
    """The files of a rule that gcc -MD wrote: source and headers."""
    _, _, files = text.replace("\\\n", " ").partition(": ")
    names = re.findall(r"(?:\\.|[^\s\\])+", files)
    return [place / re.sub(r"\\(.)", r"\1", name) for name in names]


def linked(text: str) -> list[Path]:
    """The files that a linker says with --trace, but for those that are gone."""
    found = (Path(line) for line in text.splitlines() if line.startswith("/"))
    return [path for path in found if path.is_file()]


def _state(path: Path) -> str:
    """What a file is. Raises OSError."""
    status = path.stat()
    if status.st_size > _MAX_HASHED:
        return f"{status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()
