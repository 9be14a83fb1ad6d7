"""From what a user says of a sweep to its points: parameters, vCPUs, operations."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import product

from profdiff.base.errors import InputError
from profdiff.session import manifest as m
from profdiff.session.points import substitute

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MAX_POINTS = 10_000


@dataclass(frozen=True)
class Asked:
    """``texts``, ``difference`` and ``ops`` as --sweep, --difference and --ops have them;
    ``zipped``: parameters side by side instead of crossed."""

    texts: Sequence[str]
    zipped: bool
    difference: str | None
    ops: str | None
    cpus: Sequence[int]


def parse_sweep(texts: Sequence[str]) -> dict[str, list[str]]:
    """``NAME=VALUE,VALUE...`` of ``--sweep``: values by name. Raises InputError."""
    parameters: dict[str, list[str]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not _NAME.fullmatch(name) or not equals or not values:
            raise InputError(f"--sweep {text}: write NAME=VALUE,VALUE...")
        if name in parameters:
            raise InputError(f"--sweep {name}: the name is given twice")
        parameters[name] = values.split(",")
        if len(set(parameters[name])) < len(parameters[name]) or "" in parameters[name]:
            raise InputError(f"--sweep {text}: a value is empty or given twice")
    return parameters


def parse_difference(text: str | None) -> m.Lengths | None:
    """``NAME=SHORT,LONG`` of ``--difference``. Raises InputError."""
    if text is None:
        return None
    match = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]{0,63})=(\d{1,15}),(\d{1,15})", text)
    if not match or int(match[2]) >= int(match[3]):
        raise InputError(f"--difference {text}: write NAME=SHORT,LONG, two numbers of iterations")
    return m.Lengths(match[1], int(match[2]), int(match[3]))


def points(asked: Asked, command: Sequence[str], *, in_guests: bool) -> list[m.Point]:
    """All points: parameters crossed, or one by one, each in guests with every number of vCPUs, and
    with both lengths of the difference.

    ``ops`` is a number, or a product of numbers and ``{NAME}``; with a difference one that depends
    on the length. Raises InputError for a parameter that the command does not use.
    """
    parameters, difference = parse_sweep(asked.texts), parse_difference(asked.difference)
    cpus: Sequence[int | None] = asked.cpus if in_guests else [None]
    zipped, ops = asked.zipped, asked.ops
    names = [*parameters, *([difference.parameter] if difference else [])]
    if difference and difference.parameter in parameters:
        raise InputError(f"--difference {difference.parameter}: the parameter is already swept")
    used = set(re.findall(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", " ".join(command)))
    for name in names:
        if name not in used:
            near = get_close_matches(name, sorted(used), 1)
            hint = f", it has {{{near[0]}}}" if near else ""
            option = "difference" if difference and name == difference.parameter else "sweep"
            raise InputError(f"--{option} {name}: the command does not use {{{name}}}{hint}")
    if zipped and len({len(values) for values in parameters.values()}) > 1:
        told = ", ".join(f"{name} {len(values)}" for name, values in parameters.items())
        raise InputError(f"--zip: the parameters have different numbers of values ({told})")
    count = 1
    for values in parameters.values():
        count = len(values) if zipped else count * len(values)
    if count * len(cpus) > _MAX_POINTS:
        raise InputError(f"the sweep has {count * len(cpus):,} points, more than {_MAX_POINTS:,}")
    combined = zip(*parameters.values(), strict=True) if zipped else product(*parameters.values())
    rows = [dict(zip(parameters, values, strict=True)) for values in combined] or [{}]
    lengths: list[dict[str, str]] = [{}]
    if difference:
        lengths = [{difference.parameter: str(n)} for n in (difference.short, difference.long)]
        if ops is not None and f"{{{difference.parameter}}}" not in ops:
            raise InputError(
                f"--ops {ops}: both lengths would hold the same number of operations, so their "
                f"difference would hold none: multiply by {{{difference.parameter}}}"
            )
    made = [({**row, **length}, number) for row in rows for number in cpus for length in lengths]
    return [m.Point(row, number, _ops(ops, row)) for row, number in made]


def _ops(rule: str | None, parameters: Mapping[str, str]) -> int | None:
    if rule is None:
        return None
    result = 1
    for factor in substitute(rule, parameters).split("*"):
        text = factor.strip().replace(",", "")
        if not re.fullmatch(r"\d{1,18}", text) or int(text) == 0:
            raise InputError(
                f"--ops {rule}: {factor.strip()!r} is not a number: write a number, or a product "
                "of numbers and {NAME} of a sweep"
            )
        result *= int(text)
    if result >= 2**63:
        raise InputError(f"--ops {rule}: that is more than can be counted")
    return result
