"""Programs as the sides of a comparison: what ``--variant LABEL=...`` gives each, and the workload
of each made ready, so that all start alike.

A side is a program, which ``{program}`` in COMMAND stands for; an environment, ``NAME=VALUE``; or
a root folder, in which COMMAND's program is looked up. All sides have one path in the guest, the
same arguments, and as many bytes of environment.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from profdiff.base.errors import InputError
from profdiff.collectors.kernels.label import is_label
from profdiff.collectors.workload.compilation import is_source
from profdiff.collectors.workload.files import GuestFile
from profdiff.collectors.workload.root import GUEST_FOLDER
from profdiff.collectors.workload.workload import PreparedWorkload

PROGRAM = "{program}"
"""Stands in a command for the program of each side."""
_MAX_SIDES = 64
_LIBRARIES = f"{GUEST_FOLDER}/lib"
_SEARCHED = "LD_LIBRARY_PATH"
# What an environment is filled up with.
_FILLER = "PROFDIFF_SAME_SIZE"
Kind = Literal["program", "environment", "sysroot"]
_TOLD: Mapping[Kind, str] = {
    "program": "a program",
    "environment": "an environment",
    "sysroot": "a root folder",
}


class Side(NamedTuple):
    """``value``: a path, or of an environment ``NAME=VALUE``."""

    kind: Kind
    value: str

    @property
    def told(self) -> str:
        """What it gives, in a word: ``program=./a``."""
        return self.value if self.kind == "environment" else f"{self.kind}={self.value}"


def parse(texts: Sequence[str]) -> dict[str, Side]:
    """The sides of ``LABEL=PROGRAM|NAME=VALUE|DIR``, by label. Raises InputError for one that is
    malformed or not there, and for what cannot be compared."""
    sides: dict[str, Side] = {}
    for text in texts:
        label, equals, value = text.partition("=")
        if not (equals and is_label(label) and value):
            raise InputError(
                f"--variant {text}: write LABEL=PROGRAM, LABEL=DIR or LABEL=NAME=VALUE"
            )
        if label in sides:
            raise InputError(f"--variant: the label {label} is given twice")
        sides[label] = Side(_kind(text, value), value)
    if len(sides) == 1:
        (label,) = sides
        raise InputError(
            f"--variant {label} is the only one: give --variant at least twice, the base first"
        )
    if len(sides) > _MAX_SIDES:
        raise InputError(f"--variant is given {len(sides)} times, more than {_MAX_SIDES}")
    kinds = {side.kind: label for label, side in sides.items()}
    if len(kinds) > 1:
        told = ", ".join(f"{label} is {_TOLD[kind]}" for kind, label in kinds.items())
        raise InputError(f"--variant: {told}: give variants of one kind")
    return sides


def _kind(text: str, value: str) -> Kind:
    if not value.isprintable():
        raise InputError(f"--variant {text!r} has a control character")
    if re.match(r"[A-Za-z_]\w*=", value):
        return "environment"
    path = Path(value)
    if path.is_dir():
        return "sysroot"
    if not path.is_file():
        raise InputError(f"--variant {text}: there is no file or folder {value}")
    return "program"


def example(sides: Mapping[str, Side], command: Sequence[str]) -> list[str]:
    """A ``command`` with the first side's program in it. Raises InputError unless its first word
    stands for the program where sides are programs, and only there."""
    first = next(iter(sides.values()), None)
    places = [number for number, word in enumerate(command) if PROGRAM in word]
    if first is None or first.kind != "program":
        if first and places:
            raise InputError(
                f"{PROGRAM} stands for programs, and --variant gives {_TOLD[first.kind]}: write "
                "the program's name"
            )
        return list(command)
    if list(command[:1]) != [PROGRAM] or len(places) > 1:
        raise InputError(
            f"--variant gives programs, which the first word of COMMAND stands for: write -- "
            f"'{PROGRAM}' ARGUMENTS, without an interpreter, which a script names in its #! line"
        )
    return [first.value, *command[1:]]


def prepared(
    sides: Mapping[str, Side],
    command: Sequence[str],
    extra: Sequence[str],
    prepare: Callable[..., PreparedWorkload],
) -> dict[str, PreparedWorkload]:
    """``command`` for each side, by label. ``prepare``: makes a command with extra files ready.
    Raises what it does, and InputError where sides would not start alike."""
    found: dict[str, PreparedWorkload] = {}
    longest = max(len(_environment(side)) for side in sides.values())
    name = _name(sides.values())
    for label, side in sides.items():
        more: dict[str, Any] = {}
        files, words, environment = list(extra), list(command), _environment(side)
        if side.kind == "program":
            words, more = [side.value, *command[1:]], {"place": f"{GUEST_FOLDER}/{name}"}
        elif side.kind == "sysroot":
            more = {"sysroots": [side.value]}
        elif environment:
            variable, _, value = side.value.partition("=")
            if Path(value).is_file():
                files.append(f"{value}:{GUEST_FOLDER}/{variable}")
        try:
            with _searched(side):
                libraries = _LIBRARIES if side.kind == "environment" else None
                one = prepare(words, files, libraries=libraries, **more)
        except InputError as error:
            raise InputError(f"--variant {label}: {error}") from error
        given = (environment, f"{_FILLER}={'x' * (longest - len(environment))}")
        found[label] = replace(
            one, argv=tuple(command), environment=given if longest else (), source=None
        )
    _refuse_unlike(found)
    return found


def _name(sides: Any) -> str:
    """What all programs are called in the guest."""
    paths = [Path(side.value) for side in sides]
    names = {path.stem if is_source(path) else path.name for path in paths}
    return names.pop() if len(names) == 1 else "program"


def _environment(side: Side) -> str:
    """The variable that the guest has; a file that it names has one place there. ld.so finds what
    LD_LIBRARY_PATH leads to here by its cache, at one place for all sides."""
    variable, _, value = side.value.partition("=")
    if side.kind != "environment" or variable == _SEARCHED:
        return ""
    return f"{variable}={GUEST_FOLDER}/{variable}" if Path(value).is_file() else side.value


@contextmanager
def _searched(side: Side) -> Iterator[None]:
    """While libraries are looked up, as the side's ld.so would."""
    variable, _, value = side.value.partition("=")
    before = os.environ.get(_SEARCHED)
    if side.kind == "environment" and variable == _SEARCHED:
        os.environ[_SEARCHED] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(_SEARCHED, None)
        else:
            os.environ[_SEARCHED] = before


def _refuse_unlike(found: Mapping[str, PreparedWorkload]) -> None:
    (label, base), *others = found.items()
    for other, one in others:
        if one.guest_argv != base.guest_argv:
            told = f"{label} by {base.guest_argv[0]}, {other} by {one.guest_argv[0]}"
            raise InputError(
                f"--variant: these start differently ({told}), so that nothing would be the "
                "program's alone: give both as a root folder, or write the interpreter in COMMAND"
            )
        if one.is_test != base.is_test:
            raise InputError(f"--variant: only one of {label} and {other} is a will-it-scale test")
        if one.has_marks != base.has_marks:
            with_marks, without = (label, other) if base.has_marks else (other, label)
            raise InputError(
                f"--variant: {with_marks} has marks and {without} has none: their windows do not "
                "compare"
            )


def common(found: Mapping[str, PreparedWorkload]) -> PreparedWorkload:
    """The first side's workload, with those of its files that all sides have alike."""
    base, *others = found.values()
    shared = [{(one.guest_path, one.sha256()) for one in other.files} for other in others]
    alike = [
        file
        for file in base.files
        if all((file.guest_path, file.sha256()) in known for known in shared)
    ]
    return replace(base, files=tuple(alike))


def own_files(
    found: Mapping[str, PreparedWorkload], shared: PreparedWorkload
) -> dict[str, list[GuestFile]]:
    """By label, the files that only this side has so."""
    known = {file.guest_path for file in shared.files}
    return {
        label: [file for file in one.files if file.guest_path not in known]
        for label, one in found.items()
    }
