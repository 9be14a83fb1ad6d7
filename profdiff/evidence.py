"""What the runs of a session tell of each metric: values of every boot, changes, verdicts, A/A."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from profdiff.manifest import Collector, Kernel, Manifest, Measured, Run
from profdiff.points import Setting, by_boot, cell_runs, settings
from profdiff.statistics import Estimate, NoiseFloor, Rule, estimate, noise_floor
from profdiff.workload_metrics import Metric

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
    base's twin."""

    manifest: Manifest
    kernels: list[Kernel]
    rule: Rule
    results: list[Result]

    @staticmethod
    def gather(manifest: Manifest, rule: Rule = _RULE) -> "Evidence":
        """Everything that finished runs measured. Recordings that were imported have no such
        values; nothing is raised."""
        kernels = [kernel for kernel in manifest.kernels if not kernel.twin_of]
        found = [
            _result(manifest, kernels, setting, collector, measured, rule)
            for setting in settings(manifest)
            for collector in manifest.collectors
            for measured in _metrics(manifest, setting, collector)
        ]
        return Evidence(manifest, kernels, rule, found)

    @property
    def labels(self) -> list[str]:
        """The kernels' labels, the base's first."""
        return [kernel.label for kernel in self.kernels]

    @property
    def repeated(self) -> bool:
        """Whether any cell has more than one boot."""
        return any(len(cell.boots) > 1 for result in self.results for cell in result.cells)

    def metrics(self) -> list[tuple[Collector, Metric]]:
        """What was measured, in order."""
        return list(dict.fromkeys((result.collector, result.metric) for result in self.results))

    def of(self, collector: Collector, metric: Metric) -> list[Result]:
        """The results of a metric, by setting."""
        return [r for r in self.results if (r.collector, r.metric) == (collector, metric)]

    def at(self, setting: Setting) -> list[Result]:
        """The results at a setting."""
        return [result for result in self.results if result.setting == setting]


def _metrics(manifest: Manifest, setting: Setting, collector: Collector) -> list[Measured]:
    """One of each metric that a run at the setting measured; with --difference only totals, which
    can be subtracted."""
    found: dict[Metric, Measured] = {}
    for run in manifest.runs:
        if run.failure is None and run.collector == collector and run.point == setting.point:
            for one in run.measured:
                if one.is_total or setting.short is None:
                    found.setdefault(_metric(one), one)
    return list(found.values())


def is_time(metric: Metric) -> bool:
    """Whether it is a time, perhaps of each of something: ``ns``, ``us/call``."""
    return metric.unit.partition("/")[0] in _TIMES


def _metric(measured: Measured) -> Metric:
    return Metric(measured.name, measured.unit, measured.better)


def _result(
    manifest: Manifest,
    kernels: Sequence[Kernel],
    setting: Setting,
    collector: Collector,
    measured: Measured,
    rule: Rule,
) -> Result:
    metric = _metric(measured)
    per_op = measured.is_total and setting.ops is not None
    cells = [
        _cell(manifest, kernel.label, setting, collector, metric, per_op) for kernel in kernels
    ]
    emulated = _emulated(manifest, collector)
    deterministic = emulated and collector in ("exact", "timed")
    twin = next((kernel for kernel in manifest.kernels if kernel.twin_of), None)
    noise = None
    if twin:
        other = _cell(manifest, twin.label, setting, collector, metric, per_op)
        if other.boots and cells[0].boots:
            noise = noise_floor(cells[0].boots, other.boots, rule, seed=manifest.order.seed)

    def compare(base: Cell, other: Cell) -> Estimate | None:
        if not base.boots or not other.boots:
            return None
        found = estimate(
            base.boots,
            other.boots,
            rule,
            planned=manifest.repeat,
            deterministic=deterministic,
            seed=manifest.order.seed,
        )
        return _against_noise(found, noise)

    return Result(
        setting=setting,
        collector=collector,
        metric=metric,
        per_op=per_op,
        deterministic=deterministic,
        virtual=emulated and _of_time(metric.unit),
        cells=cells,
        changes=[None, *(compare(cells[0], cell) for cell in cells[1:])],
        steps=[None, *(compare(a, b) for a, b in pairwise(cells))],
        noise=noise,
    )


def _cell(
    manifest: Manifest,
    label: str,
    setting: Setting,
    collector: Collector,
    metric: Metric,
    per_op: bool,
) -> Cell:
    by_point = [cell_runs(manifest, label, collector, point) for point in setting.points]
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
    twin = manifest.twin_repeat if label not in _labels(manifest) else manifest.repeat
    return Cell(boots, twin, failed)


def _labels(manifest: Manifest) -> set[str]:
    return {kernel.label for kernel in manifest.kernels if not kernel.twin_of}


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


def _emulated(manifest: Manifest, collector: Collector) -> bool:
    """Whether all runs of a collector were in guests whose time is their instructions."""
    mine = [run for run in manifest.runs if run.collector == collector and run.failure is None]
    return bool(mine) and all(run.qemu and "-icount" in run.qemu.arguments for run in mine)


def _of_time(unit: str) -> bool:
    """Whether time is in it: ``ns``, ``ns/page``, ``ops/s``."""
    return not _TIMES.isdisjoint(unit.split("/"))


def _against_noise(found: Estimate, noise: NoiseFloor | None) -> Estimate:
    """A change that A/A runs show as well is none."""
    if noise is None or found.verdict != "changed" or abs(found.median.estimate) > noise.floor:
        return found
    return replace(
        found, verdict="unsure", reason="within what the base differs from itself by (A/A)"
    )
