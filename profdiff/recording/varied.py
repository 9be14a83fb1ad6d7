"""Runs in varied states that follow from what was counted: what changed is repeated until its
verdict stands."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from profdiff.base import units
from profdiff.base.progress import progress
from profdiff.base.terminal import tell
from profdiff.collectors import registry
from profdiff.recording import run, states
from profdiff.recording.cluster.cluster import Cluster
from profdiff.recording.experiment import Experiment
from profdiff.recording.run import Batch
from profdiff.recording.schedule import Chosen, Pace, PlannedRun, States
from profdiff.session import manifest as m
from profdiff.session.states import RELEVANT


@dataclass(frozen=True)
class Repeated:
    """A batch whose runs in the plain state are made. ``wanted``: in how many varied states its
    points want to be seen, as its manifest is now; ``chosen``: which of those runs are to be
    made."""

    batch: Batch
    wanted: Callable[[m.Manifest], States]
    chosen: Chosen


def repeat(each: Sequence[Repeated], most: int, *, jobs: int, place: Cluster | None = None) -> None:
    """Make them, one state after the other and at most ``most``. Raises what
    ``run.record_batches`` does."""
    for _ in range(most):
        batches = [
            replace(one.batch, states=wanted, chosen=one.chosen)
            for one in each
            if (wanted := one.wanted(one.batch.session.manifest))
        ]
        missing = [(batch.name, pending) for batch in batches for pending in batch.missing()]
        if not missing:
            return
        found = ", ".join(map(str, sorted({pending.state for _, pending in missing})))
        if names := set(filter(None, (name for name, _ in missing))):
            told = f"cells that changed, in varied state {found}: "
            told += units.counted(len(names), "workload")
        else:
            told = f"what changed, in varied state {found} of at most {most}: "
            told += units.counted(len(missing), "run")
        tell(f"repeating {told}")
        with progress(len(missing), str(Pace(len(missing))), brief=True) as display:
            run.record_batches(batches, jobs=jobs, progress=display, place=place)


def most_states(one: Experiment, manifest: m.Manifest) -> int:
    """In how many varied states an experiment's session is repeated by itself, at most: where
    nobody said it, and machines are restored."""
    guest = manifest.guest
    return one.most_states if guest is not None and guest.restored else 0


def wanted_states(manifest: m.Manifest, most: int) -> States:
    """By row of the points, in how many of at most ``most`` varied states exact counts want to be
    seen."""
    return states.wanted(manifest, most, RELEVANT, states.is_exact)


def of_experiment(one: Experiment, batch: Batch) -> list[Repeated]:
    """What of an experiment's session is repeated by itself."""
    most = most_states(one, batch.session.manifest)
    return [Repeated(batch, partial(wanted_states, most=most), _is_varied)] if most else []


def _is_varied(place: PlannedRun) -> bool:
    """Whether a run is in a varied state. What else failed was just tried."""
    return bool(place.state) and registry.collector(place.collector).kind.exact
