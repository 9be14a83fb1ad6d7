"""What results are about: the points of a session, or pairs of them whose difference counts."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from profdiff.session.manifest import Manifest, Run


@dataclass(frozen=True)
class Setting:
    """What one row of a sweep stands for. ``point`` is a row of the manifest's points; with
    ``--difference`` the longer one, and ``short`` the shorter, which is subtracted. ``ops``:
    operations in what is left, None if unknown. ``title``: what tells it from the others:
    ``size_kib 400, vCPUs 2``; "" for the only one."""

    point: int
    short: int | None
    parameters: Mapping[str, str]
    cpus: int | None
    ops: int | None
    title: str = ""

    @property
    def points(self) -> list[int]:
        """The points that it needs, the shorter one first."""
        return [self.point] if self.short is None else [self.short, self.point]


def settings(manifest: Manifest) -> list[Setting]:
    """The settings of a session, in the order of its points."""
    found = _settings(manifest)
    swept = _varied(found)
    return [replace(one, title=title(swept, one)) for one in found] if swept else found


def _settings(manifest: Manifest) -> list[Setting]:
    difference = manifest.difference
    if difference is None:
        return [
            Setting(row, None, point.parameters, point.cpus, point.ops)
            for row, point in enumerate(manifest.points)
        ]
    found: dict[tuple[object, ...], dict[str, int]] = {}
    for row, point in enumerate(manifest.points):
        others = _without(point.parameters, difference.parameter)
        key = (tuple(others.items()), point.cpus)
        found.setdefault(key, {})[point.parameters.get(difference.parameter, "")] = row
    made = []
    for rows in found.values():
        short, long = rows.get(str(difference.short)), rows.get(str(difference.long))
        if short is None or long is None:
            continue
        point = manifest.points[long]
        ops = difference.long - difference.short
        before = manifest.points[short].ops
        if point.ops and before:
            ops = point.ops - before
        others = _without(point.parameters, difference.parameter)
        made.append(Setting(long, short, others, point.cpus, max(ops, 1)))
    return made


def _without(parameters: Mapping[str, str], name: str) -> dict[str, str]:
    return {key: value for key, value in parameters.items() if key != name}


def varied(manifest: Manifest) -> list[str]:
    """What differs from setting to setting: names of parameters, and ``vCPUs``."""
    return _varied(_settings(manifest))


def _varied(mine: Sequence[Setting]) -> list[str]:
    names = dict.fromkeys(name for setting in mine for name in setting.parameters)
    found = [name for name in names if len({s.parameters.get(name) for s in mine}) > 1]
    return found + (["vCPUs"] if len({setting.cpus for setting in mine}) > 1 else [])


def title(swept: Sequence[str], setting: Setting) -> str:
    """What tells a setting from the others, of which the names ``swept`` differ (``varied``):
    ``size_kib 400, vCPUs 2``; "" for the only one."""
    return ", ".join(f"{name} {value_of(setting, name)}" for name in swept)


def value_of(setting: Setting, name: str) -> str:
    """A parameter's value, or the number of vCPUs."""
    if name == "vCPUs":
        return str(setting.cpus or "")
    return setting.parameters.get(name, "")


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
    """All runs of each cell, failed ones too, in the order of their repetitions; by the kernel's
    label, collector and point. A cell without a run is left out."""
    found: dict[tuple[str, str, int], list[Run]] = {}
    for run in sorted(manifest.runs, key=lambda run: run.repetition):
        found.setdefault((run.kernel, run.collector, run.point), []).append(run)
    return found
