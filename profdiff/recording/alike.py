"""Failures that would only be repeated: where guests are deterministic, so are their failures."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from profdiff.base import units
from profdiff.collectors.records import ABSENT
from profdiff.recording.schedule import PendingRun
from profdiff.session import manifest as m

# At so many points a kernel must fail alike for the others to be expected to.
_ENOUGH = 3

# The label of a kernel, a collector, and a number of vCPUs.
_Machine = tuple[str, str, int | None]


@dataclass(frozen=True)
class Boots:
    """What several sessions of one recording know of the same kernels: which ``failed`` to boot,
    and those of which a run ``finished``, by label and collector."""

    failed: set[_Machine] = field(default_factory=set)
    finished: set[tuple[str, str]] = field(default_factory=set)


class Alike:
    """Which runs are left out of this recording.

    In deterministic guests (emulated, no ``--vary-boots``), a failed cell is not repeated, and
    a kernel makes no more runs once it did not boot, or failed with one message at three points,
    and finished none; ``boots`` is what others of the recording know of that. Where nothing has
    finished and two kernels failed with one message, no kernel makes more runs: the command is
    wrong, not a kernel. The next recording tries again: only the failures of this one count.
    """

    def __init__(self, manifest: m.Manifest, boots: "Boots | None" = None) -> None:
        self._boots = boots if boots is not None else Boots()
        self._vary = manifest.order.vary
        self._points = manifest.points
        finished = [run for run in manifest.runs if run.failure is None]
        self._finished = {(run.kernel, run.collector) for run in finished}
        failed = [run for run in manifest.runs if run.failure is not None]
        self._failed_before = {(run.kernel, run.collector, run.point) for run in failed}
        self._failed: set[tuple[str, str, int, int]] = set()
        self._absent: set[tuple[str, str, int]] = set()
        self._at: dict[tuple[_Machine, str], set[int]] = {}
        self._hopeless: set[_Machine] = set()
        self._kernels: dict[str, set[str]] = {}
        self._left_out: Counter[str] = Counter()

    def ordered(self, waiting: Sequence[PendingRun]) -> list[PendingRun]:
        """``waiting`` with cells last that failed in earlier recordings of the session: what they
        fail at again must not keep the others from being tried."""
        return sorted(
            waiting,
            key=lambda one: self._deterministic(one) and self._cell(one) in self._failed_before,
        )

    def ended(self, pending: PendingRun, failure: m.Failure | None) -> None:
        """A run has ended, with ``failure`` or well."""
        if not self._deterministic(pending):
            return
        label, collector, point = self._cell(pending)
        if failure is None:
            self._finished.add((label, collector))
            self._boots.finished.add((label, collector))
            return
        if failure.kind == ABSENT:
            # What a kernel lacks at one point it may have at the next.
            self._absent.add((label, collector, point))
            return
        self._failed.add((label, collector, point, pending.state))
        machine = self._machine(pending)
        alike = self._at.setdefault((machine, failure.message), set())
        alike.add(point)
        never = (label, collector) not in self._finished
        if never and (failure.kind == "boot" or len(alike) >= _ENOUGH):
            self._hopeless.add(machine)
            if failure.kind == "boot":
                self._boots.failed.add(machine)
        if failure.kind == "workload":
            self._kernels.setdefault(failure.message, set()).add(label)

    def without(self, waiting: Sequence[PendingRun]) -> list[PendingRun]:
        """``waiting`` but the runs that would fail as others did; these are counted."""
        kept = []
        wrong = not self._finished and any(len(labels) > 1 for labels in self._kernels.values())
        for pending in waiting:
            if self._cell(pending) in self._absent:
                continue
            machine = self._machine(pending)
            hopeless = machine in self._hopeless or (
                machine in self._boots.failed and machine[:2] not in self._boots.finished
            )
            hopeless = hopeless or (wrong and self._deterministic(pending))
            cell = self._cell(pending)
            # A varied state may fail where the plain one did not; its cell fails in none better.
            if hopeless or {(*cell, 0), (*cell, pending.state)} & self._failed:
                self._left_out[pending.kernel.label] += 1
            else:
                kept.append(pending)
        return kept

    def lines(self) -> list[str]:
        """What was left out, a line for each kernel."""
        return [
            f"{label}: left out {units.counted(count, 'run')} that would fail as others "
            "did; the same command tries again"
            for label, count in self._left_out.items()
        ]

    def _deterministic(self, pending: PendingRun) -> bool:
        return pending.recorder.emulated and not self._vary

    def _cell(self, pending: PendingRun) -> tuple[str, str, int]:
        return pending.kernel.label, pending.recorder.collector.name, pending.point

    def _machine(self, pending: PendingRun) -> _Machine:
        label, collector, point = self._cell(pending)
        return label, collector, self._points[point].cpus
