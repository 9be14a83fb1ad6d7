"""Results: each metric of a session, with the values of every boot, changes, verdicts, and A/A."""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from functools import cached_property
from itertools import pairwise
from statistics import median
from typing import TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace

from profdiff.base import guest_clock
from profdiff.base.metric import IDLE, INSTRUCTIONS, Metric
from profdiff.collectors import registry
from profdiff.evidence.cell import Cell, boots_of, differences, extra_of, metric_of
from profdiff.evidence.outside_workload import GUEST_CLOCK, above_ticks, larger, tick_floor
from profdiff.evidence.state_changes import in_states, shown_state
from profdiff.evidence.statistics import Estimate, Rule, Verdict, estimates, noise_floor
from profdiff.session.manifest import Collector, Kernel, Manifest, Measured
from profdiff.session.points import Cells, Setting, cells_by_state, recorded_at, settings

_RULE = Rule()
_Key = TypeVar("_Key", bound=Hashable)
_TIMES = {"ns", "us", "ms", "s"}
_SCHEDULED = "most lines are recycled, and which vCPU gets them depends on the schedule"


class Result(msgspec.Struct, frozen=True):
    """One metric at one setting. ``cells``, ``changes`` (against the base) and ``steps`` (against
    the kernel before) are by kernel; None where there is nothing to compare. ``ops``: what values
    are divided by, None if they are not. ``deterministic``: the collector counts, nothing is
    sampled or timed by hardware. ``virtual``: read from a guest's clock that counts its
    instructions, as the unit says.
    ``noise``: the floor of A/A runs, nan for too few. ``state``: the one that values and changes
    are of: where a change depends on state, the one that shows least of it, or the median where
    states differ in direction."""

    setting: Setting
    collector: Collector
    metric: Metric
    ops: int | None
    deterministic: bool
    virtual: bool
    cells: list[Cell]
    changes: list[Estimate | None]
    steps: list[Estimate | None]
    noise: float | None
    state: int = 0

    @property
    def per_op(self) -> bool:
        """Whether values are divided by operations."""
        return self.ops is not None

    @property
    def of_whole(self) -> bool:
        """Whether a total is of the longer run alone, where other metrics are differences."""
        return self.setting.short is not None and self.ops not in (None, self.setting.ops)

    @property
    def is_wall_time(self) -> bool:
        """Whether it is the time of the whole command, which every timed run has."""
        return guest_clock.is_whole_command(self.metric)


class Results(msgspec.Struct, frozen=True, dict=True):
    """A session's results: ``every`` one by setting, then collector, then metric. ``kernels``
    without the base's twin and those that could not be built; ``runs``: all runs of each cell;
    ``settings``: all, with a result or without."""

    manifest: Manifest
    kernels: list[Kernel]
    rule: Rule
    runs: Cells
    settings: list[Setting]
    every: list[Result]

    @staticmethod
    def gather(manifest: Manifest, rule: Rule = _RULE) -> "Results":
        """Everything that finished runs measured, but for idle vCPUs where none ever was.
        Recordings that were imported have no such values; nothing is raised."""
        kernels = manifest.compared
        by_state, known = cells_by_state(manifest), settings(manifest)
        runs = by_state[0]
        gatherer = _Gatherer(manifest, kernels, rule, by_state, _emulated(runs))
        found = [
            gatherer.result(setting, collector, measured)
            for setting in known
            for collector in manifest.collectors
            for measured in gatherer.metrics(setting, collector)
        ]
        idle = [cell.boots for one in found if one.metric == IDLE for cell in one.cells]
        if not np.any([value for boots in idle for boot in boots for value in boot]):
            found = [one for one in found if one.metric != IDLE]
        return Results(manifest, kernels, rule, runs, known, gatherer.compared(found))

    @property
    def swept(self) -> Sequence[str]:
        """What differs from setting to setting."""
        return self.settings[0].varied if self.settings else ()

    @property
    def labels(self) -> list[str]:
        """The kernels' labels, the base's first."""
        return [kernel.label for kernel in self.kernels]

    def change(self, result: Result, label: str) -> Estimate | None:
        """How a kernel changes a result against the base; None where the session lacks the kernel,
        and where there is nothing to compare."""
        return result.changes[self.labels.index(label)] if label in self.labels else None

    @property
    def repeated(self) -> bool:
        """Whether any cell has more than one boot."""
        return any(len(cell.boots) > 1 for result in self.every for cell in result.cells)

    @property
    def scattered(self) -> bool:
        """Whether the boots of any cell differ."""
        return any(cell.scattered for result in self.every for cell in result.cells)

    @property
    def varied(self) -> bool:
        """Whether any cell was seen in several states."""
        return any(cell.states for result in self.every for cell in result.cells)

    def metrics(self) -> list[tuple[Collector, Metric]]:
        """What was measured, in order."""
        return list(self._by_metric)

    def of(self, collector: Collector, metric: Metric) -> list[Result]:
        """The results of a metric, by setting."""
        return self._by_metric.get((collector, metric), [])

    def state(self, setting: Setting) -> int:
        """The state that exact counts at a setting are shown in."""
        return next((one.state for one in self.at(setting) if one.state), 0)

    def at(self, setting: Setting) -> list[Result]:
        """The results at a setting."""
        return self._by_point.get(setting.point, [])

    @cached_property
    def _by_metric(self) -> dict[tuple[Collector, Metric], list[Result]]:
        return _grouped(self.every, lambda result: (result.collector, result.metric))

    @cached_property
    def _by_point(self) -> dict[int, list[Result]]:
        return _grouped(self.every, lambda result: result.setting.point)


def _grouped(results: Sequence[Result], key: Callable[[Result], _Key]) -> dict[_Key, list[Result]]:
    found: dict[_Key, list[Result]] = {}
    for result in results:
        found.setdefault(key(result), []).append(result)
    return found


def is_time(metric: Metric) -> bool:
    """Whether it is a time, perhaps of each of something: ``ns``, ``us/call``."""
    return metric.unit.partition("/")[0] in _TIMES


class _Gatherer(msgspec.Struct, frozen=True):
    """The runs of a session by cell, and what is made of them."""

    manifest: Manifest
    kernels: Sequence[Kernel]
    rule: Rule
    by_state: Mapping[int, Cells]
    emulated: Set[str]

    @property
    def runs(self) -> Cells:
        """Those in the plain state."""
        return self.by_state[0]

    def metrics(self, setting: Setting, collector: Collector) -> list[Measured]:
        """One of each metric that a run at the setting measured."""
        found: dict[Metric, Measured] = {}
        for kernel in self.kernels:
            for run in self.runs.get((kernel.label, collector, setting.point), ()):
                for one in run.measured if run.failure is None else ():
                    found.setdefault(metric_of(one, collector), one)
        return list(found.values())

    def result(self, setting: Setting, collector: Collector, measured: Measured) -> Result:
        """What was measured; it is not compared yet."""
        metric = metric_of(measured, collector)
        points, ops = [setting.point], self.manifest.points[setting.point].ops
        if measured.is_total and self._is_subtracted(setting, collector):
            points, ops = setting.points, setting.ops
        # What a workload says of itself is of one operation already, and has no start-up.
        ops = ops if measured.is_total else None

        def cell(label: str, planned: int) -> Cell:
            boots: dict[int, list[list[float]]] = {}
            failed = 0
            for state, runs in self.by_state.items():
                by_point = [runs.get((label, collector, point), ()) for point in points]
                values = differences([boots_of(some, metric) for some in by_point])
                boots[state] = [[value / (ops or 1) for value in boot] for boot in values]
                failed += sum(run.failure is not None for some in by_point for run in some)
            plain = boots.pop(0)
            states = {state: median(map(median, some)) for state, some in boots.items() if some}
            floor: float | None = 0.0
            if counted:
                here = [self.runs.get((label, collector, point), ()) for point in points]
                floor = tick_floor(here)
            floor = None if floor is None else floor / (ops or 1)
            more = {
                state: extra_of(
                    [runs.get((label, collector, point), ()) for point in points], ops or 1
                )
                for state, runs in (self.by_state.items() if counted else ())
            }
            scheduled = any(
                one.scheduled and metric_of(one, collector) == metric
                for point in points
                for run in self.runs.get((label, collector, point), ())
                for one in run.measured
            )
            return Cell(
                plain, planned, failed, states, counted, floor, extra=more, scheduled=scheduled
            )

        emulated = collector in self.emulated
        # Ticks take away from what is idle what they add to what executes.
        counted = emulated and metric in (INSTRUCTIONS, IDLE)
        found = [cell(kernel.label, self.manifest.repeat) for kernel in self.kernels]
        scaled = self._is_scaled(setting, collector, metric)
        noise = None
        for twin in [kernel for kernel in self.manifest.kernels if kernel.twin_of][:1]:
            boots = cell(twin.label, self.manifest.twin_repeat).boots
            if boots and found[0].boots:
                seed = self.manifest.order.seed
                noise = noise_floor(found[0].boots, boots, self.rule, seed=seed)
        return Result(
            setting=setting,
            collector=collector,
            metric=guest_clock.counted(metric) if emulated else metric,
            ops=ops,
            deterministic=emulated and metric.kind.repeatable and not scaled,
            virtual=emulated and guest_clock.has_time(metric.unit),
            cells=found,
            changes=[],
            steps=[],
            noise=noise,
        )

    def _is_subtracted(self, setting: Setting, collector: Collector) -> bool:
        """Whether the collector runs at the shorter length too, or did in an earlier recording."""
        if setting.short is None or setting.short in recorded_at(self.manifest, collector):
            return True
        return any(
            self.runs.get((kernel.label, collector, setting.short)) for kernel in self.kernels
        )

    def _is_scaled(self, setting: Setting, collector: Collector, metric: Metric) -> bool:
        """Whether some value was counted in a part of the time only, which is another one in each
        run."""
        return any(
            one.counted_part < 1 and metric_of(one, collector) == metric
            for kernel in self.kernels
            for point in setting.points
            for run in self.runs.get((kernel.label, collector, point), ())
            for one in run.measured
        )

    def compared(self, results: Sequence[Result]) -> list[Result]:
        """The same with their changes and steps, all of which are estimated together."""
        wanted: dict[bool, list[tuple[Cell, Cell]]] = {False: [], True: []}
        for result in results:
            wanted[result.deterministic] += filter(_measured, _pairs(result))
        made = {
            deterministic: iter(
                estimates(
                    [(base.boots, other.boots) for base, other in pairs],
                    self.rule,
                    planned=self.manifest.repeat,
                    deterministic=deterministic,
                    seed=self.manifest.order.seed,
                )
            )
            for deterministic, pairs in wanted.items()
        }
        compared = []
        for result in results:
            found: list[Estimate | None] = [
                self._judged(result, pair, next(made[result.deterministic]))
                if _measured(pair)
                else None
                for pair in _pairs(result)
            ]
            if state := shown_state(result.cells, found[: len(self.kernels) - 1]):
                cells = [replace(cell, state=state) for cell in result.cells]
                result = replace(result, cells=cells, state=state)
                pairs = zip(found, _pairs(result), strict=True)
                found = [change and _shown(result, change, pair) for change, pair in pairs]
            changes, steps = found[: len(self.kernels) - 1], found[len(self.kernels) - 1 :]
            compared.append(
                replace(result, changes=[None, *changes], steps=[None, *changes[:1], *steps])
            )
        return compared

    def _judged(self, result: Result, pair: tuple[Cell, Cell], found: Estimate) -> Estimate:
        """What boots tell, after A/A runs, other states, and timer ticks had their say."""
        found = _against_noise(_shown(result, found, pair), result.noise)
        found = in_states(found, *(cell.states for cell in pair))
        floor = larger(cell.tick_floor for cell in pair)
        found = above_ticks(found, _guest_clock(pair) if result.virtual else floor, self.rule)
        if found.verdict is not Verdict.DEPENDS and any(cell.scheduled for cell in pair):
            return replace(found, verdict=Verdict.UNSURE, reason=_SCHEDULED)
        return replace(found, alone=self._is_alone(result, found))

    def _is_alone(self, result: Result, found: Estimate) -> bool:
        """Whether an exact change was seen in the plain state, and could be in others."""
        guests = self.manifest.guest is not None and not self.manifest.order.vary
        exact = registry.collector(result.collector).kind.exact and result.deterministic
        once = found.states == 1 and found.verdict is Verdict.EXACT
        return guests and exact and once and found.medians[0] != found.medians[1]


def _pairs(result: Result) -> list[tuple[Cell, Cell]]:
    """Each kernel but the base with the base, then each but the first two with the last one before
    that has a result."""
    first, *others = result.cells
    pairs, before = [(first, other) for other in others], first
    for one, other in pairwise(others):
        before = one if one.boots else before
        pairs.append((before, other))
    return pairs


def _measured(pair: tuple[Cell, Cell]) -> bool:
    return bool(pair[0].boots and pair[1].boots)


def _emulated(runs: Cells) -> Set[str]:
    """The collectors all of whose finished runs were in guests whose time is their instructions."""
    found: dict[str, bool] = {}
    for (_, collector, _), some in runs.items():
        for run in some:
            if run.failure is None:
                counted = run.qemu is not None and run.qemu.virtual_clock
                found[collector] = found.get(collector, True) and counted
    return {collector for collector, emulated in found.items() if emulated}


def _guest_clock(pair: tuple[Cell, Cell]) -> float:
    """The tick floor of what a guest's clock measured: interrupts are part of it, and nobody knows
    how many came."""
    return GUEST_CLOCK * abs(pair[0].value or 0.0)


def _shown(result: Result, found: Estimate, pair: tuple[Cell, Cell]) -> Estimate:
    """The same with the values that are shown of both sides."""
    base, other = (cell.value for cell in pair)
    each = tuple(one for cell in pair if (one := cell.iterated) is not None)
    if result.metric == INSTRUCTIONS and len(each) == len(pair):
        found = replace(found, iterated=each)
    if base is None or other is None or (base, other) == found.medians:
        return found
    change = other / base - 1 if base else math.nan
    median = replace(found.median, estimate=change)
    return replace(found, medians=(base, other), median=median)


def _against_noise(found: Estimate, noise: float | None) -> Estimate:
    """A change that A/A runs show as well is none. A single A/A run knows no floor: nan."""
    if noise is None or found.verdict is not Verdict.CHANGED:
        return found
    if not abs(found.median.estimate) <= noise:
        return found
    return replace(found, verdict=Verdict.UNSURE, reason="within the noise floor (A/A)")
