"""A suite: several workloads recorded on the same kernels. A folder with a part for each workload:
an ordinary session, or a folder of several (``session.parts``).

Where the cells of a suite lie.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from profdiff.base import bounded
from profdiff.base.atomic import write_atomic
from profdiff.base.errors import InputError, SessionError
from profdiff.collectors.records import Part, Text
from profdiff.session.held import (
    SUITE_FILE,
    held,
    inside,
    is_session,
    refuse_occupied,
)
from profdiff.session.manifest import Label, Manifest
from profdiff.session.parts import Parts
from profdiff.session.points import Setting, settings
from profdiff.session.session import Recording, Session

SCHEMA = "profdiff.suite/1"
MOST_WORKLOADS = 4_000
"""More are not a suite but a hostile file."""

_MOST_CHOICES = 1_000
_MAX_FILE = 16 * 2**20
# What a cell's name may hold; a label holds nothing else.
_FOREIGN = re.compile(r"[^A-Za-z0-9._+-]")

Tag = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._+-]{0,63}\Z")]
Op = Annotated[str, msgspec.Meta(min_length=1, max_length=64)]


class SuiteWorkload(Part, frozen=True):
    """A workload of a suite. ``name`` is its part's folder, too; ``op``: what one op of it is, a
    singular noun; ``nonlinear``: why its counts per op depend on how many ops there are, "" if they
    do not."""

    name: Label
    tags: Annotated[list[Tag], msgspec.Meta(max_length=64)] = msgspec.field(default_factory=list)
    op: Op = "op"
    about: Text = ""
    nonlinear: Text = ""


class Choice(Part, frozen=True):
    """What one command recorded of a suite: cells whose name matches one of ``only``, of workloads
    that have one of ``tags``; without them all. ``shard``: ``I/N``, "" for all of it."""

    only: Annotated[list[Text], msgspec.Meta(max_length=1_000)] = msgspec.field(
        default_factory=list
    )
    tags: Annotated[list[Tag], msgspec.Meta(max_length=1_000)] = msgspec.field(default_factory=list)
    shard: Annotated[str, msgspec.Meta(pattern=r"^([0-9]{1,7}/[0-9]{1,7})?\Z")] = ""

    def has(self, cell: str, workload: SuiteWorkload) -> bool:
        """Whether it is of a cell."""
        return self._of(workload) and self._matches(cell)

    def may_have(self, workload: SuiteWorkload) -> bool:
        """Whether it is surely of a cell of a workload whose cells are not known."""
        return self._of(workload) and (
            not self.only
            or any(fnmatchcase(workload.name, one.partition("/")[0]) for one in self.only)
        )

    def _of(self, workload: SuiteWorkload) -> bool:
        return not self.tags or bool(set(self.tags) & set(workload.tags))

    def _matches(self, cell: str) -> bool:
        return not self.only or any(fnmatchcase(cell, pattern) for pattern in self.only)


class _Content(Part, frozen=True):
    schema: str
    name: Text
    command: list[Text]
    workloads: Annotated[list[SuiteWorkload], msgspec.Meta(min_length=1, max_length=MOST_WORKLOADS)]
    choices: Annotated[list[Choice], msgspec.Meta(min_length=1, max_length=_MOST_CHOICES)]


class _Schema(msgspec.Struct):
    schema: str


Recorded = tuple[SuiteWorkload, str, Session]
Damaged = Callable[[SuiteWorkload, str, SessionError], None]


@dataclass(frozen=True)
class Suite(Recording):
    """A suite's folder. ``name``: the suite's; ``command``: the newest command line that recorded;
    ``workloads`` in the order of the suite's file. Some of them may have no part yet. ``choices``:
    what was asked for, each once."""

    held = "suite"

    folder: Path
    name: str
    command: Sequence[str]
    workloads: Sequence[SuiteWorkload]
    choices: Sequence[Choice] = (Choice(),)

    def asks(self, cell: str, workload: SuiteWorkload) -> bool:
        """Whether a cell was asked for."""
        return any(choice.has(cell, workload) for choice in self.choices)

    def asks_of(self, workload: SuiteWorkload) -> bool:
        """Whether some cell of a workload was, whose cells are not known."""
        return any(choice.may_have(workload) for choice in self.choices)

    @property
    def shards(self) -> Sequence[str]:
        """The shards that it has, ``I/N``; none where some command asked for all runs."""
        told = [choice.shard for choice in self.choices]
        return told if all(told) else ()

    @property
    def alone(self) -> bool:
        """Whether it is a session, shown as a suite of one workload."""
        return False

    @staticmethod
    def open(folder: Path) -> "Suite":
        """Read which workloads a folder has. Raises SessionError when it is not a suite's, or what
        says so is damaged, hostile or of a newer schema."""
        path = inside(folder, SUITE_FILE)
        try:
            data = bounded.read_json(path, _MAX_FILE, 2**20)
        except (FileNotFoundError, NotADirectoryError):
            raise SessionError(
                f"{folder} has no {SUITE_FILE}: profdiff record --suite makes it"
            ) from None
        except OSError as error:
            raise SessionError(f"cannot read {path}: {error.strerror}") from error
        content = _decode(path, data)
        return Suite(folder, content.name, content.command, content.workloads, content.choices)

    @staticmethod
    def create(
        folder: Path,
        name: str,
        command: Sequence[str],
        workloads: Sequence[SuiteWorkload],
        choices: Sequence[Choice] = (Choice(),),
    ) -> "Suite":
        """Make a folder for the workloads' parts, which are not made. Raises InputError when it
        holds something else, or a workload cannot be in a suite, OSError."""
        refuse_occupied(folder)
        refuse_names([workload.name for workload in workloads])
        folder.mkdir(parents=True, exist_ok=True)
        return _save(Suite(folder, name, list(command), list(workloads), list(choices)))

    def with_workloads(
        self,
        more: Sequence[SuiteWorkload],
        command: Sequence[str] | None = None,
        choices: Sequence[Choice] = (),
    ) -> "Suite":
        """With those of ``more`` that it lacks behind its own; what is told of the others is told
        as ``more`` has it, ``command`` is what made it last, and ``choices`` are asked for, too.
        Raises InputError when a workload cannot be in a suite, OSError."""
        every = {workload.name: workload for workload in self.workloads} | {
            one.name: one for one in more
        }
        refuse_names(list(every))
        newest = list(self.command if command is None else command)
        asked = list(self.choices)
        asked += [choice for choice in choices if choice not in asked]
        made = Suite(self.folder, self.name, newest, list(every.values()), asked[-_MOST_CHOICES:])
        before = list(self.workloads), list(self.command), list(self.choices)
        if before == (made.workloads, made.command, made.choices):
            return self
        return _save(made)

    def part(self, name: str) -> Path:
        """The folder of one of the workloads, which need not exist yet. Raises InputError when the
        suite has no such workload, SessionError when a link leads out of it."""
        if name not in (workload.name for workload in self.workloads):
            raise InputError(f"{self.folder} has no workload {name}")
        return inside(self.folder, name)

    def recorded(
        self, damaged: Damaged | None = None, *, lengths: bool = False
    ) -> Iterator[Recorded]:
        """What has been begun, in order, one opened after the other: the workload; "", or what its
        part is called (``arm64``, ``gcc-12``) where it has several; the session. ``damaged``: gets
        the workload and the part of what cannot be read, and why; raises SessionError without.
        ``lengths``: as ``Session.open``."""
        for workload in self.workloads:
            for part in self._parts(workload, damaged):
                folder = self.folder / workload.name / part
                with _telling(damaged, workload, part):
                    session = Session.open(inside(folder.parent, folder.name), lengths=lengths)
                    yield workload, part, session

    def sessions(self) -> dict[str, Session]:
        """What has been begun, by workload and part. Raises SessionError."""
        return {
            f"{workload.name}/{part}" if part else workload.name: session
            for workload, part, session in self.recorded()
        }

    def lacking(self) -> Iterator[str]:
        """What was asked for and has not been begun: workloads, and parts of others
        (``mprotect@arm64``). Raises SessionError."""
        for workload in filter(self.asks_of, self.workloads):
            folder = inside(self.folder, workload.name)
            begun = self._parts(workload, None)
            if held(folder) == "parts":
                lacking = [name for name in Parts.open(folder).names if name not in begun]
                yield from (f"{workload.name}@{name}" for name in lacking)
            elif not begun:
                yield workload.name

    def _parts(self, workload: SuiteWorkload, damaged: Damaged | None) -> list[str]:
        with _telling(damaged, workload, ""):
            folder = inside(self.folder, workload.name)
            has = held(folder)
            if has == "session":
                return [""]
            if has == "parts":
                parts = Parts.open(folder)
                return [name for name in parts.names if is_session(parts.part(name))]
        return []


@contextmanager
def _telling(damaged: Damaged | None, workload: SuiteWorkload, part: str) -> Iterator[None]:
    """Give ``damaged`` what is raised in between, where there is one."""
    try:
        yield
    except SessionError as error:
        if damaged is None:
            raise
        damaged(workload, part, error)


def refuse_names(names: Sequence[str]) -> None:
    """Raise InputError unless workloads can have these names in one suite."""
    if len(names) > MOST_WORKLOADS:
        raise InputError(f"the suite has {len(names):,} workloads, more than {MOST_WORKLOADS:,}")
    seen: set[str] = set()
    for name in names:
        if problem := problem_with(name):
            raise InputError(f"workload {name[:80]!r}: {problem}")
        if name in seen:
            raise InputError(f"the workload {name} is given twice: give each another name")
        seen.add(name)


def problem_with(name: str) -> str | None:
    """Why a workload of a suite cannot have this name; None if it can."""
    try:
        msgspec.convert(name, Label)
    except msgspec.ValidationError:
        return (
            "a name has at most 64 letters, digits, '.', '_', '+' and '-', and begins with a "
            "letter or a digit"
        )
    # Its folder lies beside files of ours.
    return "a name does not end with .json" if name.endswith(".json") else None


def cell_names(
    manifest: Manifest, settings: Sequence[Setting], workload: str, part: str = ""
) -> list[str]:
    """What each of a session's ``settings`` is called as a cell of a suite: ``mprotect/anon,64k``,
    ``mprotect/2vcpus``, with ``part`` ``mprotect/anon@arm64``. Names that would be equal are
    numbered (``~2``). ``manifest`` is of the session."""
    return names_of(settings, workload, part)


def names_of(settings: Sequence[Setting], workload: str, part: str = "") -> list[str]:
    """As ``cell_names``, of what is not a session yet."""
    names: list[str] = []
    alike: dict[str, int] = {}
    behind = f"@{_plain(part)}" if part else ""
    for setting in settings:
        values = [_value(setting, name) for name in setting.varied]
        name = f"{workload}/{','.join(values)}" if values else workload
        alike[name] = number = alike.get(name, 0) + 1
        names.append(f"{name}{f'~{number}' if number > 1 else ''}{behind}")
    return names


def _value(setting: Setting, name: str) -> str:
    value = setting.value(name)
    return f"{value}vcpus" if name == "vCPUs" else _plain(value)


def _plain(text: str) -> str:
    return _FOREIGN.sub("_", text)


def _save(made: Suite) -> Suite:
    content = _Content(
        schema=SCHEMA,
        name=made.name,
        command=list(made.command),
        workloads=list(made.workloads),
        choices=list(made.choices),
    )
    data = msgspec.json.format(msgspec.json.encode(content), indent=1)
    write_atomic(made.folder / SUITE_FILE, data + b"\n")
    return made


def _decode(path: Path, data: bytes) -> _Content:
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema != SCHEMA:
            raise SessionError(f"{path} has schema {schema[:80]!r}, this profdiff reads {SCHEMA}")
        content = msgspec.json.decode(data, type=_Content)
        refuse_names([workload.name for workload in content.workloads])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, InputError) as error:
        raise SessionError(f"{path} is damaged: {error}") from error
    return content


class Located(NamedTuple):
    """A session, or a folder with several, and its point as ``--at`` takes it; None: its only one,
    or all."""

    folder: Path
    at: str | None


def cells(suite: Suite) -> dict[str, Located]:
    """By name, in the suite's order: every cell that was begun; then what names all parts of one,
    and all points of a workload. What is damaged has none."""
    found: dict[str, Located] = {}
    wider: dict[str, Located] = {}
    for workload, part, session in suite.recorded(lambda *_: None):
        known = settings(session.manifest)
        names = cell_names(session.manifest, known, workload.name, part)
        plain = cell_names(session.manifest, known, workload.name)
        several = suite.part(workload.name)
        for name, short, setting in zip(names, plain, known, strict=True):
            at = ",".join(f"{one}={setting.value(one)}" for one in setting.varied) or None
            found[name] = Located(session.folder, at)
            wider.setdefault(short, Located(several, at))
        wider.setdefault(workload.name, Located(several, None))
    return {**found, **{name: one for name, one in wider.items() if name not in found}}


def located(suite: Suite, cell: str) -> Located:
    """Where a cell of a suite lies. Raises InputError for a name that it does not have."""
    # What stands before a point or a part is the workload, whose session alone is read.
    name = re.split(r"[/@~]", cell)[0]
    own = replace(
        suite, workloads=[workload for workload in suite.workloads if workload.name == name]
    )
    found = cells(own).get(cell)
    if found is None:
        own.sessions()  # what is damaged says so, before its cells are called unknown
        raise InputError(_unknown(cell, list(cells(suite))))
    return found


def _unknown(cell: str, known: list[str]) -> str:
    near = get_close_matches(cell, known, 3, 0.4)
    near = near or [name for name in known if cell in name][:3]
    told = f"; did you mean {' or '.join(near)}?" if near else ": profdiff report SUITE lists them"
    return f"--cell {cell}: the suite has no such cell{told}"
