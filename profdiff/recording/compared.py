"""Two stored recordings beside each other: a session with a kernel of each, as if one command had
recorded both."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product
from pathlib import Path
from typing import NamedTuple

from profdiff import __version__
from profdiff.base import units
from profdiff.base.atomic import make_folder
from profdiff.base.errors import InputError, ProfdiffError, SessionError
from profdiff.collectors.kernels.label import label_of
from profdiff.profile import kept
from profdiff.recording.comparable import Common, alike, refuse_other_programs
from profdiff.recording.merged import copy_file, names_of
from profdiff.session import manifest as m
from profdiff.session import opened
from profdiff.session.held import LABEL, PartKind, held, refuse_occupied, symbols_file
from profdiff.session.opened import Opened
from profdiff.session.parts import MAX_PARTS, Parts
from profdiff.session.session import Session
from profdiff.session.suite import Suite

_NAMED, _LONGEST = 4, 64


class Side(NamedTuple):
    """A recording. ``label``: what its kernels are to be called, "" for as they were recorded, or
    as the folder where both sides would have the same label."""

    folder: Path
    label: str = ""


def compare(target: Path, sides: tuple[Side, Side], command: Sequence[str]) -> list[str]:
    """Make ``target``, whole or not at all, of two recordings: each kernel of the first and the one
    of the second that has its label; where no label is in both, or one kernel is left on each side,
    those against each other. ``command``: the command line. Returns what is left out, a line for
    each reason.

    Raises InputError where nothing can be compared or was measured alike, SessionError for a
    damaged or hostile recording, OSError.
    """
    refuse_occupied(target)
    one, other = (opened.open(side.folder) for side in sides)
    if one.folder.samefile(other.folder):
        raise InputError(f"{one.folder} is given twice: name two recordings")
    plan = _Plan(sides, labels_of(sides), command)
    found = plan.of(one, other)
    if target.is_dir():
        (target / ".lock").unlink(missing_ok=True)
    with make_folder(target) as folder:
        plan.write(folder, found)
    return plan.told()


class _Pair(NamedTuple):
    """What becomes a session: a kernel of each of two, and what they are called in it."""

    sessions: tuple[Session, Session]
    kernels: tuple[m.Kernel, m.Kernel]
    labels: tuple[str, str]
    common: Common


class _Group(NamedTuple):
    """What becomes a folder of several sessions, by name; ``whole``: the suite that they are of, or
    what parts differ by."""

    whole: Suite | PartKind
    members: "Mapping[str, _Pair | _Group]"


@dataclass(frozen=True)
class _Plan:
    """``labels``: of both sides, where kernels' own would not do; ``left_out``: by reason, of which
    workload."""

    sides: tuple[Side, Side]
    labels: tuple[str, str]
    command: Sequence[str]
    left_out: dict[str, list[str]] = field(default_factory=dict)

    def of(self, one: Opened, other: Opened, workload: str = "") -> _Pair | _Group:
        """What is compared with what. Raises as ``compare``."""
        if one.held != other.held:
            names = self._names
            raise InputError(
                f"{names[0]} has {one.title}, {names[1]} {other.title}: compare like ones"
            )
        if isinstance(one, Suite) and isinstance(other, Suite):
            return self._suites(one, other)
        if isinstance(one, Parts) and isinstance(other, Parts):
            return self._parts(one, other, workload)
        return self._sessions(one.sessions()[""], other.sessions()[""], workload)

    def told(self) -> list[str]:
        """What is left out, a line for each reason."""
        found = []
        for why, workloads in self.left_out.items():
            some = units.few([one for one in workloads if one], _NAMED)
            found.append(units.printable(f"left out: {f'{some}: ' if some else ''}{why}"))
        return found

    def write(self, folder: Path, found: _Pair | _Group) -> None:
        """Make what was planned in a folder that is absent or empty. Raises SessionError,
        OSError."""
        if isinstance(found, _Pair):
            _join(folder, found, self._names, self.command)
            return
        if isinstance(found.whole, Suite):
            own = [one for one in found.whole.workloads if one.name in found.members]
            suite = Suite.create(folder, found.whole.name, self.command, own)
            places = {name: suite.part(name) for name in found.members}
        else:
            parts = Parts.create(folder, list(found.members), self.command, found.whole)
            places = {name: parts.part(name) for name in found.members}
        for name, member in found.members.items():
            self.write(places[name], member)

    @property
    def _names(self) -> tuple[str, str]:
        one, other = (str(side.folder) for side in self.sides)
        return one, other

    def _leave_out(self, why: str, workload: str) -> None:
        of = self.left_out.setdefault(why, [])
        if workload not in of:
            of.append(workload)

    def _common(
        self, what: str, mine: Collection[str], theirs: Collection[str], workload: str = ""
    ) -> list[str]:
        """What both have; the rest is left out. ``what``: a noun."""
        for told, own, others in zip(self._names, (mine, theirs), (theirs, mine), strict=True):
            if more := [name for name in own if name not in others]:
                self._leave_out(f"only {told} has the {what} {units.few(more, _NAMED)}", workload)
        return [name for name in mine if name in theirs]

    def _suites(self, one: Suite, other: Suite) -> _Group:
        found: dict[str, _Pair | _Group] = {}
        mine, theirs = ([workload.name for workload in suite.workloads] for suite in (one, other))
        for name in self._common("workload", mine, theirs):
            folders = one.part(name), other.part(name)
            if not all(map(held, folders)):
                self._leave_out("it was not recorded on both sides", name)
                continue
            try:
                found[name] = self.of(opened.open(folders[0]), opened.open(folders[1]), name)
            except ProfdiffError as error:
                self._leave_out(str(error), name)
        if not found:
            raise InputError(f"no workload can be compared: {[*self.left_out][-1]}")
        return _Group(one, found)

    def _parts(self, one: Parts, other: Parts, workload: str) -> _Pair | _Group:
        if one.kind is not other.kind or one.kind is LABEL:
            told = [f"several {each.kind.plural}" for each in (one, other)]
            raise InputError(
                f"{self._names[0]} has {told[0]}, {self._names[1]} {told[1]}: compare recordings "
                "of several architectures, or of several compilers"
            )
        mine, theirs = one.sessions(), other.sessions()
        found: dict[str, _Pair | _Group] = {}
        for name in self._common(one.kind.name, mine, theirs, workload):
            found[name] = self._sessions(mine[name], theirs[name], workload)
            if isinstance(found[name], _Group):
                raise InputError(
                    f"both have several {one.kind.plural} and several kernels: compare one part: "
                    f"profdiff compare {mine[name].folder} {theirs[name].folder}"
                )
        if not found:
            raise InputError(f"{[*self.left_out][-1]}: record one {one.kind.name} on both sides")
        return _Group(one.kind, found) if len(found) > 1 else next(iter(found.values()))

    def _sessions(self, one: Session, other: Session, workload: str) -> _Pair | _Group:
        for session in (one, other):
            if session.manifest.recordings:
                raise InputError(f"{session.folder} compares recordings: name those themselves")
            if session.left_out:
                raise SessionError(f"{session.folder}: {session.damaged[0]}: record it again")
            for why in session.damaged:
                self._leave_out(f"{session.folder}: {why}", workload)
        same = alike(one, other, self._names)
        for why in same.left_out:
            self._leave_out(why, workload)
        pairs = self._pairs(one, other, workload)
        own = len(pairs) == 1 and not any(side.label for side in self.sides)
        members: dict[str, _Pair | _Group] = {}
        for kernels in pairs:
            refuse_other_programs(kernels, self._names)
            for session, kernel in zip((one, other), kernels, strict=True):
                if all(run.kernel != kernel.label for run in session.manifest.runs):
                    raise InputError(f"{session.folder} has no run of {kernel.label}: record it")
            labels = kernels[0].label, kernels[1].label
            name = labels[0] if labels[0] == labels[1] else f"{labels[0]}-{labels[1]}"[:_LONGEST]
            if not own or labels[0] == labels[1]:
                labels = self.labels
            while name in members or not LABEL.knows(name):
                name = f"{name[:60]}+"
            members[name] = _Pair((one, other), kernels, labels, same)
        if len(members) > MAX_PARTS:
            raise InputError(
                f"both have {len(members):,} labels, more than {MAX_PARTS}: record fewer kernels"
            )
        return _Group(LABEL, members) if len(members) > 1 else next(iter(members.values()))

    def _pairs(
        self, one: Session, other: Session, workload: str
    ) -> list[tuple[m.Kernel, m.Kernel]]:
        mine, theirs = ({kernel.label: kernel for kernel in s.compared} for s in (one, other))
        pairs = [(kernel, theirs[label]) for label, kernel in mine.items() if label in theirs]
        left, more = mine.keys() - theirs.keys(), theirs.keys() - mine.keys()
        if len(left) == len(more) == 1 or (not pairs and 1 in (len(left), len(more))):
            rest = product((mine[label] for label in mine if label in left), theirs.items())
            return [*pairs, *((one, other) for one, (label, other) in rest if label in more)]
        if not pairs:
            raise InputError(
                f"{self._names[0]} has {units.few(list(mine), _NAMED)}, {self._names[1]} "
                f"{units.few(list(theirs), _NAMED)}: record with the same label on both sides "
                "(--kernel LABEL=SPEC)"
            )
        self._common("label", mine, theirs, workload)
        return pairs


def labels_of(sides: tuple[Side, Side]) -> tuple[str, str]:
    """What kernels of both sides are called: the given labels, or else the last folders of their
    paths that differ. Raises InputError for the same label twice."""
    paths = [Path(os.path.realpath(side.folder)).parts[::-1] for side in sides]
    found = ["a", "b"]
    for names in zip(*paths, strict=False):
        derived = [label_of(name.removesuffix(".profdiff")) for name in names]
        if derived[0] != derived[1]:
            found = derived
            break
    one, other = (side.label or label for side, label in zip(sides, found, strict=True))
    if one == other:
        raise InputError(f"both recordings are called {one}: give each its own LABEL=SESSION")
    return one, other


def _join(folder: Path, pair: _Pair, names: tuple[str, str], command: Sequence[str]) -> None:
    """Make the session of a pair. Raises SessionError, OSError."""
    mine, its = (session.manifest for session in pair.sessions)
    sides = [_Renamed(*one) for one in zip(pair.sessions, pair.kernels, pair.labels, strict=True)]
    first, second = sides
    if mine.twin_repeat:
        first.add_twin(second.labels[pair.kernels[1].label])
    taken: set[str] = set()
    kernels, runs, recordings = list[m.Kernel](), list[m.Run](), list[m.StoredRecording]()
    for number, side in enumerate(sides):
        runs += side.runs(pair.common.collectors, pair.common.rows[number], taken)
        kernels += side.kernels()
        manifest = side.session.manifest
        name, labels = Path(names[number]).resolve().name, list(side.labels.values())
        recordings.append(m.StoredRecording(name, labels, manifest.created, manifest.command))
    own = [file.path for file in mine.workload.files if file.path]
    first.keep([*own, *([mine.workload.source] if mine.workload.source else [])])
    folder.mkdir(exist_ok=True)
    copied: dict[tuple[int, int], Path] = {}
    for side in sides:
        side.link(folder, copied)
    guest = (
        mine.guest
        and its.guest
        and m.replace(mine.guest, timeout=max(mine.guest.timeout, its.guest.timeout))
    )
    made = Session(folder, mine)
    made.save(
        m.replace(
            mine,
            profdiff=__version__,
            created=m.timestamp(),
            command=list(command),
            collectors=list(pair.common.collectors),
            repeat=max(mine.repeat, its.repeat),
            verify=mine.verify and its.verify,
            twin_repeat=mine.twin_repeat if len(first.labels) > 1 else 0,
            options={**its.options, **mine.options},
            order=m.replace(mine.order, states=max(mine.order.states, its.order.states)),
            points=list(pair.common.points),
            guest=guest,
            kernels=kernels,
            runs=runs,
            bisection=None,
            recordings=recordings,
            functions=None,
            events=None,
            shard="",
            checksums=second.checksums | first.checksums,
        )
    )
    kept.keep(made)


class _Renamed:
    """A side of a pair: its kernel, and perhaps that one's twin, under other labels. ``files``: by
    a path of the session, the one here."""

    def __init__(self, session: Session, kernel: m.Kernel, label: str) -> None:
        self.session = session
        self.labels = {kernel.label: label}
        self.files: dict[str, str] = {}

    def add_twin(self, other: str) -> None:
        """Take the kernel's twin (A/A), too, where it has one, beside a kernel called ``other``."""
        ((of, label),) = self.labels.items()
        name = f"{label[:60]}.aa"
        for kernel in self.session.manifest.kernels:
            if kernel.twin_of == of and name != other:
                self.labels[kernel.label] = name
                return

    @property
    def checksums(self) -> dict[str, m.Checksum]:
        """The files' checksums by their paths here."""
        known = self.session.manifest.checksums
        return {new: known[old] for old, new in self.files.items() if old in known}

    def runs(
        self, collectors: Sequence[str], rows: Mapping[int, int], taken: set[str]
    ) -> list[m.Run]:
        """The kernels' runs by ``collectors`` at the points ``rows``, by ids that are not ``taken``
        yet. Raises SessionError for files that are not in a run's folder."""
        found = []
        for run in self.session.manifest.runs:
            if run.kernel not in self.labels or run.collector not in collectors:
                continue
            if run.point not in rows:
                continue
            label, name = self.labels[run.kernel], self._id(run, taken)
            taken.add(name)
            names = names_of(self.session, run)
            files = {what: f"runs/{name}/{file}" for what, file in names.items()}
            self.files |= {run.files[what]: new for what, new in files.items()}
            found.append(m.replace(run, id=name, kernel=label, point=rows[run.point], files=files))
        return found

    def kernels(self) -> list[m.Kernel]:
        """The kernels, behind the runs."""
        found = []
        for kernel in self.session.manifest.kernels:
            label = self.labels.get(kernel.label)
            if label is None:
                continue
            config = self.files.get(kernel.config or "")
            files = [
                m.replace(one, path=self._kept(one.path, f"workload/{label}/"))
                for one in kernel.files
            ]
            made = m.replace(
                kernel,
                label=label,
                twin_of=self.labels.get(kernel.twin_of or ""),
                config=config or self._kept(kernel.config, f"kernels/{label}/"),
                symbols=self._kept(kernel.symbols, symbols_file(label)),
                code=self._kept(kernel.code, symbols_file(label, "code")),
                accesses=self._kept(kernel.accesses, symbols_file(label, "accesses")),
                files=files,
            )
            found.append(made)
        return found

    def keep(self, files: Sequence[str]) -> None:
        """Take files, where they are whole, under their own names."""
        self.files |= {path: path for path in files if self.session.whole(path)}

    def link(self, folder: Path, copied: dict[tuple[int, int], Path]) -> None:
        """Give all files a second name in ``folder``, or copy them there, once each. Raises
        SessionError, OSError."""
        for old, new in self.files.items():
            source, path = self.session.place(old), folder / new
            path.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink():
                raise SessionError(f"{source} is a link: refused")
            if not path.exists() and source.is_file():
                status = source.stat()
                if status.st_dev == folder.stat().st_dev:
                    copied.setdefault((status.st_dev, status.st_ino), source)
                copy_file(source, path, copied)

    def _id(self, run: m.Run, taken: set[str]) -> str:
        suffix = run.id.removeprefix(run.kernel)
        # A label may be as long as an id.
        suffix = suffix if suffix != run.id else f"-{run.collector}-{run.repetition}"
        found = f"{self.labels[run.kernel][: _LONGEST - len(suffix)]}{suffix}"
        others = (f"{found[:56]}-{number}" for number in count(2))
        return found if found not in taken else next(one for one in others if one not in taken)

    def _kept(self, path: str | None, here: str) -> str | None:
        """Where a file goes that is whole: ``here``, under its own name if that ends with /."""
        if path is None or self.session.whole(path) is None:
            return None
        self.files[path] = f"{here}{Path(path).name if here.endswith('/') else ''}"
        return self.files[path]
