"""One experiment over several architectures, or compilers, or a comparison of several pairs of
kernels: a folder with an ordinary session for each, its parts.

Counts of two architectures have no common unit, and no kernel of one compiler is the base of
another's. In sessions of their own they cannot be added up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from profdiff.base import bounded
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.records import Part, Text
from profdiff.session.held import (
    ARCHITECTURE,
    COMPILER,
    LABEL,
    PartKind,
    inside,
    is_session,
    parted_by,
    refuse_occupied,
)
from profdiff.session.session import Recording, Session

_MAX_FILE = 2**20
# More are not an experiment but a hostile file.
MAX_PARTS = 64
_Names = Annotated[list[Text], msgspec.Meta(min_length=2, max_length=MAX_PARTS)]


class _Architectures(Part, frozen=True, rename={"names": ARCHITECTURE.plural}):
    schema: str
    names: _Names
    command: list[Text]


class _Compilers(Part, frozen=True, rename={"names": COMPILER.plural}):
    schema: str
    names: _Names
    command: list[Text]


class _Labels(Part, frozen=True, rename={"names": LABEL.plural}):
    schema: str
    names: _Names
    command: list[Text]


_File = _Architectures | _Compilers | _Labels
_FILES: dict[PartKind, type[_File]] = {
    ARCHITECTURE: _Architectures,
    COMPILER: _Compilers,
    LABEL: _Labels,
}


@dataclass(frozen=True)
class Parts(Recording):
    """A folder with a part for each architecture, compiler or label, as ``kind`` says. ``names``:
    what the kernel calls architectures (``ARCH=``: x86_64, arm64), the compilers' programs, or the
    labels, in the order that was asked for, which is also their parts' folders; ``command``: the
    command line that made the folder."""

    held = "parts"

    folder: Path
    names: Sequence[str]
    command: Sequence[str]
    kind: PartKind = ARCHITECTURE

    @staticmethod
    def open(folder: Path) -> "Parts":
        """Read which parts a folder has. Raises SessionError when it has none, or what says so is
        damaged, hostile, of a newer schema or of architectures that profdiff does not know."""
        kind = parted_by(folder) or ARCHITECTURE
        path = inside(folder, kind.file)
        try:
            data = bounded.read(path, _MAX_FILE)
        except (FileNotFoundError, NotADirectoryError):
            raise SessionError(
                f"{folder} has no {kind.file}: profdiff {kind.made_by} makes it"
            ) from None
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        found = _decode(path, data, kind)
        return Parts(folder, found.names, found.command, kind)

    @staticmethod
    def create(
        folder: Path, names: Sequence[str], command: Sequence[str], kind: PartKind = ARCHITECTURE
    ) -> "Parts":
        """Make a folder for the parts, which are not made. Raises InputError when it holds
        something else, OSError."""
        refuse_occupied(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return _save(Parts(folder, list(names), list(command), kind))

    def with_parts(self, names: Sequence[str]) -> "Parts":
        """With those of ``names`` that it lacks behind its own. Raises OSError."""
        every = list(dict.fromkeys([*self.names, *names]))
        if every == list(self.names):
            return self
        return _save(Parts(self.folder, every, self.command, self.kind))

    def part(self, name: str) -> Path:
        """The session folder of one of ``names``, which need not exist yet. Raises InputError when
        the folder is to have none, SessionError when a link leads out of it."""
        if name not in self.names:
            raise InputError(f"{self.folder} has no part {name}: it has {' and '.join(self.names)}")
        return inside(self.folder, name)

    def sessions(self) -> dict[str, Session]:
        """The parts that have been begun, by name, in order. Raises SessionError."""
        parts = {name: self.part(name) for name in self.names}
        return {name: Session.open(part) for name, part in parts.items() if is_session(part)}


def _save(made: Parts) -> Parts:
    kind = made.kind
    content = _FILES[kind](schema=kind.schema, names=list(made.names), command=list(made.command))
    data = msgspec.json.format(msgspec.json.encode(content), indent=1)
    write_atomic(made.folder / kind.file, data + b"\n")
    return made


class _Schema(msgspec.Struct):
    schema: str


def _decode(path: Path, data: bytes, kind: PartKind) -> _File:
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema != kind.schema:
            raise SessionError(f"{path} has schema {schema!r}, this profdiff reads {kind.schema}")
        found = msgspec.json.decode(data, type=_FILES[kind])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SessionError(f"{path} is damaged: {error}") from error
    # Each is a folder's name, too: nothing else gets through.
    if unknown := [name for name in found.names if not kind.knows(name)]:
        told = f"names the {kind.name} {unknown[0][:40]!r}, which"
        if kind is not ARCHITECTURE:
            what = "a program's name" if kind is COMPILER else "a label"
            raise SessionError(f"{path} {told} is not {what}")
        known = ", ".join(architecture.arch for architecture in ARCHITECTURES)
        raise SessionError(f"{path} {told} this profdiff does not know (known: {known})")
    if len(set(found.names)) != len(found.names):
        raise SessionError(f"{path} names {kind.one} twice")
    return found
