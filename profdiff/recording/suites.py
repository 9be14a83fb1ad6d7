"""A suite that is going to be recorded: each workload an experiment, on kernels that are found
once; and which of its cells are wanted."""

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from profdiff.base.cache import cache_folder
from profdiff.base.errors import InputError, ProfdiffError
from profdiff.base.names import did_you_mean
from profdiff.collectors.architecture import Architecture, host
from profdiff.collectors.guest import initramfs
from profdiff.collectors.workload.compilation import compiled, is_source
from profdiff.recording import copies, located, states, sweep
from profdiff.recording.experiment import Answers, Experiment, RecordOptions
from profdiff.recording.experiments import Experiments, asked_kernels
from profdiff.recording.schedule import PlannedRun, States
from profdiff.recording.shard import Shard
from profdiff.session import manifest as m
from profdiff.session.held import held, refuse_occupied
from profdiff.session.lock import recording
from profdiff.session.points import settings, settings_of
from profdiff.session.suite import Choice, Suite, SuiteWorkload, cell_names, names_of


@dataclass(frozen=True)
class AskedSuite:
    """What the command line and a suite's file say. ``each``: every workload with its experiment.
    ``only``: patterns of cells' names; ``tags``: of which a workload has one; none of both: all."""

    name: str
    output: Path | None
    command: Sequence[str]
    each: Sequence[tuple[SuiteWorkload, RecordOptions]]
    only: Sequence[str] = ()
    tags: Sequence[str] = ()
    shard: Shard | None = None

    @property
    def choice(self) -> Choice:
        """What of it is asked for."""
        shard = f"{self.shard.number}/{self.shard.of}" if self.shard else ""
        return Choice(only=list(self.only), tags=list(self.tags), shard=shard)

    @property
    def folder(self) -> Path:
        """Where it is recorded: ``-o``, or the suite's name."""
        suffix = self.shard.suffix if self.shard else ""
        return self.output or Path(f"{self.name}{suffix}.profdiff")


@dataclass(frozen=True)
class Planned:
    """A session of a suite. ``name``: the workload's, with that of its part where it has several;
    ``chosen``: rows of the plan's points that are wanted; ``runs``: those of a shard, None: all;
    ``states``: in how many varied states a changed cell is seen at most."""

    name: str
    workload: SuiteWorkload
    experiment: Experiment
    chosen: Set[int]
    runs: Set[PlannedRun] | None = None
    states: int = 0

    @property
    def cells(self) -> int:
        """How many cells of it are wanted."""
        return sum(setting.point in self.chosen for setting in settings(self.experiment.planned))

    def wanted(self, place: PlannedRun) -> bool:
        """Whether a run of the plan is to be made."""
        return place.point in self.chosen and (self.runs is None or place in self.runs)

    def wanted_states(self, manifest: m.Manifest, threshold: float) -> States:
        """As ``states.wanted``, of the session as it is now; a shard has none, because it need not
        have all kernels of a cell."""
        if not self.states or self.runs is not None:
            return {}
        return states.wanted(manifest, self.states, threshold)


@dataclass(frozen=True)
class SuitePlan:
    """A suite that is found, checked and described. ``each``: the sessions with a cell that is
    wanted; ``several``: by workload, the folder of those that have a session for each of several
    architectures or compilers."""

    asked: AskedSuite
    each: Sequence[Planned]
    several: Mapping[str, Experiments]

    @property
    def folder(self) -> Path:
        """The suite's."""
        return self.asked.folder

    @property
    def cells(self) -> int:
        """How many are wanted."""
        return sum(one.cells for one in self.each)

    @staticmethod
    def of(asked: AskedSuite) -> "SuitePlan":
        """Everything is planned before anything is recorded. Raises InputError, which names the
        workload, MissingError, SessionError."""
        known = Answers()
        folder = asked.folder
        if held(folder) != "suite":
            refuse_occupied(folder)
        wanted = [one for one in asked.each if _may_have(asked, *one, known)]
        each: list[Planned] = []
        several: dict[str, Experiments] = {}
        _compile(wanted)
        for workload, one in wanted:
            with _naming(workload.name):
                made = Experiments.of(replace(one, output=folder / workload.name), known)
            if made.names:
                several[workload.name] = made
            each += _planned(asked, workload, made)
        if not each:
            raise InputError(_no_cell(asked))
        if asked.shard:
            plans = {one.name: one.experiment.planned for one in each}
            runs = asked.shard.runs(plans, {one.name: one.chosen for one in each})
            each = [replace(one, runs=runs[one.name]) for one in each]
        return SuitePlan(asked, each, several)

    @contextmanager
    def recording(self) -> Iterator[Suite]:
        """Keep other recorders out, and make the folder. Raises InputError when another is at work,
        OSError."""
        told = [workload for workload, _ in self.asked.each]
        with recording(self.folder):
            if held(self.folder) == "suite":
                known = Suite.open(self.folder)
                yield known.with_workloads(told, self.asked.command, [self.asked.choice])
            else:
                yield Suite.create(
                    self.folder, self.asked.name, self.asked.command, told, [self.asked.choice]
                )


def _compile(wanted: Sequence[tuple[SuiteWorkload, RecordOptions]]) -> None:
    """Compile what is to be compiled side by side. Whatever goes wrong shows when it is planned,
    which compiles it again."""
    folders = cache_folder("workloads"), initramfs.guest_resources()
    sources = {Path(one.command[0]) for _, one in wanted if one.command[:1]}
    architectures = {a for _, one in wanted for a in one.architectures or [host()]}

    def each(source: Path, architecture: Architecture) -> None:
        with suppress(ProfdiffError, OSError):
            compiled(source, *folders, architecture)

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for source in sources:
            for architecture in architectures if is_source(source) else ():
                threads.submit(each, source, architecture)


def _planned(asked: AskedSuite, workload: SuiteWorkload, made: Experiments) -> Iterator[Planned]:
    for one in made.each:
        part = one.folder.name if made.names else ""
        chosen = chosen_points(one.planned, workload.name, part, asked.only)
        if chosen:
            name = f"{workload.name}@{part}" if part else workload.name
            yield Planned(name, workload, _decided_later(one), chosen, states=_most(one))


def _decided_later(one: Experiment) -> Experiment:
    """Its plan has no varied states: which cells have some shows when the others are counted."""
    order = m.replace(one.planned.order, states=0)
    return replace(one, planned=m.replace(one.planned, order=order))


def _most(one: Experiment) -> int:
    """In how many varied states a cell of a workload is seen at most."""
    return one.most_states if one.asked.repeats else one.asked.order.states


def chosen_points(
    manifest: m.Manifest, workload: str, part: str, patterns: Sequence[str]
) -> set[int]:
    """Rows of the points of all cells whose name matches one of ``patterns``, those that are
    subtracted too; without patterns all."""
    every = settings(manifest)
    names = cell_names(manifest, every, workload, part)
    return {
        point
        for setting, name in zip(every, names, strict=True)
        if not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
        for point in setting.points
    }


def _may_have(
    asked: AskedSuite, workload: SuiteWorkload, one: RecordOptions, known: Answers
) -> bool:
    """Whether a workload has a cell that is wanted, before it is compiled."""
    if asked.tags and not set(asked.tags) & set(workload.tags):
        return False
    if not asked.only:
        return True
    return any(
        fnmatchcase(name, pattern)
        for name in _names(workload, one, known)
        for pattern in asked.only
    )


def _names(workload: SuiteWorkload, one: RecordOptions, known: Answers) -> list[str]:
    """The names of a workload's cells."""
    guests = bool(one.architectures or one.compilers)
    with _naming(workload.name):
        if not guests:
            _, architecture = known.get(
                ("together", *asked_kernels(one)),
                lambda: located.together(one.kernels, one.may_lack),
            )
            guests = architecture is not None
        words = copies.possible(one.command, one.sweep)
        points = sweep.points(one.sweep, words, in_guests=guests).every
    parts = [*(a.arch for a in one.architectures), *one.compilers]
    every = settings_of(points)
    return [
        name
        for part in (parts if len(parts) > 1 else [""])
        for name in names_of(every, workload.name, part)
    ]


def _no_cell(asked: AskedSuite) -> str:
    told = [workload for workload, _ in asked.each]
    known = sorted({tag for one in told for tag in one.tags})
    if asked.tags and not set(asked.tags) & set(known):
        tag = asked.tags[0]
        return f"--tag {tag}: no workload has it: {did_you_mean(tag, known) or ', '.join(known)}"
    names = [one.name for one in told]
    asked_for = asked.only[0] if asked.only else ""
    near = did_you_mean(asked_for.rstrip("*").partition("/")[0], names)
    return f"--only {asked_for}: no cell of {asked.name} matches{f': {near}' if near else ''}"


@contextmanager
def _naming(workload: str) -> Iterator[None]:
    """An error in a workload names it."""
    try:
        yield
    except ProfdiffError as error:
        raise type(error)(f"workload {workload}: {error}") from error
