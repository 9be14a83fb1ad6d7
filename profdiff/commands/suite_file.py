"""The file of a suite: an experiment file with ``[[workload]]`` entries, in this file and in those
that it includes. Its other keys are defaults for all workloads. Files are read within bounds."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from profdiff.base import bounded
from profdiff.base.errors import InputError
from profdiff.base.names import did_you_mean

if TYPE_CHECKING:
    from profdiff.session.suite import SuiteWorkload


WORKLOADS, INCLUDE, NAME = "workload", "include", "name"
_TOLD = ("name", "tags", "op", "about", "nonlinear")
# What all workloads of a suite have in common, by its key.
_WHOLE = {"kernel", "series", "arch", "compilers", "output", "jobs", "qemu", "restore", "cluster"}
_MOST_FILES = 64

Values = Mapping[str, Any]


class Keys(Protocol):
    """What reads the keys of a file as options of a command."""

    def values(self, file: Path, keys: Mapping[str, Any]) -> dict[str, Any]:
        """The values of keys by the command's parameters. Raises InputError."""


@dataclass(frozen=True)
class SuiteEntry:
    """One workload: ``told`` is what it says of itself, ``values`` its options by parameter, where
    its file says nothing else for all."""

    told: SuiteWorkload
    values: Values


@dataclass(frozen=True)
class SuiteFile:
    """``values``: by parameter, what the file says for all its workloads."""

    name: str
    values: Values
    entries: Sequence[SuiteEntry]


def is_suite(content: Mapping[str, Any]) -> bool:
    """Whether an experiment file's content is a suite's."""
    return WORKLOADS in content or INCLUDE in content


def installed() -> list[str]:
    """The names of the built-in suites."""
    folder = Path(str(resources.files("profdiff.suites")))
    return sorted(path.stem for path in folder.glob("*.toml"))


def located(given: str) -> Path:
    """The file that ``--suite`` names, or the built-in suite of that name. Raises InputError when
    there is neither."""
    file = Path(given)
    if file.exists() or "/" in given:
        return file
    known = installed()
    if given in known:
        return Path(str(resources.files("profdiff.suites"))) / f"{given}.toml"
    near = did_you_mean(given, known)
    raise InputError(
        f"--suite {given}: there is no such file, and no built-in suite of this name "
        f"({', '.join(known)}){f': {near}' if near else ''}"
    )


def names(file: Path, depth: int = 0) -> list[str]:
    """The names of the workloads in a file and in the files that it includes, whatever else they
    say. Raises InputError."""
    content = read(file)
    included = [one for one in content.get(INCLUDE, []) if isinstance(one, str)]
    entries = content.get(WORKLOADS, [])
    own = [entry["name"] for entry in entries if isinstance(entry.get("name"), str)]
    deeper = included if depth < 2 else []
    return [name for one in deeper for name in names(file.parent / one, depth + 1)] + own


def load(file: Path, keys: Keys, name: str | None = None) -> SuiteFile:
    """The suite in ``file``, which is called ``name`` if it does not say. Raises InputError."""
    from profdiff.session.suite import refuse_names

    made = _load(file, keys, name or _name(file), [])
    if not made.entries:
        raise InputError(f"{file} has no [[workload]]")
    try:
        refuse_names([entry.told.name for entry in made.entries])
    except InputError as error:
        raise InputError(f"{file}: {error}") from error
    return made


def _load(file: Path, keys: Keys, name: str, within: Sequence[Path]) -> SuiteFile:
    here = file.resolve()
    if here in within:
        raise InputError(f"{file} includes itself")
    if len(within) >= _MOST_FILES:
        raise InputError(f"{file}: files include each other more than {_MOST_FILES} deep")
    content = read(file)
    name = _text(file, NAME, content.pop(NAME, name))
    entries = content.pop(WORKLOADS, [])
    included = content.pop(INCLUDE, [])
    every = included if isinstance(included, list) else [included]
    if not all(isinstance(one, str) for one in every) or len(every) > _MOST_FILES:
        raise InputError(f"{file}: {INCLUDE} names at most {_MOST_FILES} files")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{file}: write each workload as [[{WORKLOADS}]]")
    values = keys.values(file, content)
    if "command" in values:
        raise InputError(f"{file}: command is of a workload: write it after [[{WORKLOADS}]]")
    found: list[SuiteEntry] = []
    for one in every:
        other = _load(file.parent / one, keys, name, [*within, here])
        # What an included file says for all its workloads is nearer to them.
        found += [replace(e, values={**values, **other.values, **e.values}) for e in other.entries]
    found += [_entry(file, keys, number, entry) for number, entry in enumerate(entries, 1)]
    return SuiteFile(name, values, found)


def _entry(file: Path, keys: Keys, number: int, content: dict[str, Any]) -> SuiteEntry:
    import msgspec

    from profdiff.session.suite import SuiteWorkload, problem_with

    name = content.get("name")
    if not isinstance(name, str):
        raise InputError(f'{file}: workload {number} has no name: write name = "..."')
    if problem := problem_with(name):
        raise InputError(f"{file}: workload {number}, {name[:80]!r}: {problem}")
    told = {key: value for key, value in content.items() if key in _TOLD}
    rest = {key: value for key, value in content.items() if key not in _TOLD}
    if whole := next((key for key in rest if key in _WHOLE), None):
        raise InputError(
            f"{file}: workload {name}: {whole} is of the whole suite: write it before the first "
            f"[[{WORKLOADS}]]"
        )
    if isinstance(tags := told.get("tags"), str):
        told["tags"] = [tags]
    try:
        described = msgspec.convert(told, SuiteWorkload)
        values = keys.values(file, rest)
        if "op" in told:
            values.setdefault("op", described.op)
    except (msgspec.ValidationError, InputError) as error:
        raise InputError(f"workload {name}: {error}") from error
    if not values.get("command"):
        raise InputError(f"{file}: workload {name} has no command: write command = [...]")
    return SuiteEntry(described, values)


def _name(file: Path) -> str:
    """A suite is called as its file is; of ``profdiff.toml`` as the folder."""
    return file.stem if file.name != "profdiff.toml" else file.resolve().parent.name or "suite"


def _text(file: Path, key: str, value: object) -> str:
    from profdiff.session.suite import problem_with

    if isinstance(value, str) and not problem_with(value):
        return value
    if key == NAME and value == _name(file):
        return "suite"
    raise InputError(f"{file}: {key} is not a name: {problem_with(str(value)[:80])}")


_MAX_SIZE = 2**20
# tomllib's time grows with the square of a key's parts: 64 KiB of them take it a minute.
_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){32}""")


def read(file: Path) -> dict[str, Any]:
    """What the file holds. Raises InputError when it is absent, too large or no TOML."""
    import tomllib

    try:
        text = bounded.read(file, _MAX_SIZE).decode()
        if long := _LONG_KEY.search(text):
            line = text.count("\n", 0, long.start()) + 1
            raise InputError(f"{file}:{line}: a key has at most 32 parts")
        return tomllib.loads(text)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise InputError(f"{file} is too large to be an experiment") from error
        raise InputError(f"cannot read the experiment {file}: {error.strerror}") from error
    # A number of too many digits is a ValueError, as the errors of TOML and UTF-8 are.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not valid TOML: {error}") from error
