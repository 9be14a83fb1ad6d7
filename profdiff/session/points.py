"""What results are about: the points of a session, or each with a shorter one subtracted."""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fractions import Fraction
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.collectors import registry
from profdiff.session.manifest import Manifest, Point, Run


class Setting(msgspec.Struct, frozen=True):
    """What one row of a sweep stands for. ``point`` is a row of the manifest's points; where two
    lengths are subtracted the longer one, and ``short`` the shorter. ``ops``: operations in what is
    left, None if unknown. ``varied``: names of what differs from setting to setting, parameters and
    ``vCPUs``."""

    point: int
    short: int | None
    parameters: Mapping[str, str]
    cpus: int | None
    ops: int | None
    varied: Sequence[str] = ()

    @property
    def names(self) -> Sequence[str]:
        """What --at can name."""
        return [*self.parameters, "vCPUs"]

    def value(self, name: str) -> str:
        """A parameter's value, or the number of vCPUs."""
        return str(self.cpus or "") if name == "vCPUs" else self.parameters.get(name, "")

    @property
    def title(self) -> str:
        """What tells it from the others: ``size_kib 400, vCPUs 2``, with words ``what=maps``; ""
        for the only one."""
        values = {name: self.value(name) for name in self.varied}
        return ", ".join(
            f"{name}{' ' if value[:1].isdigit() else '='}{value}" for name, value in values.items()
        )

    @property
    def points(self) -> list[int]:
        """The points that it needs, the shorter one first."""
        return [self.point] if self.short is None else [self.short, self.point]


_NUMBER = re.compile(r"[+-]?\d{1,30}(\.\d{0,30})?(e[+-]?\d{1,2})?", re.ASCII | re.IGNORECASE)
# Through fewer points there is always a line.
_LINE = 3


def is_number(text: str) -> bool:
    """Whether a parameter's value is a number, of a bounded size."""
    return _NUMBER.fullmatch(text) is not None


def axis(every: Sequence[Setting]) -> tuple[str, list[str]]:
    """What a chart or a line is over, and the other parameters, each of whose values needs its own:
    the parameter with the most numbers as values, but the number of ops only if no other has three;
    those that follow from it (as zipped ones do) need none. Some must vary."""
    names = every[0].varied
    columns = {name: [setting.value(name) for setting in every] for name in names}

    def preference(name: str) -> tuple[int, bool, int, int]:
        values = set(columns[name])
        numbers = sum(map(is_number, values))
        return min(numbers, _LINE), not is_ops(every, name), numbers, len(values)

    chosen = max(names, key=preference)
    count = len(set(columns[chosen]))
    pairs = {name: set(zip(columns[chosen], columns[name], strict=True)) for name in names}
    return chosen, [name for name in names if len(pairs[name]) > count]


def is_ops(every: Sequence[Setting], name: str) -> bool:
    """Whether the numbers of ops differ as a parameter's values do: it is their number, or that of
    both lengths."""
    if len({setting.ops for setting in every}) < 2:
        return False
    shares = {
        Fraction(value) / setting.ops if setting.ops and is_number(value) else None
        for setting in every
        for value in (setting.value(name),)
    }
    return len(shares) == 1 and None not in shares


def settings(manifest: Manifest) -> list[Setting]:
    """The settings of a session, in the order of its points. Where points have a shorter one, those
    that have none are only subtracted."""
    return settings_of(manifest.points)


def settings_of(every: Sequence[Point]) -> list[Setting]:
    """The settings that points make, as ``settings``."""
    paired = any(point.shorter is not None for point in every)
    found = []
    for row, point in enumerate(every):
        if paired and point.shorter is None:
            continue
        less = every[point.shorter].ops if point.shorter is not None else 0
        ops = point.ops and point.ops - (less or 0)
        found.append(Setting(row, point.shorter, point.parameters, point.cpus, ops))
    varied = varied_names([one.parameters for one in found], [one.cpus for one in found])
    return [replace(setting, varied=varied) for setting in found]


class Varied(Protocol):
    """What ``--at`` can name."""

    @property
    def varied(self) -> Sequence[str]:
        """Names of what differs from the others."""

    @property
    def names(self) -> Sequence[str]:
        """All names that have a value."""

    def value(self, name: str) -> str:
        """What it is here."""


V = TypeVar("V", bound=Varied)


def named(known: Sequence[V], wanted: str) -> V:
    """The one of ``known`` that ``NAME=VALUE,...`` names. Raises InputError when it names none or
    several."""
    chosen = known
    told = list(map(name, known))
    names = list(dict.fromkeys(one for each in known for one in each.names))
    for part in map(str.strip, wanted.split(",")):
        varied, equals, value = part.partition("=")
        if not equals or varied not in names:
            raise InputError(f"--at {wanted}: {_no_name(part, varied, names, told)}")
        chosen = [one for one in chosen if one.value(varied) == value]
    if len(chosen) == 1:
        return chosen[0]
    near = get_close_matches(wanted, told, 1, 0)
    what = f"matches {len(chosen)} points" if chosen else "matches no point"
    raise InputError(f"--at {wanted} {what}" + (f"; try {near[0]}" if near and near[0] else ""))


def _no_name(part: str, varied: str, names: Sequence[str], told: Sequence[str]) -> str:
    """What is wrong with a part of --at that names no parameter of ``names``, or no value."""
    if len(told) < 2:
        return "there is one point alone: leave --at out"
    near = get_close_matches(part, told, 1, 0)
    if "=" in part:
        return f"there is no parameter {varied}, but {units.listed(names)}: try {near[0]}"
    return f"write NAME=VALUE,...: try {near[0]}"


def name(one: Varied) -> str:
    """What ``named`` finds it by: ``size_kib=400,vCPUs=2``; "" for the only one."""
    return ",".join(f"{varied}={one.value(varied)}" for varied in one.varied)


def number_of(manifest: Manifest) -> str:
    """How many settings there are, in words: ``4 points, each at two lengths``."""
    found = settings(manifest)
    points = units.counted(len(found), "point")
    if not any(one.short is not None for one in found):
        return points
    return f"{points}, {'each ' if len(found) > 1 else ''}at two lengths"


def titles(manifest: Manifest) -> list[str]:
    """What tells each point from the others, the shorter ones too; "" for the only one."""
    every = manifest.points
    varied = varied_names([point.parameters for point in every], [point.cpus for point in every])
    return [
        Setting(row, None, point.parameters, point.cpus, None, varied).title
        for row, point in enumerate(every)
    ]


def varied_names(parameters: Sequence[Mapping[str, str]], cpus: Sequence[int | None]) -> list[str]:
    """What differs from point to point: parameters, then ``vCPUs``."""
    names = dict.fromkeys(name for parameter in parameters for name in parameter)
    varied = [
        name for name in names if len({parameter.get(name, "") for parameter in parameters}) > 1
    ]
    return [*varied, *(["vCPUs"] if len(set(cpus)) > 1 else [])]


def lengths(manifest: Manifest, setting: Setting) -> dict[str, tuple[str, str]]:
    """By parameter, its values in the shorter run and in the longer one of a setting; none where
    nothing is subtracted."""
    if setting.short is None:
        return {}
    shorter = manifest.points[setting.short].parameters
    return {
        name: (shorter[name], value)
        for name, value in setting.parameters.items()
        if shorter.get(name, value) != value
    }


def recorded_at(manifest: Manifest, collector: str) -> list[int]:
    """The points at which a collector runs. What only times the workload runs at the lengths that
    were asked for, unless nothing else is recorded."""
    counts = [name for name in manifest.collectors if registry.collector(name).subtracted]
    if collector in counts or not counts:
        return list(range(len(manifest.points)))
    return [setting.point for setting in settings(manifest)]


def substitute(text: str, parameters: Mapping[str, str]) -> str:
    """``text`` with the values of parameters in place of ``{NAME}``; other braces stay."""
    if not parameters:
        return text
    names = "|".join(map(re.escape, parameters))
    return re.sub(rf"\{{({names})\}}", lambda match: parameters[match[1]], text)


def by_boot(runs: Sequence[Run]) -> list[list[int]]:
    """Which of ``runs`` shared a boot: their numbers, boot after boot."""
    boots: dict[str, list[int]] = {}
    for number, run in enumerate(runs):
        boots.setdefault(run.boot or run.id, []).append(number)
    return list(boots.values())


Cells = Mapping[tuple[str, str, int], Sequence[Run]]


def cells(manifest: Manifest) -> Cells:
    """All runs of each cell in all states, failed ones too, in the order of their repetitions; by
    the kernel's label, collector and point. A cell without a run is left out."""
    found: dict[tuple[str, str, int], list[Run]] = {}
    for run in sorted(manifest.runs, key=lambda run: run.repetition):
        found.setdefault((run.kernel, run.collector, run.point), []).append(run)
    return found


def cells_by_state(manifest: Manifest) -> Mapping[int, Cells]:
    """The same of each state in which there are runs, in order, and of the plain one, 0."""
    found: dict[int, dict[tuple[str, str, int], list[Run]]] = {0: {}}
    for key, runs in cells(manifest).items():
        for run in runs:
            found.setdefault(run.state, {}).setdefault(key, []).append(run)
    return dict(sorted(found.items()))
