"""For how long vCPUs idled in the window, and how far the guest's clock advanced there."""

from collections.abc import Sequence
from typing import NamedTuple

from profdiff.profile.comparison import Comparison
from profdiff.session.manifest import Clock, Run
from profdiff.session.points import Cells, Setting, cells


class Idled(NamedTuple):
    """Nanoseconds of the guest's clock: how far it ``advanced``; the ``idle`` part of that, in
    which no vCPU had anything to do; and for how long each of ``vcpus`` idled, empty where that is
    not known."""

    advanced: int
    idle: int
    vcpus: tuple[int, ...]


def idled(
    runs: Cells, setting: Setting, labels: Sequence[str], collector: str
) -> dict[str, Idled] | None:
    """By kernel, at a setting, of the run in which nobody had anything to do for the (lower) median
    time; of two lengths, the longer one less the shorter. None where some run does not tell."""
    found = {}
    for label in labels:
        told = [_median(runs.get((label, collector, point), ())) for point in setting.points]
        known = [clock for clock in told if clock is not None]
        if len(known) < len(told):
            return None
        found[label] = _less(known[-1], known[0] if len(known) > 1 else None)
    return found


def of_comparison(comparison: Comparison) -> dict[str, Idled] | None:
    """By kernel of a comparison; None where some run does not tell."""
    collector = comparison.runs[0].collector
    return idled(cells(comparison.manifest), comparison.setting, comparison.labels, collector)


def _median(runs: Sequence[Run]) -> Clock | None:
    """The clock of that run; None where some run has none, or there is no run."""
    finished = [run.clock for run in runs if run.failure is None and not run.state]
    known = sorted((clock for clock in finished if clock is not None), key=lambda one: one.idle)
    return known[(len(known) - 1) // 2] if known and len(known) == len(finished) else None


def _less(clock: Clock, short: Clock | None) -> Idled:
    if short is None:
        return Idled(clock.advanced, clock.idle, tuple(clock.vcpus))
    pairs = zip(clock.vcpus, short.vcpus, strict=False)
    vcpus = tuple(more - less for more, less in pairs)
    return Idled(clock.advanced - short.advanced, clock.idle - short.idle, vcpus)
