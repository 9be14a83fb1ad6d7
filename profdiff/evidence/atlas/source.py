"""One recording of an atlas: a suite, a session, or a folder with several."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from profdiff.base.errors import InputError
from profdiff.collectors.architecture import named
from profdiff.evidence.suite.results import SuiteCell, SuiteResults
from profdiff.profile.events.kept import KeptEvents
from profdiff.profile.kept_functions import FunctionCounts
from profdiff.profile.self_counts import SelfCounts
from profdiff.session import inlines, opened
from profdiff.session.bisection import Bisection
from profdiff.session.manifest import Workload
from profdiff.session.session import Session
from profdiff.session.suite import Damaged, Recorded, Suite, SuiteWorkload

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
                releases = {one.label: one.release for one in session.manifest.kernels}
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
        raise InputError(f"{folder}: nothing was recorded yet: finish the recording")
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
    known = {named(one) for one in architectures}
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
        found["machine"] = ", ".join(sorted({one.spec for one in manifest.kernels})) or "unknown"
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
    files = sorted((Path(one.guest_path).name, one.sha256) for one in workload.files)
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
