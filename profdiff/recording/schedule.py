"""Which runs are still to be made, in which order, and about how long they take."""

import os
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import NamedTuple

from profdiff.base import units
from profdiff.base.metric import TRANSFERRED
from profdiff.collectors import registry
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Recorder
from profdiff.session import manifest as m
from profdiff.session.points import cells, recorded_at, titles

# Where nothing has been recorded yet: boot, settle and a short workload, on processors of different
# years that do nothing else.
_ASSUMED_SECONDS = (5.0, 20.0)
_ASSUMED_RESTORED = (0.3, 2.0)
# The first runs do what later ones need not.
_PACE_RUNS = 4


@dataclass(frozen=True)
class PendingRun:
    """A run that is still to be made; ``point`` is a row of the manifest's points, ``title`` what
    tells that from others, ``state`` a varied state, 0: the plain one."""

    id: str
    kernel: KernelFiles
    recorder: Recorder
    point: int
    repetition: int
    title: str
    state: int = 0

    @property
    def name(self) -> str:
        """How it is called while it goes on: ``v6.12-p1-1 (size_kib 4)``."""
        return f"{self.id} ({self.title})" if self.title else self.id


class PlannedRun(NamedTuple):
    """A run's place in a plan: a kernel's label, a collector, a row of the points, and which of the
    cell's runs it is, from 0, or in which varied state."""

    kernel: str
    collector: str
    point: int
    turn: int
    state: int = 0


Chosen = Callable[[PlannedRun], bool]
"""Whether a run of the plan is to be made now."""

States = Mapping[int, int]
"""By row of the points, in how many varied states each kernel is to be seen."""


def has_states(collector: str) -> bool:
    """Whether what it counts can be repeated in varied states: of others, chance varies more."""
    kind = registry.collector(collector).kind
    return kind.exact or kind is TRANSFERRED


def places(
    manifest: m.Manifest, kernels: Sequence[str], collector: str, states: States | None = None
) -> Iterator[PlannedRun]:
    """All runs of a plan by one collector, on kernels by their labels. Each round has one of every
    cell that has as many, in an order that the manifest's seed draws, so that no kernel is always
    first. Rounds in varied ``states`` follow, by default as many as the manifest has everywhere;
    the twin has none, because it would count what the base does."""
    points = recorded_at(manifest, collector)
    twins = {kernel.label for kernel in manifest.kernels if kernel.twin_of}

    def drawn(turn: int | str) -> list[tuple[int, str]]:
        round_ = [(point, kernel) for point in points for kernel in kernels]
        random.Random(f"{manifest.order.seed}:{turn}").shuffle(round_)  # noqa: S311
        return round_

    for turn in range(max(manifest.repeat, manifest.twin_repeat)):
        for point, kernel in drawn(turn):
            if turn < (manifest.twin_repeat if kernel in twins else manifest.repeat):
                yield PlannedRun(kernel, collector, point, turn)
    if not has_states(collector):
        return
    if states is None:
        states = dict.fromkeys(points, manifest.order.states)
    for state in range(1, max(states.values(), default=0) + 1):
        for point, kernel in drawn(f"state {state}"):
            if state <= states.get(point, 0) and kernel not in twins:
                yield PlannedRun(kernel, collector, point, 0, state)


def missing_runs(
    manifest: m.Manifest,
    kernels: Sequence[KernelFiles],
    recorders: Sequence[Recorder],
    chosen: Chosen | None = None,
    states: States | None = None,
) -> list[PendingRun]:
    """The runs that are still to be made, or of them those that are ``chosen``; in varied
    ``states`` as ``places``. A kernel that lacks what the workload calls will lack it the next
    time, too."""
    missing: list[PendingRun] = []
    known, told = cells(manifest), titles(manifest)
    files = {kernel.label: kernel for kernel in kernels}
    twins = {kernel.label for kernel in manifest.kernels if kernel.twin_of}
    for recorder in recorders:
        name = recorder.collector.name
        lacking = {
            key: _numbers(
                key,
                manifest.twin_repeat if key[0] in twins else manifest.repeat,
                known.get(key, ()),
                chosen,
            )
            for key in [(label, name, p) for label in files for p in recorded_at(manifest, name)]
        }
        for place in places(manifest, list(files), name, states):
            made = known.get(place[:3], ())
            if place.state:
                if _is_made(made, place.state) or not (chosen is None or chosen(place)):
                    continue
                number = _behind(manifest, made, place.state)
                tried = sum(run.state == place.state for run in made)
                suffix = f"s{place.state}-{tried + 1}" if tried else f"s{place.state}"
            else:
                numbers = lacking[place[:3]]
                if place.turn >= len(numbers):
                    continue
                number = numbers[place.turn]
                suffix = str(number)
            run = _run_id(manifest, place.kernel, name, place.point, suffix)
            kernel, title = files[place.kernel], told[place.point]
            if place.state:
                title = ", ".join(filter(None, [title, f"state {place.state}"]))
            missing.append(
                PendingRun(run, kernel, recorder, place.point, number, title, place.state)
            )
    return missing


def _is_made(made: Sequence[m.Run], state: int) -> bool:
    """Whether a cell that has ``made`` needs no run in a varied state: it has one, or its kernel
    lacks what the workload calls."""
    return any(run.not_there or (run.state == state and run.failure is None) for run in made)


def _behind(manifest: m.Manifest, made: Sequence[m.Run], state: int) -> int:
    """The repetition of a run in a varied state."""
    taken = {run.repetition for run in made}
    return next(n for n in count(manifest.repeat + state) if n not in taken)


def still_failed(manifest: m.Manifest, chosen: Chosen | None = None) -> list[m.Run]:
    """The failed runs of the cells that have fewer results than the plan wants, or than what of it
    is ``chosen``: of the others, a later run gave what they did not."""
    twins = {kernel.label for kernel in manifest.kernels if kernel.twin_of}
    known = cells(manifest)
    lacking = set()
    for key, made in known.items():
        wanted = manifest.twin_repeat if key[0] in twins else manifest.repeat
        if _numbers(key, wanted, made, chosen):
            lacking.add(key)

    def is_lacking(run: m.Run) -> bool:
        key = run.kernel, run.collector, run.point
        return not _is_made(known[key], run.state) if run.state else key in lacking

    return [run for run in manifest.runs if run.failed and is_lacking(run)]


def in_no_shard(manifest: m.Manifest) -> int:
    """How many runs of the plan nobody has made: neither with a result nor failed."""
    known = cells(manifest)
    missing = 0
    for kernel in manifest.kernels:
        wanted = manifest.twin_repeat if kernel.twin_of else manifest.repeat
        for name in manifest.collectors if not kernel.hole else ():
            for point in recorded_at(manifest, name):
                made = known.get((kernel.label, name, point), ())
                plain = [run for run in made if not run.state]
                done = sum(run.failure is None or run.not_there for run in plain)
                # A shard makes a failed run again as many numbers behind as the plan has runs.
                turns = {run.repetition % wanted for run in plain} if wanted else ()
                missing += wanted - min(wanted, max(done, len(turns)))
                absent = any(run.not_there for run in made)
                if has_states(name) and not (kernel.twin_of or absent):
                    seen = {run.state for run in made}
                    missing += len(set(range(1, manifest.order.states + 1)) - seen)
    return missing


def _numbers(
    cell: tuple[str, str, int], wanted: int, made: Sequence[m.Run], chosen: Chosen | None
) -> list[int]:
    """The repetitions of a cell that are still to be made, of ``wanted`` ones. A failed run is made
    again under another number, and where only some runs are chosen, one that no other shard has."""
    plain = [run for run in made if not run.state]
    done = {run.repetition for run in plain if run.failure is None or run.not_there}
    taken = {run.repetition for run in made}
    if chosen is None or all(chosen(PlannedRun(*cell, turn)) for turn in range(wanted)):
        # Some shards may not have been merged: what they have stays theirs.
        free = (number for number in count(1) if number not in taken)
        return list(islice(free, max(0, wanted - len(done))))
    found = []
    for turn in range(wanted):
        own = turn + 1
        # Failed ones and the run itself are those that are as far behind as the plan has runs.
        if not chosen(PlannedRun(*cell, turn)) or any(one % wanted == own % wanted for one in done):
            continue
        # Runs in varied states are called otherwise.
        while any(run.repetition == own for run in plain):
            own += wanted
        found.append(own)
    return found


def _run_id(
    manifest: m.Manifest, label: str, collector: m.Collector, point: int, number: str
) -> str:
    suffix = f"-{number}" if registry.is_default(collector) else f"-{collector}-{number}"
    if len(manifest.points) > 1:
        suffix = f"-p{point + 1}{suffix}"
    # A label may be as long as an id.
    return f"{label[: 64 - len(suffix)]}{suffix}"


@dataclass(frozen=True)
class Estimate:
    """Seconds that runs take in all, between ``low`` and ``high``. ``basis``: how many finished
    runs say so; 0 if it is assumed. ``known``: whether all points have such a run: another point
    may take any time."""

    low: float
    high: float
    basis: int
    known: bool = True

    def __str__(self) -> str:
        return units.span(self.low, self.high) + ("" if self.known else ", or more")


def estimate(
    manifest: m.Manifest, pending: Sequence[PendingRun], jobs: int, since: int = 0
) -> Estimate:
    """How long ``pending`` take, ``jobs`` at a time: from the quickest to the slowest finished run
    at the same point, or else of the same collector, and more where those are few. Runs from
    row ``since`` on, which are of this recording, count alone if there are any: an earlier one may
    have had the machine for itself."""
    finished = [run for run in manifest.runs[since:] if run.failure is None]
    finished = finished or [run for run in manifest.runs if run.failure is None]
    made: dict[object, list[float]] = {}
    for run in finished:
        for key in (run.collector, (run.collector, run.point)):
            made.setdefault(key, []).append(run.wall_seconds)
    ranges = {key: _range(seconds) for key, seconds in made.items()}
    # A guest shares the processors with what runs already.
    share = 1 + os.getloadavg()[0] / (os.cpu_count() or 1)
    restored = manifest.guest is not None and manifest.guest.restored
    seconds = _ASSUMED_RESTORED if restored else _ASSUMED_SECONDS
    assumed = (seconds[0] * share, seconds[1] * share)
    low = high = 0.0
    for one in pending:
        name = one.recorder.collector.name
        quickest, slowest = ranges.get((name, one.point)) or ranges.get(name) or assumed
        side_by_side = 1 if one.recorder.alone else max(1, min(jobs, len(pending)))
        low += quickest / side_by_side
        high += slowest / side_by_side
    collectors = {one.recorder.collector.name for one in pending}
    known = all((one.recorder.collector.name, one.point) in ranges for one in pending)
    return Estimate(low, high, sum(run.collector in collectors for run in finished), known)


def _range(seconds: Sequence[float]) -> tuple[float, float]:
    # Few runs have not seen all loads that the machine has.
    scatter = 1 + 1 / (1 + len(seconds))
    return min(seconds) / scatter, max(seconds) * scatter


def runs_left(
    manifest: m.Manifest, pending: Sequence[PendingRun], jobs: int, since: int = 0
) -> str:
    """What is still to be done in words, "" for nothing; as ``estimate``."""
    if not pending:
        return ""
    runs = f"{units.counted(len(pending), 'run')} left"
    told = estimate(manifest, pending, jobs, since)
    # Nobody knows how long the workload runs.
    return f"{runs}, {told}" if told.basis else runs


class Pace:
    """How fast the runs of several sessions are made: ``total`` from now on."""

    def __init__(self, total: int) -> None:
        self._total = self._left = total
        self._started = time.monotonic()

    def ended(self, left: int) -> None:
        """Record that a run ended and ``left`` remain."""
        self._left = left

    def __str__(self) -> str:
        """What is left in words, "" for nothing; how long it takes once a few runs have ended."""
        if not self._left:
            return ""
        runs = f"{units.counted(self._left, 'run')} left"
        done = self._total - self._left
        if done < min(_PACE_RUNS, self._total):
            return runs
        seconds = (time.monotonic() - self._started) / done * self._left
        scatter = 1 + 1 / (1 + done) ** 0.5
        return f"{runs}, {units.span(seconds / scatter, seconds * scatter)}"
