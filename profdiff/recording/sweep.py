"""From what a user says of a sweep to its points: parameters, vCPUs, operations."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product

from profdiff.base.errors import InputError
from profdiff.recording import lengths
from profdiff.recording.lengths import OPS, LengthChoice, Lengths, Row
from profdiff.session import manifest as m
from profdiff.session.points import substitute

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
# Values of the parameter {ops} that can be numbers of operations.
_OPERATIONS = re.compile(r"(?!0+\Z)[0-9]{1,18}")
_MAX_POINTS = 10_000
_TOO_MANY, _UNCOUNTED = 2**63, "that is more than can be counted"
COPY = "copy"
"""The parameter that is 0, 1 … in the command of each copy."""


@dataclass(frozen=True)
class Sweep:
    """``texts``, ``difference`` and ``ops`` as --sweep, --difference and --ops have them;
    ``zipped``: parameters side by side instead of crossed. ``copies``: how many copies of the
    command do ``ops`` operations each, on vCPUs of their own. ``op``: what one operation is,
    "" if nobody said."""

    texts: Sequence[str]
    zipped: bool
    difference: str | None
    ops: str | None
    cpus: Sequence[int]
    copies: int = 1
    op: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said of points but of vCPUs."""
        return not self.texts and self.difference is None and self.ops is None


def parse_sweep(texts: Sequence[str]) -> dict[str, list[str]]:
    """``NAME=VALUE,VALUE...`` of ``--sweep``: values by name. Raises InputError."""
    parameters: dict[str, list[str]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not _NAME.fullmatch(name) or not equals or not values:
            raise InputError(f"--sweep {text}: write NAME=VALUE,VALUE...")
        if name in parameters:
            raise InputError(f"--sweep {name}: the name is given twice")
        parameters[name] = [value.strip() for value in values.split(",")]
        if len(set(parameters[name])) < len(parameters[name]) or "" in parameters[name]:
            raise InputError(f"--sweep {text}: a value is empty or given twice")
    return parameters


@dataclass(frozen=True)
class Points:
    """``every`` point, with the shorter ones that are subtracted; ``note``: what to tell of that
    before anything runs."""

    every: list[m.Point]
    note: str | None


def points(asked: Sweep, command: Sequence[str], *, in_guests: bool, whole: bool = False) -> Points:
    """All points: parameters crossed, or one by one, each in guests with every number of vCPUs.

    ``ops`` is a number, or a product of numbers and ``{NAME}``. ``whole``: the command is counted
    from its start to its end, so points get a shorter one where a parameter is the number of
    operations, unless --difference says otherwise. Raises InputError for a parameter that the
    command does not use.
    """
    cpus: Sequence[int | None] = asked.cpus if in_guests else [None]
    if in_guests and min(asked.cpus) < asked.copies:
        raise InputError(
            f"--copies {asked.copies}: each copy has a vCPU of its own: give at least --cpus "
            f"{asked.copies}"
        )
    names = _names_in(" ".join(command))
    _refuse_unnamed(asked, names, " ".join(command))
    rows, rule = _rows(asked, names, len(cpus)), asked.ops
    if _takes_ops(asked, names) and OPS not in rows[0]:
        # The command names the number of operations: it is a parameter like others.
        rows = [{**row, OPS: str(_count(rule, row))} for row in rows]
        rule = None
    if rule is None and all(_OPERATIONS.fullmatch(row.get(OPS, "")) for row in rows):
        rule = f"{{{OPS}}}"
    wanted = LengthChoice(command, names, rule, rows)
    pair: Lengths | None = None
    note: str | None = None
    if asked.difference is not None:
        pair = lengths.asked(asked.difference, wanted)
    elif whole:
        pair, note = lengths.chosen(wanted)
    every = [_of_all(point, asked) for point in _points(rows, cpus, rule, pair)]
    return Points(every, pair.note if pair else note)


def _refuse_unnamed(asked: Sweep, names: Sequence[str], command: str) -> None:
    """Raise InputError where the command names a parameter that has no value: it would get the
    braces. A shell's ``${NAME}`` is its own."""
    given = {text.partition("=")[0] for text in [*asked.texts, asked.difference or ""]}
    for name in names:
        if name in given or name == OPS or not re.search(rf"(?<!\$)\{{{name}\}}", command):
            continue
        if name == COPY:
            if asked.copies > 1:
                continue
            raise InputError(
                f"the command uses {{{COPY}}}, the number of each copy: give --copies, at least 2"
            )
        known = {one.lower(): one for one in [*sorted(given - {""}), *([OPS] if asked.ops else [])]}
        near = get_close_matches(name.lower(), known, 1)
        meant = f"write {{{known[near[0]]}}}" if near else f"add --sweep {name}=VALUE,..."
        raise InputError(
            f"the command uses {{{name}}}, which has no value: {meant}; braces that are the "
            f"command's own have a space in them: {{ {name} }}"
        )
    if asked.zipped and len(asked.texts) < 2:
        raise InputError("--zip steps through several parameters: give --sweep for each of them")


def _of_all(point: m.Point, asked: Sweep) -> m.Point:
    """The point of one copy, with the operations of all. Raises InputError."""
    ops = point.ops and point.ops * asked.copies
    if ops and ops >= _TOO_MANY:
        raise InputError(f"--copies {asked.copies}: {_UNCOUNTED}")
    return m.replace(point, ops=ops)


def _takes_ops(asked: Sweep, names: Sequence[str]) -> bool:
    """Whether the command names {ops}, of which --difference does not give the values."""
    return OPS in names and not (asked.difference or "").startswith(f"{OPS}=")


def _rows(asked: Sweep, names: Sequence[str], cpus: int) -> Sequence[Row]:
    """Values by parameter at each point, before vCPUs and lengths."""
    parameters = parse_sweep(asked.texts)
    own = _takes_ops(asked, names) and OPS not in parameters
    if own and asked.ops is None:
        raise InputError(
            "the command uses {ops}: give the number of operations with --ops, or several with "
            "--sweep ops=..."
        )
    used = [*names, *(_names_in(asked.ops) if own else [])]
    if COPY in parameters and asked.copies > 1:
        raise InputError(
            f"--sweep {COPY}: {{{COPY}}} is the number of each copy (--copies): give the parameter "
            "another name"
        )
    for name in parameters:
        if name not in used:
            near = get_close_matches(name, sorted(used), 1)
            hint = f", it has {{{near[0]}}}" if near else ""
            raise InputError(f"--sweep {name}: the command does not use {{{name}}}{hint}")
    if asked.zipped and len({len(values) for values in parameters.values()}) > 1:
        told = ", ".join(f"{name} {len(values)}" for name, values in parameters.items())
        raise InputError(f"--zip: the parameters have different numbers of values ({told})")
    count = 1
    for values in parameters.values():
        count = len(values) if asked.zipped else count * len(values)
    if count * cpus > _MAX_POINTS:
        raise InputError(f"the sweep has {count * cpus:,} points, more than {_MAX_POINTS:,}")
    every = parameters.values()
    combined = zip(*every, strict=True) if asked.zipped else product(*every)
    return [dict(zip(parameters, values, strict=True)) for values in combined] or [{}]


def _points(
    rows: Sequence[Row], cpus: Sequence[int | None], rule: str | None, pair: Lengths | None
) -> list[m.Point]:
    """The points that were asked for, and behind them those that are only subtracted; equal ones
    are one."""
    known: dict[object, int] = {}
    made: list[m.Point] = []

    def add(row: Row, number: int | None) -> int:
        key = (tuple(row.items()), number)
        if key not in known:
            known[key] = len(made)
            made.append(m.Point(dict(row), number, _ops(rule, row, pair)))
        return known[key]

    long = [(pair.long(row) if pair else row, number) for row in rows for number in cpus]
    asked = [add(row, number) for row, number in long]
    if pair:
        for at, (row, number) in zip(asked, long, strict=True):
            made[at] = m.replace(made[at], shorter=add(pair.short(row), number))
    return made


def _ops(rule: str | None, row: Row, pair: Lengths | None) -> int | None:
    """In the window at a point; None where that is unknown, or there are none."""
    if pair is None:
        return _count(rule, row)
    if row[pair.parameter] == "0":
        return None
    return _count(rule or f"{{{pair.parameter}}}", row)


def _names_in(text: str | None) -> list[str]:
    """The names of ``{NAME}`` in a text, each once."""
    return list(dict.fromkeys(re.findall(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", text or "")))


def _count(rule: str | None, row: Row) -> int | None:
    """--ops, a number or a product of numbers and {NAME}, at a point."""
    if rule is None:
        return None
    result = 1
    for factor in substitute(rule, row).split("*"):
        text = factor.strip().replace(",", "")
        for name in _names_in(text):
            near = get_close_matches(name, sorted(row), 1)
            raise InputError(
                f"--ops {rule}: no --sweep gives {{{name}}} a value: write "
                + (f"{{{near[0]}}}, or --sweep {name}=..." if near else f"--sweep {name}=...")
            )
        if re.fullmatch(r"-?\d{1,18}", text) and int(text) <= 0:
            raise InputError(f"--ops {rule}: an operation or more is counted: write at least 1")
        if re.fullmatch(r"\d{19,}", text, re.ASCII):
            raise InputError(f"--ops {rule}: {_UNCOUNTED}")
        if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
            raise InputError(
                f"--ops {rule}: {factor.strip()!r} is not a whole number: write digits (1000000), "
                "or a product of numbers and {NAME} of a sweep"
            )
        result *= int(text)
    if result >= _TOO_MANY:
        raise InputError(f"--ops {rule}: {_UNCOUNTED}")
    return result
