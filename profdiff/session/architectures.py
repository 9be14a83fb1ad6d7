"""One experiment over several architectures: a folder with an ordinary session for each, its parts.

Counts of two architectures have no common unit. In sessions of their own they cannot be added up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NoReturn

import msgspec

from profdiff.base import bounded
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.records import Part, Text
from profdiff.session.folder import ARCHITECTURES_FILE, Session, inside, is_session, is_several

SCHEMA = "profdiff.architectures/1"
_MAX_FILE = 2**20


class _File(Part, frozen=True):
    schema: str
    architectures: Annotated[list[Text], msgspec.Meta(min_length=2)]
    command: list[Text]


@dataclass(frozen=True)
class Architectures:
    """A folder with a part for each architecture. ``names``: what the kernel calls them (``ARCH=``:
    x86_64, arm64), in the order that was asked for, which is also their parts' folders;
    ``command``: the command line that made the folder."""

    folder: Path
    names: Sequence[str]
    command: Sequence[str]

    @staticmethod
    def open(folder: Path) -> "Architectures":
        """Read which parts a folder has. Raises SessionError when it has none, or what says so is
        damaged, hostile, of a newer schema or of architectures that profdiff does not know."""
        path = inside(folder, ARCHITECTURES_FILE)
        try:
            data = bounded.read(path, _MAX_FILE)
        except (FileNotFoundError, NotADirectoryError):
            raise SessionError(
                f"{folder} has no {ARCHITECTURES_FILE}: profdiff record --arch makes it"
            ) from None
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        found = _decode(path, data)
        return Architectures(folder, found.architectures, found.command)

    @staticmethod
    def create(folder: Path, names: Sequence[str], command: Sequence[str]) -> "Architectures":
        """Make a folder for the parts, which are not made. Raises InputError when it holds
        something else, OSError."""
        Session.refuse_occupied(folder)
        folder.mkdir(parents=True, exist_ok=True)
        return _save(Architectures(folder, list(names), list(command)))

    def with_parts(self, names: Sequence[str]) -> "Architectures":
        """With those of ``names`` that it lacks behind its own. Raises OSError."""
        every = list(dict.fromkeys([*self.names, *names]))
        if every == list(self.names):
            return self
        return _save(Architectures(self.folder, every, self.command))

    def part(self, name: str) -> Path:
        """The session folder of one architecture, which need not exist yet. Raises InputError when
        the folder is to have none, SessionError when a link leads out of it."""
        if name not in self.names:
            raise InputError(f"{self.folder} has no part {name}: it has {' and '.join(self.names)}")
        return inside(self.folder, name)

    def sessions(self) -> dict[str, Session]:
        """The parts that have been begun, by architecture, in order. Raises SessionError."""
        parts = {name: self.part(name) for name in self.names}
        return {name: Session.open(part) for name, part in parts.items() if is_session(part)}

    def refuse(self, what: str) -> NoReturn:
        """Raise InputError: ``what`` is of one architecture alone."""
        parts = " or ".join(str(self.part(name)) for name in self.names)
        raise InputError(f"{what} is of one architecture: name its session, {parts}")


def opened(folder: Path) -> dict[str, Session]:
    """The sessions of a folder: of several architectures the parts that have been begun, by
    architecture, or else the one that it is, as "". Raises SessionError."""
    if is_several(folder):
        return Architectures.open(folder).sessions()
    return {"": Session.open(folder)}


def _save(made: Architectures) -> Architectures:
    content = _File(schema=SCHEMA, architectures=list(made.names), command=list(made.command))
    data = msgspec.json.format(msgspec.json.encode(content), indent=1)
    write_atomic(made.folder / ARCHITECTURES_FILE, data + b"\n")
    return made


class _Schema(msgspec.Struct):
    schema: str


def _decode(path: Path, data: bytes) -> _File:
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema != SCHEMA:
            raise SessionError(f"{path} has schema {schema!r}, this profdiff reads {SCHEMA}")
        found = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SessionError(f"{path} is damaged: {error}") from error
    names = found.architectures
    # Each is a folder's name, too: nothing else gets through.
    known = [one.arch for one in ARCHITECTURES]
    if unknown := [name for name in names if name not in known]:
        raise SessionError(
            f"{path} names the architecture {unknown[0][:40]!r}, which this profdiff does not know "
            f"(known: {', '.join(known)})"
        )
    if len(set(names)) != len(names):
        raise SessionError(f"{path} names an architecture twice")
    return found
