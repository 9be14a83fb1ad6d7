"""An atlas: its sources, the order of releases, and the lines of its cells over them. Values of
different machines are never in one line."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from profdiff.base.errors import InputError
from profdiff.base.metric import Metric
from profdiff.collectors.architecture import named
from profdiff.collectors.kernels.debian import version_key
from profdiff.evidence.suite import SuiteResults
from profdiff.evidence.suite_cells import Absence, SuiteCell
from profdiff.profile.kept_events import KeptEvents
from profdiff.profile.kept_functions import FunctionCounts, SelfCounts
from profdiff.session import inlines, opened
from profdiff.session.bisection import Bisection
from profdiff.session.manifest import Kernel, Workload
from profdiff.session.session import Session
from profdiff.session.suite import Damaged, Recorded, Suite, SuiteWorkload

# uname(2) has 64 characters; a hostile session may have more.
_LONGEST = 200
_VERSION = re.compile(r"v?([0-9]{1,9})\.([0-9]{1,9})(?:\.([0-9]{1,9}))?(.*)\Z", re.DOTALL)


def release_key(release: str | None) -> tuple[Any, ...]:
    """Sort key of a release (``uname -r``), by version: a candidate (``6.19.0-rc4``) comes before
    its release, and commits after a tag (``6.19.0-rc4-00042-g1a2b3c4d5e6f``) come after it. Text
    that is not a version, and None, come last."""
    match = _VERSION.match(release or "")
    if match is None:
        return (1, release or "")
    major, minor, patch, rest = match.groups()
    # Debian writes ~rc4, Linux -rc4; dpkg sorts ~ before the end.
    rest = re.sub(r"^[-~]rc", "~rc", rest[:_LONGEST])
    return (0, int(major), int(minor), int(patch or 0), version_key(rest))


_MOST_OPEN = 32


@dataclass(frozen=True)
class _Alone(Suite):
    """A session, or parts, as a suite of a single workload."""

    @property
    def alone(self) -> bool:
        return True

    def recorded(
        self, damaged: Damaged | None = None, *, lengths: bool = False
    ) -> Iterator[Recorded]:
        for name, session in opened.open(self.folder).sessions().items():
            yield self.workloads[0], name, session


@dataclass(frozen=True)
class AtlasSource:
    """``name``: the folder's, unique in the atlas. ``machines``: by session folder, what counts
    depend on apart from the kernel; counts of two machines are not compared. A session that lacks
    it is of no known machine, as nothing ran yet. ``programs``: by session folder, a hash of what
    ran, "" where that is unknown. ``bisections``: what sessions found, with the cell in which they
    looked and the kernels' releases by label."""

    name: str
    suite: Suite
    results: SuiteResults
    machines: Mapping[Path, Mapping[str, str]]
    programs: Mapping[Path, str]
    bisections: Sequence[tuple[SuiteCell, Bisection, Mapping[str, str | None]]]

    @staticmethod
    def of(folder: Path, name: str) -> "AtlasSource":
        """Read a recording. Raises InputError, SessionError."""
        suite = as_suite(folder)
        results = SuiteResults.gather(suite)
        folders = {cell.folder: cell for cell in results.cells}
        known: dict[Path, dict[str, str]] = {}
        lacking: dict[Path, dict[str, str]] = {}
        programs, bisections = {}, []
        for place, cell in folders.items():
            session = Session.open(place)
            (known if _ran(session) else lacking)[place] = machine(session)
            programs[place] = _program(session.manifest.workload)
            if found := session.manifest.bisection:
                releases = {kernel.label: kernel.release for kernel in session.manifest.kernels}
                bisections.append((cell, found, releases))
        return AtlasSource(name, suite, results, _completed(known, lacking), programs, bisections)

    @property
    def left_out(self) -> list[str]:
        """The cells of no known machine."""
        return [cell.name for cell in self.results.cells if cell.folder not in self.machines]


def as_suite(folder: Path) -> Suite:
    """A recording as a suite, which it may be. Raises SessionError."""
    found = opened.open(folder)
    if isinstance(found, Suite):
        return found
    if not found.sessions():
        raise InputError(f"{folder}: nothing has been recorded yet: finish the recording")
    name = plain_name(folder)
    return _Alone(folder, name, found.command, [SuiteWorkload(name=name)])


def plain_name(folder: Path) -> str:
    """A folder's name as one of a part: letters, digits, ``.``, ``_``, ``+``, ``-``."""
    name = Path(os.path.realpath(folder)).name.removesuffix(".profdiff")
    name = re.sub(r"[^A-Za-z0-9._+-]", "_", name)
    return re.sub(r"^[^A-Za-z0-9]+", "", name)[:64] or "session"


def machine(session: Session) -> dict[str, str]:
    """What the runs of a session had in common besides the kernel, in words."""
    manifest = session.manifest
    emulators = {run.qemu.version: run.qemu for run in manifest.runs if run.qemu}
    found: dict[str, str] = {}
    architectures = {one.architecture for one in emulators.values() if one.architecture}
    known = {named(architecture) for architecture in architectures}
    if known:
        found["architecture"] = ", ".join(sorted(one.arch for one in known if one)) or "unknown"
    if emulators:
        found["QEMU"] = "; ".join(sorted(map(_short_version, emulators)))
    if guest := manifest.guest:
        found["CPU"] = guest.cpu or "default"
        found["machines"] = "restored" if guest.restored else "booted"
        found["memory"] = f"{guest.memory} MiB"
        found["kernel arguments"] = guest.append or "none"
        found["settles"] = f"{guest.settle:g} s"
    else:
        found["machine"] = (
            ", ".join(sorted({kernel.spec for kernel in manifest.kernels})) or "unknown"
        )
    found["collectors"] = ", ".join(manifest.collectors)
    return found


def _ran(session: Session) -> bool:
    """Whether its runs say what machine it is of."""
    runs = session.manifest.runs
    return any(run.qemu for run in runs) if session.manifest.guest else bool(runs)


def _completed(
    known: Mapping[Path, dict[str, str]], lacking: Mapping[Path, dict[str, str]]
) -> dict[Path, dict[str, str]]:
    """Sessions of one recording have one machine, so that one without a run yet has that of the
    others which say the same of it as its plan."""
    found = dict(known)
    for place, planned in lacking.items():
        fitting = (one for one in known.values() if planned.items() <= one.items())
        if (one := next(fitting, None)) is not None:
            found[place] = one
    return found


def _program(workload: Workload) -> str:
    """A hash of the files that ran; "" without any."""
    files = sorted((Path(file.guest_path).name, file.sha256) for file in workload.files)
    return sha256(repr(files).encode()).hexdigest() if files else ""


def _short_version(line: str) -> str:
    return line.removeprefix("QEMU emulator version ")


@lru_cache(_MOST_OPEN)
def _counts(folder: Path) -> FunctionCounts:
    return FunctionCounts.of(Session.open(folder))


@lru_cache(_MOST_OPEN)
def _events(folder: Path) -> KeptEvents | None:
    session = Session.open(folder)
    return KeptEvents.of(session) if inlines.all_shown(session.compared) else None


def events_of(cell: SuiteCell) -> KeptEvents | None:
    """The events of a cell's session; None where they were not kept. Raises SessionError."""
    return _events(cell.folder)


@lru_cache(_MOST_OPEN)
def _shown(folder: Path, label: str) -> Mapping[str, bool]:
    return inlines.shown(Session.open(folder).compared, label)


def shown_alike(cell: SuiteCell, label: str, other: SuiteCell, another: str) -> bool:
    """Whether inlined functions are shown of both kernels, or of neither, in two cells. Raises
    SessionError."""
    one, two = _shown(cell.folder, label), _shown(other.folder, another)
    return all(two.get(name, known) == known for name, known in one.items())


def functions_of(cell: SuiteCell) -> SelfCounts | None:
    """What each function of a cell executed itself. Raises SessionError."""
    return _counts(cell.folder).at(cell.setting)


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
    """A kernel of a series. ``title``: its release with what its guest is given, and the label
    where another kernel has the same ones."""

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
    """What a kernel is: its build, and what its guest is given."""
    build = kernel.build_id or kernel.image_sha256 or f"{kernel.release} {kernel.version}"
    return f"{build} {kernel.variant}"


def _name(kernel: Kernel) -> str:
    return " ".join([kernel.release or kernel.label, *kernel.variant.words])


def _fill(
    one: ReleaseSeries, kernels: Mapping[str, Kernel], places: Sequence[tuple[str, str, CellValue]]
) -> None:
    """Put releases into order, and places on their lines."""
    # What was recorded first stands first where releases have one version.
    ordered = sorted(kernels, key=lambda identity: release_key(kernels[identity].release))
    names = [_name(kernels[identity]) for identity in ordered]
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
