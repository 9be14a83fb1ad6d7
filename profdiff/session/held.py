"""What a folder holds, as its files tell without being read: a session, the parts of one
experiment, by architecture or compiler, those of a comparison, by label, or a suite."""

import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, islice
from pathlib import Path
from typing import Literal, NamedTuple, NoReturn

from profdiff.base import bounded
from profdiff.base.errors import InputError, SessionError
from profdiff.base.names import did_you_mean
from profdiff.collectors.architecture import ARCHITECTURES
from profdiff.collectors.kernels.label import is_label

KindName = Literal["architecture", "compiler", "label"]
# A program's name, which is a folder's, too: gcc-12, clang-19, x86_64-linux-gnu-gcc-4.9. A dot
# stands between digits only, so that no part has the name of a file of ours.
_COMPILER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_+-]{0,62}(\.[0-9]{1,8}){0,3}")
_ARCHITECTURES = [architecture.arch for architecture in ARCHITECTURES]


class PartKind(NamedTuple):
    """``word``: what stands before a part's name in a sentence: on x86_64, under gcc-12, for base;
    ``made_by``: the command that makes parts of this kind."""

    name: KindName
    plural: str
    word: str
    made_by: str

    @property
    def file(self) -> str:
        """The file that says which parts a folder has, by their plural, as is its one list."""
        return f"{self.plural}.json"

    @property
    def one(self) -> str:
        """``an architecture``, ``a compiler``."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"

    @property
    def schema(self) -> str:
        """The schema of that file."""
        return f"profdiff.{self.plural}/1"

    def at(self, part: str) -> str:
        """``on x86_64``, ``under gcc-12``."""
        return f"{self.word} {part}"

    def knows(self, part: str) -> bool:
        """Whether a part can have this name."""
        if self.name == "compiler":
            return is_compiler(part)
        if self.name == "label":
            # No file of ours has its name.
            return is_label(part) and not part.endswith(".json")
        return part in _ARCHITECTURES

    def order(self, part: str) -> tuple[int, str]:
        """Sorts parts where nothing else says their order."""
        known = self.name == "architecture" and part in _ARCHITECTURES
        return (_ARCHITECTURES.index(part) if known else len(_ARCHITECTURES), part)


ARCHITECTURE = PartKind("architecture", "architectures", "on", "record --arch")
COMPILER = PartKind("compiler", "compilers", "under", "record --compilers")
LABEL = PartKind("label", "labels", "for", "compare")
KINDS = (ARCHITECTURE, COMPILER, LABEL)


def is_compiler(name: str) -> bool:
    """Whether ``name`` can be that of a compiler's program, without a folder."""
    return _COMPILER.fullmatch(name) is not None


MANIFEST = "manifest.json"
SUITE_FILE = "suite.json"

Held = Literal["session", "parts", "suite"]
EVERY: Sequence[Held] = ("session", "parts", "suite")
TITLES: Mapping[Held, str] = {
    "session": "a session",
    "parts": "a folder of parts",
    "suite": "a suite",
}
_FILES: Mapping[str, Held] = {MANIFEST: "session", SUITE_FILE: "suite"}
FOLDERS = ("kernels", "symbols", "workload")
"""The folders of a session, but for those of its runs."""


def symbols_file(label: str, what: str = "") -> str:
    """The path of what a session keeps of a kernel, or with the label "" of all. No label has an @:
    no two have the same path."""
    return f"symbols/{label}{what and f'@{what}'}.npz"


_OWN = {*_FILES, *(kind.file for kind in KINDS), *FOLDERS, "runs", ".lock"}
# As many of a folder's sessions are named in a message.
_MAX_NAMES = 8
_LOOKED_AT = 1_000


def held(folder: Path) -> Held | None:
    """What ``folder`` holds; None: nothing that is recorded."""
    found = says_so(folder)
    if found is None:
        return None
    return _FILES.get(found.name, "parts")


def says_so(folder: Path) -> Path | None:
    """The file that says what ``folder`` holds; None where nothing is recorded."""
    names = [*_FILES, *(kind.file for kind in KINDS)]
    return next((path for name in names if (path := folder / name).is_file()), None)


def is_session(folder: Path) -> bool:
    """Whether ``folder`` holds a manifest."""
    return (folder / MANIFEST).is_file()


def parted_by(folder: Path) -> PartKind | None:
    """What the parts in ``folder`` differ by; None unless it holds parts."""
    found = says_so(folder)
    return next((kind for kind in KINDS if found and found.name == kind.file), None)


def refuse(what: str, able: Collection[Held], folder: Path, instead: str = "") -> NoReturn:
    """Raise InputError: ``what`` works only on recordings that ``able`` names, and ``folder`` holds
    another. ``instead``: what to do where no part or cell of it would do."""
    has = held(folder)
    if has == "suite":
        told = f"{folder} is a suite"
        instead = f"name one of its cells with --cell (profdiff report {folder} lists them)"
    elif has == "parts":
        told = of_parts(folder)
        instead = one_part(folder) if "session" in able else instead
    else:
        told = f"{folder} is a session"
    works = " or ".join(TITLES[one] for one in EVERY if one in able)
    raise InputError(f"{what} works only on {works}: {told}: {instead or f'leave {what} out'}")


def of_parts(folder: Path) -> str:
    """A clause: it holds parts."""
    kind = parted_by(folder)
    return f"{folder} holds a session for each of several {kind.plural if kind else 'kinds'}"


def one_part(folder: Path) -> str:
    """A clause that asks for one of the parts in ``folder``."""
    kind = parted_by(folder)
    parts = [entry.name for entry in folder.iterdir() if is_session(entry)]
    known = sorted(filter(kind.knows, parts), key=kind.order) if kind else []
    told = [str(folder / name) for name in known][:_MAX_NAMES]
    return f"name one of them: {' or '.join(told)}" if told else "none is recorded yet"


def refuse_recorded(path: Path) -> None:
    """Raise InputError where ``path``, behind links, is or would be a file of what is recorded."""
    real = Path(os.path.realpath(path))
    for folder in real.parents:
        if real.relative_to(folder).parts[0] in _OWN and held(folder):
            raise InputError(f"{path} belongs to what is recorded in {folder}: name another file")


def refuse_compared(folder: Path) -> NoReturn:
    """Raise InputError: ``folder`` is a comparison, into which nothing is recorded."""
    raise InputError(
        f"{folder} compares other recordings: record into one of those, and compare them again"
    )


def no_session(folder: Path) -> str:
    """What is in the place of a session, and what to name instead."""
    what = bounded.file_kind(folder)
    if what and what != "a folder":
        fix = "name the folder that profdiff record made"
        if what == "a recording of perf":
            fix = f"profdiff diff {folder} shows it, and profdiff import makes a session of it"
        return f"{folder} is not a session, but {what}: {fix}"
    near = _sessions(folder if what else folder.parent)
    if what and near:
        return f"{folder} is not a session, but holds some: name {' or '.join(near[:_MAX_NAMES])}"
    missing = f"it has no {MANIFEST}" if what else "there is no such folder"
    meant = did_you_mean(folder.name, {Path(one).name: one for one in near}) if not what else ""
    return f"{folder} is not a session: {missing}" + (
        f": {meant}" if meant else " (profdiff record makes one)"
    )


def _sessions(folder: Path) -> list[str]:
    """What is recorded in a folder, in alphabetical order."""
    try:
        return sorted(str(path) for path in islice(folder.iterdir(), _LOOKED_AT) if held(path))
    except OSError:
        return []


def refuse_several(folder: Path) -> None:
    """Raise InputError where ``folder`` holds sessions, and is none."""
    has = held(folder)
    if has == "parts":
        raise InputError(f"{of_parts(folder)}: {one_part(folder)}")
    if has == "suite":
        parts = sorted(entry.name for entry in folder.iterdir() if is_session(entry))
        told = " or ".join(str(folder / name) for name in parts[:_MAX_NAMES])
        told = f", {told}" if told else ""
        raise InputError(f"{folder} holds a suite: name one of its workloads{told}")


def refuse_occupied(folder: Path) -> None:
    """Raise InputError unless something can be recorded in ``folder``: it is absent, or empty."""
    if has := held(folder):
        kind = parted_by(folder)
        holds = f"sessions of several {kind.plural}" if kind else TITLES[has]
        raise InputError(
            f"-o {folder}: the folder is not empty, it holds {holds}: name another one"
        )
    try:
        foreign = [entry.name for entry in folder.iterdir() if entry.name != ".lock"]
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise InputError(f"-o {folder}: a file of that name is in the way") from None
    if foreign:
        raise InputError(
            f"-o {folder}: the folder is not empty and not a session: name another one"
        )


def inside(folder: Path, relative: str) -> Path:
    """A path in ``folder``. Raises SessionError as ``Session.path``."""
    path = folder / relative
    mode = 0
    try:
        inside = _of_plain_names(folder, relative) or Path(os.path.realpath(path)).is_relative_to(
            os.path.realpath(folder)
        )
        with suppress(FileNotFoundError, NotADirectoryError):
            mode = path.stat().st_mode
    except OSError as error:
        raise SessionError(f"cannot read {path}: {error}") from error
    if not inside:
        raise SessionError(f"{path} leads out of the session folder: refused")
    if mode and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise SessionError(f"{path} is neither a file nor a folder: refused")
    return path


def _of_plain_names(folder: Path, relative: str) -> bool:
    """Whether a path leads down from ``folder`` by names that are not symbolic links."""
    names = relative.split("/")
    if not names[0] or ".." in names:
        return False
    _, *way = accumulate(names, os.path.join, initial=str(folder))
    return not any(map(os.path.islink, way))
