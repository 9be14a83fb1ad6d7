"""The cells of a suite that one session holds: values, changes, and why a kernel has none."""

import math
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from profdiff.base.metric import Metric
from profdiff.collectors import registry
from profdiff.collectors.records import ABSENT
from profdiff.evidence.cell_functions import CellFunction, FunctionKey
from profdiff.evidence.events import ChangedEvent
from profdiff.evidence.iterations import Iterated
from profdiff.evidence.outside_workload import beside
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.profile.cell import exact_collector
from profdiff.session.manifest import Collector, Manifest
from profdiff.session.manifest import replace as with_fields
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.session.suite import SuiteWorkload

AbsenceKind = Literal["not there", "failed", "not recorded"]
TwinVerdict = Literal["same", "differs", "unsure"]
# What a run is failed with whose kernel lacks what the workload calls.


class Absence(NamedTuple):
    """Why a kernel has no value in a cell: ``why`` is one line. ``lacks``: what is not there, ""
    where something else is the matter."""

    kind: AbsenceKind
    why: str
    lacks: str = ""


class CellChange(NamedTuple):
    """Against the base. ``relative``: a fraction, nan where the base is 0. ``states``: in how many
    it was seen; ``low`` and ``high``: the lowest and the highest of them, as ``relative``;
    ``differ``: the function in which states differ most, of a change that depends on state;
    ``tick_floor``: how much of ``delta`` timer ticks can be, None where that is not known;
    ``iterated``: the same with each iteration of repeated string instructions counted."""

    relative: float
    delta: float
    verdict: Verdict
    states: int = 1
    low: float = math.nan
    high: float = math.nan
    differ: FunctionKey | None = None
    tick_floor: float | None = 0.0
    iterated: Iterated | None = None

    @property
    def least(self) -> float:
        """What it is in the state that shows least of it, 0 where states differ in direction; as
        ``relative``. By this it counts."""
        if self.states < 2 or self.verdict not in (Verdict.EXACT, Verdict.DEPENDS):
            return self.relative
        if math.isnan(self.low):
            return 0.0 if self.verdict is Verdict.DEPENDS else self.relative
        if self.low <= 0 <= self.high:
            return 0.0
        return self.low if self.low > 0 else self.high

    @property
    def sure(self) -> bool:
        """Whether it is a change, and not due to chance: every state has it in one direction."""
        depends = self.verdict is Verdict.DEPENDS
        return (self.verdict.is_sure or depends) and self.delta != 0 and self.least != 0

    @property
    def unsure(self) -> bool:
        """Whether it may as well be chance. Exact changes of 0 are not: functions can change where
        the whole does not."""
        return not self.verdict.is_sure and not self.sure

    @property
    def near_ticks(self) -> bool:
        """Whether timer ticks can be a tenth of it, or more."""
        return bool(self.tick_floor) and abs(self.delta) < 10 * (self.tick_floor or 0)

    @property
    def ticks_unknown(self) -> bool:
        """Whether no one knows how many ticks came."""
        return self.tick_floor is None

    def relevant(self, threshold: float) -> bool:
        """Whether it is sure and at least ``threshold``; from nothing, any change is."""
        return self.sure and not abs(self.least) < threshold

    def depends(self, threshold: float) -> bool:
        """Whether it depends on state if it is ``relevant``: it is in some, not in all."""
        several = self.states > 1 or self.verdict is Verdict.DEPENDS
        if not several or self.verdict not in (Verdict.EXACT, Verdict.DEPENDS):
            return False
        ends = max(abs(self.low), abs(self.high))
        return not ends < threshold and not self.relevant(threshold)

    def rests(self, threshold: float) -> Iterated | None:
        """What it is with each iteration counted, if that differs in sign or by ``threshold``."""
        return self.iterated if self.iterated and self.iterated.differ(threshold) else None


class SuiteCell(msgspec.Struct, frozen=True):
    """One workload at one point. ``folder``: its session's; ``metric``: what values are of, None
    where nothing was measured. By label: ``values`` of kernels that have one, and of the others
    ``absent``; ``changes`` and ``functions`` of all that can be compared with the base, and
    ``seats`` of the changes that have one. ``noise``: how much the base differs from its twin, as a
    fraction; None without one, and from 0; ``twin``: what the statistics say of that, None without
    a twin. ``exact``: the labels whose values were counted and are the same in every boot.
    ``events``: by label, those of the workload that changed by more than its instructions;
    ``items``: those of the inventory that changed by much more.
    ``beside``: by label, how many instructions ran beside the workload, None where they are in the
    values. ``tick_floors``: by label, how much of a value timer ticks can be. ``states``: by label,
    the values in the plain state and in varied ones, by their numbers, if there are any.
    ``further``: the same cell by the collector's other metrics, where they belong together: misses
    beside transfers."""

    name: str
    workload: SuiteWorkload
    part: str
    setting: Setting
    folder: Path
    argv: Sequence[str]
    metric: Metric | None
    per_op: bool
    values: Mapping[str, float]
    changes: Mapping[str, CellChange]
    absent: Mapping[str, Absence]
    functions: Mapping[str, Sequence[CellFunction]]
    seats: Mapping[str, CellFunction]
    noise: float | None
    twin: TwinVerdict | None
    exact: Set[str]
    events: Mapping[str, Sequence[ChangedEvent]] = msgspec.field(default_factory=dict)
    items: Mapping[str, Sequence[ChangedEvent]] = msgspec.field(default_factory=dict)
    beside: dict[str, int] | None = None
    tick_floors: Mapping[str, float | None] = msgspec.field(default_factory=dict)
    states: Mapping[str, Mapping[int, float]] = msgspec.field(default_factory=dict)
    further: Sequence["SuiteCell"] = ()

    @property
    def begun(self) -> bool:
        """Whether any run of it was made."""
        return bool(self.values) or any(one.kind != "not recorded" for one in self.absent.values())


class SessionCells(msgspec.Struct, frozen=True):
    """A session's results of the metric that a suite shows, and of those ``further`` ones that are
    shown beside it."""

    session: Session
    results: Results
    collector: Collector
    metric: Metric | None
    by_point: Mapping[int, Result]
    twins: Mapping[int, Estimate | None]
    further: Sequence["SessionCells"] = ()

    @staticmethod
    def of(session: Session) -> "SessionCells":
        manifest = session.manifest
        results = Results.gather(manifest)
        known = results.metrics()
        exact = [one for one in known if registry.collector(one[0]).kind.exact]
        collector, metric = next(
            iter([*exact, *known]), (exact_collector(session) or manifest.collectors[0], None)
        )
        further = [
            SessionCells._by(session, results, collector, other)
            for other in (one for name, one in known if name == collector)
            if metric and metric.kind.per_op and other != metric
        ]
        return replace(SessionCells._by(session, results, collector, metric), further=further)

    @staticmethod
    def _by(
        session: Session, results: Results, collector: Collector, metric: Metric | None
    ) -> "SessionCells":
        mine = results.of(collector, metric) if metric else []
        by_point = {one.setting.point: one for one in mine}
        twins = _twins(session.manifest, collector, metric)
        return SessionCells(session, results, collector, metric, by_point, twins)

    @property
    def profiled(self) -> bool:
        """Whether the metric's collector tells functions apart."""
        return self.metric is not None and registry.collector(self.collector).profiles

    def ops(self, setting: Setting) -> int:
        """What the values of a setting are divided by."""
        found = self.by_point.get(setting.point)
        return (found.ops if found else None) or 1

    def states(self, setting: Setting) -> list[int]:
        """The varied states in which the base has a value at a setting."""
        found = self.by_point.get(setting.point)
        return sorted(found.cells[0].states) if found else []

    def state(self, setting: Setting) -> int:
        """The one that values of a setting are of."""
        found = self.by_point.get(setting.point)
        return found.state if found else 0

    def cell(self, name: str, workload: SuiteWorkload, part: str, setting: Setting) -> SuiteCell:
        """Without functions."""
        result = self.by_point.get(setting.point)
        values: dict[str, float] = {}
        changes: dict[str, CellChange] = {}
        exact: set[str] = set()
        if result is not None:
            for label, cell, change in zip(
                self.results.labels, result.cells, result.changes, strict=True
            ):
                if cell.value is not None:
                    values[label] = cell.value
                    if (
                        result.deterministic
                        and len({one for boot in cell.boots for one in boot}) == 1
                    ):
                        exact.add(label)
                if change is not None:
                    changes[label] = _change(result.metric, change)
        absent = {label: self._why(label, setting) for label in self._labels if label not in values}
        twin = self.twins.get(setting.point)
        noise = None
        if twin is not None and result is not None:
            floor = result.noise if not result.deterministic else None
            noise = floor if floor is not None else abs(twin.median.estimate)
        return SuiteCell(
            name=name,
            workload=workload,
            part=part,
            setting=setting,
            folder=self.session.folder,
            argv=self.session.manifest.workload.argv,
            metric=result.metric if result else None,
            per_op=bool(result and (result.per_op or result.metric.kind.per_op)),
            values=values,
            changes=changes,
            absent=absent,
            functions={},
            seats={},
            noise=None if noise is None or np.isnan(noise) else noise,
            twin=_twin_verdict(twin),
            exact=exact,
            beside=beside(self.results.runs, setting, list(values), self.collector),
            tick_floors={
                label: cell.tick_floor
                for label, cell in zip(
                    self.results.labels, result.cells if result else (), strict=False
                )
            },
            states={
                label: {0: cell.plain or 0.0, **cell.states}
                for label, cell in zip(
                    self.results.labels, result.cells if result else (), strict=False
                )
                if cell.states
            },
            further=[one.cell(name, workload, part, setting) for one in self.further],
        )

    @property
    def _labels(self) -> list[str]:
        return [kernel.label for kernel in self.session.manifest.kernels if not kernel.twin_of]

    def _why(self, label: str, setting: Setting) -> Absence:
        """Why the last run failed; what the kernel lacks comes before all else."""
        if hole := self.session.kernel(label).hole:
            return Absence("not recorded", f"not built: {hole}")
        runs = self.results.runs
        failures = [
            run.failure
            for point in setting.points
            for run in runs.get((label, self.collector, point), ())
            if run.failure
        ]
        lacking = [failure for failure in failures if failure.kind == ABSENT]
        if lacking:
            return Absence("not there", lacking[-1].message, lacking[-1].lacks)
        if failures:
            return Absence("failed", failures[-1].message)
        return Absence("not recorded", "no run was recorded yet")


def _change(metric: Metric, found: Estimate) -> CellChange:
    before, after = found.medians
    delta, relative = after - before, found.median.estimate
    if metric.kind.floor:
        delta, relative = metric.kind.change(before, after)
    return CellChange(
        relative,
        delta,
        found.verdict,
        found.states,
        found.median.low,
        found.median.high,
        tick_floor=found.tick_floor,
        iterated=Iterated.known(found),
    )


def _twin_verdict(twin: Estimate | None) -> TwinVerdict | None:
    if twin is None:
        return None
    if twin.verdict is Verdict.UNSURE:
        return "unsure"
    differs = twin.verdict.is_sure and twin.medians[0] != twin.medians[1]
    return "differs" if differs else "same"


def _twins(
    manifest: Manifest, collector: Collector, metric: Metric | None
) -> dict[int, Estimate | None]:
    """What the base's twin differs by from it at each point, by the same statistics as of any other
    kernel; nothing without a twin."""
    twin = next((kernel for kernel in manifest.kernels if kernel.twin_of), None)
    if twin is None or metric is None:
        return {}
    kernels = [manifest.kernels[0], with_fields(twin, twin_of=None)]
    labels = {kernel.label for kernel in kernels}
    runs = [run for run in manifest.runs if run.kernel in labels and run.collector == collector]
    alone = Results.gather(with_fields(manifest, kernels=kernels, runs=runs))
    return {one.setting.point: alone.change(one, twin.label) for one in alone.of(collector, metric)}
