"""Each cell's line over releases. Values of different machines are never in one line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import NamedTuple

from profdiff.base.metric import Metric
from profdiff.evidence.atlas.release_order import release_key
from profdiff.evidence.atlas.source import AtlasSource
from profdiff.evidence.suite.results import Absence, SuiteCell
from profdiff.session.manifest import Kernel

# What tells series apart: the words of AtlasSource.machines, the metric, the vCPUs, and, where
# recordings mean different work by a cell's name, whose work it is.
SeriesKey = tuple[tuple[str, str], ...]
_WORKLOAD = "workload"
# A cell's command, and whether its values are per op.
Work = tuple[tuple[str, ...], bool]


class CellValue(NamedTuple):
    """A cell's value at a kernel, or why it has none: in which source, under which label."""

    source: int
    label: str
    cell: SuiteCell
    value: float | None
    absence: Absence | None


class Release(NamedTuple):
    """A kernel of a series. ``title``: its release, and the label where another kernel has the
    same one."""

    kernel: Kernel
    title: str


@dataclass
class ReleaseSeries:
    """Values that can be compared: ``releases`` in order; ``lines``: by cell, the places of each
    release that has any, by the release's number. ``sources``: which have something in it."""

    key: SeriesKey
    metric: Metric | None
    releases: list[Release] = field(default_factory=list)
    lines: dict[str, dict[int, list[CellValue]]] = field(default_factory=dict)
    sources: list[int] = field(default_factory=list)

    @property
    def machine(self) -> dict[str, str]:
        """What all of it had in common."""
        return dict(self.key)

    @property
    def apart(self) -> SeriesKey:
        """``key`` without whose work it is."""
        return tuple(pair for pair in self.key if pair[0] != _WORKLOAD)


def series(sources: Sequence[AtlasSource]) -> list[ReleaseSeries]:
    """The series of all sources, that with most cells first. Sessions of a bisection have their
    kernels in no line: they say which commit made a step. Nor have cells of no known machine."""
    found: dict[SeriesKey, ReleaseSeries] = {}
    kernels: dict[SeriesKey, dict[str, Kernel]] = {}
    places: dict[SeriesKey, list[tuple[str, str, CellValue]]] = {}
    # For each cell, what its name means: first seen in which source.
    meant: dict[tuple[SeriesKey, str], dict[Work, str]] = {}
    for number, source in enumerate(sources):
        bisected = {cell.folder for cell, _, _ in source.bisections}
        for cell in (both for one in source.results.cells for both in (one, *one.further)):
            if cell.folder in bisected or cell.folder not in source.machines:
                continue
            metric = cell.metric or source.results.metric
            key = series_key(source.machines[cell.folder], cell, metric)
            known = meant.setdefault((key, cell.name), {})
            whose = known.setdefault(_work(cell), source.name)
            if whose != next(iter(known.values())):
                key = (*key, (_WORKLOAD, f"as in {whose}"))
            one = found.setdefault(key, ReleaseSeries(key, metric))
            if number not in one.sources:
                one.sources.append(number)
            for label, kernel in source.results.kernels.items():
                if kernel.hole:
                    continue
                absence = cell.absent.get(label)
                if label not in cell.values and absence is None:
                    continue
                identity = _identity(kernel)
                kernels.setdefault(key, {}).setdefault(identity, kernel)
                place = CellValue(number, label, cell, cell.values.get(label), absence)
                places.setdefault(key, []).append((cell.name, identity, place))
    for key, one in found.items():
        _fill(one, kernels.get(key, {}), places.get(key, []))
    return sorted(found.values(), key=lambda one: -len(one.lines))


def series_key(machine: Mapping[str, str], cell: SuiteCell, metric: Metric | None) -> SeriesKey:
    """What tells machines apart."""
    more = {"metric": f"{metric.name} ({metric.unit})"} if metric else {}
    # A cell that differs by it has it in its name.
    if cell.setting.cpus and "vCPUs" not in cell.setting.varied:
        more["vCPUs"] = str(cell.setting.cpus)
    return tuple({**machine, **more}.items())


def command(cell: SuiteCell) -> tuple[str, ...]:
    """A cell's command with its parameters, wherever its program lies."""
    words = list(cell.argv)
    for name, value in cell.setting.parameters.items():
        words = [word.replace(f"{{{name}}}", value) for word in words]
    return (PurePath(words[0]).name, *words[1:]) if words else ()


def _work(cell: SuiteCell) -> Work:
    """What values are of. Without a value nobody knows whether it was to be per op; a point that
    says how many there are is."""
    per_op = cell.per_op if cell.values else cell.setting.ops is not None
    return command(cell), per_op


def _identity(kernel: Kernel) -> str:
    return kernel.build_id or kernel.image_sha256 or f"{kernel.release} {kernel.version}"


def _fill(
    one: ReleaseSeries, kernels: Mapping[str, Kernel], places: Sequence[tuple[str, str, CellValue]]
) -> None:
    """Put releases into order, and places on their lines."""
    # What was recorded first stands first where releases have one version.
    ordered = sorted(kernels, key=lambda identity: release_key(kernels[identity].release))
    names = [kernels[identity].release or kernels[identity].label for identity in ordered]
    for identity, name in zip(ordered, names, strict=True):
        kernel = kernels[identity]
        alike = names.count(name) > 1 and kernel.label != name
        one.releases.append(Release(kernel, f"{name} ({kernel.label})" if alike else name))
    number = {identity: place for place, identity in enumerate(ordered)}
    for name, identity, place in places:
        here = one.lines.setdefault(name, {}).setdefault(number[identity], [])
        # A value says more than why another recording has none.
        here.insert(0 if place.value is not None and _lacks(here) else len(here), place)


def _lacks(places: Sequence[CellValue]) -> bool:
    return bool(places) and places[0].value is None
