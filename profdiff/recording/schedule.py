"""Which runs are still to be made, in which order, and about how long they take."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean

from profdiff.collectors import registry
from profdiff.collectors.kernels.files import KernelFiles
from profdiff.collectors.recorder import Recorder
from profdiff.session import manifest as m
from profdiff.session.points import cells

# Where nothing was recorded yet: boot, settle and a short workload, measured on two cores.
_ASSUMED_SECONDS = 7.0


@dataclass(frozen=True)
class PendingRun:
    """A run that is still to be made; ``point`` is a row of the manifest's points."""

    id: str
    kernel: KernelFiles
    recorder: Recorder
    point: int
    repetition: int


def missing_runs(
    manifest: m.Manifest, kernels: Sequence[KernelFiles], recorders: Sequence[Recorder]
) -> list[PendingRun]:
    """The runs that are still to be made. Each round has one of every cell that lacks one, in an
    order that the manifest's seed draws, so that no kernel is always first."""
    missing: list[PendingRun] = []
    known = cells(manifest)
    twins = {kernel.label for kernel in manifest.kernels if kernel.twin_of}
    for recorder in recorders:
        for turn in range(max(manifest.repeat, manifest.twin_repeat)):
            round_ = [
                (point, kernel) for point in range(len(manifest.points)) for kernel in kernels
            ]
            random.Random(f"{manifest.order.seed}:{turn}").shuffle(round_)  # noqa: S311
            for point, kernel in round_:
                wanted = manifest.twin_repeat if kernel.label in twins else manifest.repeat
                made = known.get((kernel.label, recorder.collector.name, point), ())
                if turn >= wanted - sum(run.failure is None for run in made):
                    continue
                number = len(made) + turn + 1
                name = _run_id(manifest, kernel.label, recorder.collector.name, point, number)
                missing.append(PendingRun(name, kernel, recorder, point, number))
    return missing


def _run_id(
    manifest: m.Manifest, label: str, collector: m.Collector, point: int, number: int
) -> str:
    suffix = f"-{number}" if registry.is_default(collector) else f"-{collector}-{number}"
    if len(manifest.points) > 1:
        suffix = f"-p{point + 1}{suffix}"
    # A label may be as long as an id.
    return f"{label[: 64 - len(suffix)]}{suffix}"


def seconds_left(
    manifest: m.Manifest, pending: Sequence[PendingRun], jobs: int
) -> tuple[float, int]:
    """About how long ``pending`` take in all, in seconds, and on how many finished runs that rests:
    none means that it is assumed."""
    made: dict[str, list[float]] = {}
    for finished in manifest.runs:
        if finished.failure is None:
            made.setdefault(finished.collector, []).append(finished.wall_seconds)
    averages = {collector: mean(seconds) for collector, seconds in made.items()}
    total, known = 0.0, 0
    for run in pending:
        same = made.get(run.recorder.collector.name, [])
        known += len(same)
        each = averages.get(run.recorder.collector.name, _ASSUMED_SECONDS)
        total += each if run.recorder.alone else each / jobs
    return total, min(known, len(manifest.runs))
