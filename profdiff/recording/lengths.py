"""Two lengths of a workload, whose difference has neither its start-up nor its exit.

A program without marks is counted as a whole. Where a parameter is its number of operations, each
point runs with that number and with half of it: what is equal in both cancels out.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from profdiff.base.errors import InputError

OPS = "ops"
"""The parameter that --ops gives to a command that names it."""

_NONE = "none"
_WHOLE = "the counts are of the whole command, start-up included"

Row = Mapping[str, str]


@dataclass(frozen=True)
class Lengths:
    """``parameter`` as it stands at a point and half of it, or the two numbers of ``fixed``."""

    parameter: str
    fixed: tuple[int, int] | None = None

    def long(self, row: Row) -> Row:
        """The parameters of the longer run at a point."""
        return {**row, self.parameter: str(self.fixed[1])} if self.fixed else row

    def short(self, row: Row) -> Row:
        """The parameters of the shorter run, from those of the longer one."""
        number = self.fixed[0] if self.fixed else int(row[self.parameter]) // 2
        return {**row, self.parameter: str(number)}

    @property
    def note(self) -> str:
        """What a user must know before anything runs."""
        name = self.parameter
        half = f"half of {{{name}}}"
        if self.fixed:
            half = f"{{{name}}} = {self.fixed[0]}"
        return (
            f"each point also runs with {half}, and reports subtract that run: start-up, set-up "
            "and exit cancel out (--difference none counts the whole command, in fewer runs)"
        )


@dataclass(frozen=True)
class LengthChoice:
    """What there is to choose from. ``command``: its words, which name ``names``; ``ops`` is a rule
    that depends on some of them; ``rows``: values by parameter at each point."""

    command: Sequence[str]
    names: Sequence[str]
    ops: str | None
    rows: Sequence[Row]


def asked(text: str, wanted: LengthChoice) -> Lengths | None:
    """--difference: ``NAME=SHORT,LONG``, ``NAME``, ``none``. Raises InputError."""
    if text == _NONE:
        return None
    match = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]{0,63})(?:=(\d{1,15}),(\d{1,15}))?", text)
    if not match or (match[2] and int(match[2]) >= int(match[3])):
        raise InputError(
            f"--difference {text}: write NAME, NAME=SHORT,LONG (two numbers of iterations), or none"
        )
    name, swept = match[1], match[1] in wanted.rows[0]
    if name not in wanted.names and not swept:
        near = get_close_matches(name, sorted(wanted.names), 1)
        hint = f", it has {{{near[0]}}}" if near else ""
        raise InputError(f"--difference {name}: the command does not use {{{name}}}{hint}")
    if match[2] and swept:
        raise InputError(
            f"--difference {name}: the parameter is already swept; --difference {name} alone takes "
            "each of its values and half of it"
        )
    if not match[2] and not swept:
        raise InputError(
            f"--difference {name}: {{{name}}} has no values: write --difference {name}=SHORT,LONG, "
            f"or --sweep {name}=..."
        )
    found = Lengths(name, (int(match[2]), int(match[3])) if match[2] else None)
    if wanted.ops is not None and f"{{{name}}}" not in wanted.ops:
        raise InputError(
            f"--ops {wanted.ops}: both lengths would hold the same number of operations, so their "
            f"difference would hold none: multiply by {{{name}}}"
        )
    if not match[2] and (problem := _without_half(name, wanted.rows)):
        raise InputError(f"--difference {name}: {problem}")
    return found


def chosen(wanted: LengthChoice) -> tuple[Lengths | None, str | None]:
    """The lengths of a command that nothing was said of, and what to tell its user."""
    names = [name for name in wanted.rows[0] if f"{{{name}}}" in (wanted.ops or "")]
    if len(names) > 1:
        options = " or ".join(f"--difference {name}" for name in names)
        return None, (
            f"{_WHOLE}: --ops multiplies {' and '.join(names)}; say which of them is the number of "
            f"iterations with {options}"
        )
    if not names:
        return None, _how_to_say(wanted)
    if problem := _without_half(names[0], wanted.rows):
        return None, f"{_WHOLE}: {problem}"
    return Lengths(names[0]), None


def _without_half(name: str, rows: Sequence[Row]) -> str | None:
    """What is wrong with the first value that has no half."""
    for row in rows:
        value = row[name]
        if not re.fullmatch(r"\d{1,18}", value):
            return f"{name} is {value}, which is not a whole number, so it has no half"
        if int(value) < 2:
            return f"{name} is {value}, so it has no half: give at least 2"
    return None


def _how_to_say(wanted: LengthChoice) -> str:
    """How to say which word of the command is its number of operations."""
    words = [n for n, word in enumerate(wanted.command) if n and _number(word)]
    if wanted.rows[0] and wanted.ops is None and not words:
        names = list(wanted.rows[0])
        what, name = (names[0], names[0]) if len(names) == 1 else ("a parameter", "NAME")
        return f"{_WHOLE}: if {what} is the number of operations, add --ops '{{{name}}}'"
    if wanted.ops is None:
        if not words:
            return _WHOLE
        return (
            f"{_WHOLE}: if COMMAND takes a number of operations, write {{ops}} in its place, and "
            "the number behind --ops"
        )
    same = [n for n in words if _number(wanted.command[n]) == _number(wanted.ops.replace(",", ""))]
    told = f"{_WHOLE}, also those per op, which are the whole divided by {wanted.ops}"
    if len(same) != 1:
        return f"{told}: write {{ops}} for the number of operations in COMMAND"
    command = [*wanted.command[: same[0]], f"{{{OPS}}}", *wanted.command[same[0] + 1 :]]
    return (
        f"{told}: write {{ops}} for the number of operations in COMMAND: -- {shlex.join(command)}"
    )


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\d{1,18}", text.strip(), re.ASCII) else None
