"""Which runs are still to be made, in which order, and about how long they take."""

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass

from profdiff.base import units
from profdiff.collectors import registry
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Recorder
from profdiff.session import manifest as m
from profdiff.session.points import cells, recorded_at, titles

# Where nothing was recorded yet: boot, settle and a short workload, on processors of different
# years that do nothing else.
_ASSUMED_SECONDS = (5.0, 20.0)


@dataclass(frozen=True)
class PendingRun:
    """A run that is still to be made; ``point`` is a row of the manifest's points, ``title`` what
    tells that from others."""

    id: str
    kernel: KernelFiles
    recorder: Recorder
    point: int
    repetition: int
    title: str

    @property
    def name(self) -> str:
        """How it is called while it goes on: ``v6.12-p1-1 (size_kib 4)``."""
        return f"{self.id} ({self.title})" if self.title else self.id


def missing_runs(
    manifest: m.Manifest, kernels: Sequence[KernelFiles], recorders: Sequence[Recorder]
) -> list[PendingRun]:
    """The runs that are still to be made. Each round has one of every cell that lacks one, in an
    order that the manifest's seed draws, so that no kernel is always first."""
    missing: list[PendingRun] = []
    known, told = cells(manifest), titles(manifest)
    twins = {kernel.label for kernel in manifest.kernels if kernel.twin_of}
    for recorder in recorders:
        points = recorded_at(manifest, recorder.collector.name)
        for turn in range(max(manifest.repeat, manifest.twin_repeat)):
            round_ = [(point, kernel) for point in points for kernel in kernels]
            random.Random(f"{manifest.order.seed}:{turn}").shuffle(round_)  # noqa: S311
            for point, kernel in round_:
                wanted = manifest.twin_repeat if kernel.label in twins else manifest.repeat
                made = known.get((kernel.label, recorder.collector.name, point), ())
                if turn >= wanted - sum(run.failure is None for run in made):
                    continue
                number = len(made) + turn + 1
                name = _run_id(manifest, kernel.label, recorder.collector.name, point, number)
                missing.append(PendingRun(name, kernel, recorder, point, number, told[point]))
    return missing


def _run_id(
    manifest: m.Manifest, label: str, collector: m.Collector, point: int, number: int
) -> str:
    suffix = f"-{number}" if registry.is_default(collector) else f"-{collector}-{number}"
    if len(manifest.points) > 1:
        suffix = f"-p{point + 1}{suffix}"
    # A label may be as long as an id.
    return f"{label[: 64 - len(suffix)]}{suffix}"


@dataclass(frozen=True)
class Estimate:
    """Seconds that runs take in all, between ``low`` and ``high``. ``basis``: how many finished
    runs say so; 0 if it is assumed."""

    low: float
    high: float
    basis: int

    def __str__(self) -> str:
        return units.span(self.low, self.high)


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
    assumed = (_ASSUMED_SECONDS[0] * share, _ASSUMED_SECONDS[1] * share)
    low = high = 0.0
    for one in pending:
        name = one.recorder.collector.name
        quickest, slowest = ranges.get((name, one.point)) or ranges.get(name) or assumed
        side_by_side = 1 if one.recorder.alone else max(1, min(jobs, len(pending)))
        low += quickest / side_by_side
        high += slowest / side_by_side
    collectors = {one.recorder.collector.name for one in pending}
    return Estimate(low, high, sum(run.collector in collectors for run in finished))


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
    runs = f"{len(pending)} run{'' if len(pending) == 1 else 's'} left"
    return f"{runs}, {estimate(manifest, pending, jobs, since)}"
