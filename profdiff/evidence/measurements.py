"""What the runs of a session tell of each metric: values of every boot, changes, verdicts, A/A."""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from profdiff.base.metric import Metric
from profdiff.collectors import registry
from profdiff.evidence.statistics import Estimate, NoiseFloor, Rule, estimates, noise_floor
from profdiff.session.manifest import Collector, Kernel, Manifest, Measured, Run
from profdiff.session.points import Cells, Setting, by_boot, cells, settings, varied

_RULE = Rule()
_TIMES = {"ns", "us", "ms", "s"}


@dataclass(frozen=True)
class Cell:
    """One kernel at one setting: ``boots[b]`` are the metric's values in boot b, per op where the
    result is; ``planned`` boots, ``failed`` runs."""

    boots: list[list[float]]
    planned: int
    failed: int

    @property
    def values(self) -> list[float]:
        """All of them, boot after boot."""
        return [value for boot in self.boots for value in boot]


@dataclass(frozen=True)
class Result:
    """One metric at one setting. ``cells``, ``changes`` (against the base) and ``steps`` (against
    the kernel before) are by kernel; None where there is nothing to compare. ``per_op``: values are
    divided by operations. ``deterministic``: the collector counts, nothing is sampled or timed by
    hardware. ``virtual``: the guest's clock is the number of its instructions. ``noise``: what A/A
    runs differ by."""

    setting: Setting
    collector: Collector
    metric: Metric
    per_op: bool
    deterministic: bool
    virtual: bool
    cells: list[Cell]
    changes: list[Estimate | None]
    steps: list[Estimate | None]
    noise: NoiseFloor | None


@dataclass(frozen=True)
class Evidence:
    """All results of a session: by setting, then collector, then metric. ``kernels`` without the
    base's twin; ``runs``: all runs of each cell."""

    manifest: Manifest
    kernels: list[Kernel]
    rule: Rule
    runs: Cells
    results: list[Result]

    @staticmethod
    def gather(manifest: Manifest, rule: Rule = _RULE) -> "Evidence":
        """Everything that finished runs measured. Recordings that were imported have no such
        values; nothing is raised."""
        kernels = [kernel for kernel in manifest.kernels if not kernel.twin_of]
        runs = cells(manifest)
        gatherer = _Gatherer(manifest, kernels, rule, runs, _emulated(runs))
        found = [
            gatherer.result(setting, collector, measured)
            for setting in settings(manifest)
            for collector in manifest.collectors
            for measured in gatherer.metrics(setting, collector)
        ]
        return Evidence(manifest, kernels, rule, runs, gatherer.compared(found))

    @cached_property
    def swept(self) -> list[str]:
        """What differs from setting to setting (points.varied)."""
        return varied(self.manifest)

    @property
    def labels(self) -> list[str]:
        """The kernels' labels, the base's first."""
        return [kernel.label for kernel in self.kernels]

    @property
    def repeated(self) -> bool:
        """Whether any cell has more than one boot."""
        return any(len(cell.boots) > 1 for result in self.results for cell in result.cells)

    @property
    def scattered(self) -> bool:
        """Whether the boots of any cell differ."""
        cells = [cell for result in self.results for cell in result.cells]
        return any(boot != cell.boots[0] for cell in cells for boot in cell.boots)

    def metrics(self) -> list[tuple[Collector, Metric]]:
        """What was measured, in order."""
        return list(self._by_metric)

    def of(self, collector: Collector, metric: Metric) -> list[Result]:
        """The results of a metric, by setting."""
        return self._by_metric.get((collector, metric), [])

    def at(self, setting: Setting) -> list[Result]:
        """The results at a setting."""
        return self._by_point.get(setting.point, [])

    @cached_property
    def _by_metric(self) -> dict[tuple[Collector, Metric], list[Result]]:
        found: dict[tuple[Collector, Metric], list[Result]] = {}
        for result in self.results:
            found.setdefault((result.collector, result.metric), []).append(result)
        return found

    @cached_property
    def _by_point(self) -> dict[int, list[Result]]:
        found: dict[int, list[Result]] = {}
        for result in self.results:
            found.setdefault(result.setting.point, []).append(result)
        return found


def is_time(metric: Metric) -> bool:
    """Whether it is a time, perhaps of each of something: ``ns``, ``us/call``."""
    return metric.unit.partition("/")[0] in _TIMES


def _of_time(unit: str) -> bool:
    """Whether time is in it: ``ns``, ``ns/page``, ``ops/s``."""
    return not _TIMES.isdisjoint(unit.split("/"))


def _metric(measured: Measured) -> Metric:
    return Metric(measured.name, measured.unit, measured.better)


@dataclass(frozen=True)
class _Gatherer:
    """The runs of a session by cell, and what is made of them."""

    manifest: Manifest
    kernels: Sequence[Kernel]
    rule: Rule
    runs: Cells
    emulated: Set[str]

    def metrics(self, setting: Setting, collector: Collector) -> list[Measured]:
        """One of each metric that a run at the setting measured; with --difference only totals,
        which can be subtracted."""
        found: dict[Metric, Measured] = {}
        for kernel in self.kernels:
            for run in self.runs.get((kernel.label, collector, setting.point), ()):
                for one in run.measured if run.failure is None else ():
                    if one.is_total or setting.short is None:
                        found.setdefault(_metric(one), one)
        return list(found.values())

    def result(self, setting: Setting, collector: Collector, measured: Measured) -> Result:
        """What was measured; it is not compared yet."""
        metric = _metric(measured)
        per_op = measured.is_total and setting.ops is not None

        def cell(label: str, planned: int) -> Cell:
            return self._cell(label, planned, setting, collector, metric, per_op)

        found = [cell(kernel.label, self.manifest.repeat) for kernel in self.kernels]
        emulated = collector in self.emulated
        twin = next((kernel for kernel in self.manifest.kernels if kernel.twin_of), None)
        noise = None
        if twin:
            boots = cell(twin.label, self.manifest.twin_repeat).boots
            if boots and found[0].boots:
                seed = self.manifest.order.seed
                noise = noise_floor(found[0].boots, boots, self.rule, seed=seed)
        return Result(
            setting=setting,
            collector=collector,
            metric=metric,
            per_op=per_op,
            deterministic=emulated and registry.collector(collector).kind.repeatable,
            virtual=emulated and _of_time(metric.unit),
            cells=found,
            changes=[],
            steps=[],
            noise=noise,
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
            found = [
                _against_noise(next(made[result.deterministic]), result.noise)
                if _measured(pair)
                else None
                for pair in _pairs(result)
            ]
            changes, steps = found[: len(self.kernels) - 1], found[len(self.kernels) - 1 :]
            compared.append(
                replace(result, changes=[None, *changes], steps=[None, *changes[:1], *steps])
            )
        return compared

    def _cell(
        self,
        label: str,
        planned: int,
        setting: Setting,
        collector: Collector,
        metric: Metric,
        per_op: bool,
    ) -> Cell:
        by_point = [self.runs.get((label, collector, point), ()) for point in setting.points]
        ops = (setting.ops or 1) if per_op else 1
        longer = _boots(by_point[-1], metric)
        boots = [[value / ops for value in boot] for boot in longer]
        if len(by_point) > 1:
            shorter = _boots(by_point[0], metric)
            boots = [
                [(more - less) / ops for less, more in zip(before, after, strict=False)]
                for before, after in zip(shorter, longer, strict=False)
            ]
        failed = sum(run.failure is not None for runs in by_point for run in runs)
        return Cell(boots, planned, failed)


def _pairs(result: Result) -> list[tuple[Cell, Cell]]:
    """Each kernel but the base with the base, then each but the first two with the one before."""
    first, *others = result.cells
    return [*((first, other) for other in others), *pairwise(others)]


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


def _boots(runs: Sequence[Run], metric: Metric) -> list[list[float]]:
    """Values by boot: on a machine several runs may share one."""
    found = [
        (run, one.values)
        for run in runs
        if run.failure is None
        for one in run.measured
        if _metric(one) == metric
    ]
    return [
        [value for number in boot for value in found[number][1]]
        for boot in by_boot([run for run, _ in found])
    ]


def _against_noise(found: Estimate, noise: NoiseFloor | None) -> Estimate:
    """A change that A/A runs show as well is none."""
    if noise is None or found.verdict != "changed" or abs(found.median.estimate) > noise.floor:
        return found
    return replace(
        found, verdict="unsure", reason="within what the base differs from itself by (A/A)"
    )
