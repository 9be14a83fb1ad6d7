"""The experiment file: TOML whose keys are the options of ``record``, as defaults of its command.

A value is written as TOML has it; a list is what the option takes with commas or several times, a
table what it takes as NAME=VALUE. Paths that exist beside the file are meant from there.
"""

import errno
import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from profdiff.base import bounded
from profdiff.base.errors import InputError

DEFAULT_FILE = Path("profdiff.toml")
_MAX_SIZE = 2**20
# Options whose values may begin with a path; LABEL= or nothing stands before it.
_PATHS = {"kernel", "series", "file", "qemu", "metric-sample", "sysroot"}
_GIT = "git:"
# As collectors/kernels/git_spec.py takes them apart.
_OPTION = re.compile(r",(?=[a-z]+=)")
_PATCH = re.compile(r"\+([^+~]+)")
# Of the command line alone.
_NO_KEYS = {"experiment", "everything", "yes"}


class ExperimentCommand(click.Command):
    """A command whose options have their defaults from ``--experiment FILE``, or from profdiff.toml
    in the current folder where no COMMAND is given."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        command, file = given.get("command"), given.get("experiment")
        # What was not given is no string and no tuple, but click's own mark.
        if isinstance(file, str):
            ctx.default_map = self.defaults(Path(file))
        elif not (isinstance(command, tuple) and command) and DEFAULT_FILE.is_file():
            ctx.default_map = self.defaults(DEFAULT_FILE)
        return super().parse_args(ctx, args)

    def defaults(self, file: Path) -> dict[str, Any]:
        """The values of ``file`` by parameter. Raises InputError."""
        return {
            parameter.name or "": _value(file, key, value, parameter)
            for key, value in read(file).items()
            for parameter in [self._parameter(file, key)]
        }

    def _parameter(self, file: Path, key: str) -> click.Parameter:
        known: dict[str, click.Parameter] = {}
        for parameter in self.params:
            if isinstance(parameter, click.Argument):
                known["command"] = parameter
            for option in parameter.opts:
                if option.startswith("--") and parameter.name not in _NO_KEYS:
                    known[option.removeprefix("--")] = parameter
        name = key.replace("_", "-")
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f": did you mean {near[0]}?" if near else f" (known: {', '.join(sorted(known))})"
            raise InputError(f"{file}: unknown key {key}{hint}")
        return known[name]


def read(file: Path) -> dict[str, Any]:
    """What the file holds. Raises InputError when it is absent, too large or no TOML."""
    import tomllib

    try:
        return tomllib.loads(bounded.read(file, _MAX_SIZE).decode())
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise InputError(f"{file} is too large to be an experiment") from error
        raise InputError(f"cannot read the experiment {file}: {error.strerror}") from error
    # A number of too many digits is a ValueError, as the errors of TOML and UTF-8 are.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file} is not valid TOML: {error}") from error


def _value(file: Path, key: str, value: object, parameter: click.Parameter) -> object:
    """A value as click takes a default of ``parameter``."""
    name = key.replace("_", "-")
    if name == "command":
        if not isinstance(value, list):
            raise InputError(f"{file}: {key} must be a list")
        words = _texts(file, key, value)
        return [_from(file, words[0]), *words[1:]] if words else []
    if isinstance(parameter, click.Option) and parameter.is_flag:
        if not isinstance(value, bool):
            raise InputError(f"{file}: {key} must be true or false")
        return value
    if isinstance(value, Mapping):
        texts = [f"{one}={','.join(_texts(file, key, its))}" for one, its in value.items()]
    else:
        texts = _texts(file, key, value)
    if name in _PATHS:
        texts = [_from(file, text) for text in texts]
    return texts if parameter.multiple else ",".join(texts)


def _texts(file: Path, key: str, value: object) -> list[str]:
    return [_text(file, key, one) for one in (value if isinstance(value, list) else [value])]


def _text(file: Path, key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{file}: {key} holds a value that is neither text nor a number")
    # TOML's integers are of 64 bits, its parser's are not.
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InputError(f"{file}: {key} holds a number that is too large")
    text = str(value)
    if "\0" in text:
        raise InputError(f"{file}: {key} holds a NUL, which an argument cannot")
    return text


def _from(file: Path, text: str) -> str:
    """``[LABEL=]PATH...`` with a path that exists beside ``file`` as seen from here."""
    label, equals, path = text.partition("=")
    # In debian:SUITE,arch=ARCH, what stands before = is no label.
    if not equals or "/" in label or ":" in label:
        label, equals, path = "", "", text
    if path.startswith(_GIT):
        return f"{label}{equals}{_git_from(file, path)}"
    first, *rest = path.split(":" if ":" in path and not path.startswith("debian:") else ",", 1)
    beside = file.parent / first
    if first and not Path(first).is_absolute() and _exists(beside) and file.parent != Path():
        separator = path[len(first) : len(first) + 1]
        path = separator.join([os.path.relpath(beside), *rest])
        if "/" not in path:
            path = f"./{path}"
    return f"{label}{equals}{path}"


def _git_from(file: Path, spec: str) -> str:
    """``git:REPO...`` with the repository, patches and a config beside ``file`` as seen from
    here."""
    body, *options = _OPTION.split(spec.removeprefix(_GIT))
    ends = [at for at, sign in enumerate(body) if at and sign in "@+~"] + [len(body)]
    found = next((end for end in ends if _exists(file.parent / body[:end])), None)
    if found is None:
        return spec
    changes = _PATCH.sub(lambda one: "+" + _beside(file, one[1]), body[found:])
    named = (option.partition("=") for option in options)
    told = [f",{name}={_beside(file, value)}" for name, _, value in named]
    return f"{_GIT}{_beside(file, body[:found])}{changes}{''.join(told)}"


def _beside(file: Path, path: str) -> str:
    """A path as seen from here, if there is such a file or folder beside ``file``."""
    plain = not path or path.startswith(("~", "/"))
    return path if plain or not _exists(file.parent / path) else os.path.relpath(file.parent / path)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long
        return False
