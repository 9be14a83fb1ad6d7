"""What one kernel has of a metric at a setting, and the values of its runs by boot: on a machine
several runs may share one."""

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from statistics import median, median_low

import msgspec
import numpy as np

from profdiff.base.metric import Metric
from profdiff.collectors import registry
from profdiff.evidence.iterations import extra
from profdiff.evidence.statistics import spread
from profdiff.session.manifest import Collector, Measured, Run
from profdiff.session.points import by_boot


def metric_of(measured: Measured, collector: Collector) -> Metric:
    """The metric of what a collector measured."""
    kind = registry.collector(collector).kind
    return Metric(measured.name, measured.unit, measured.better, kind)


def boots_of(runs: Sequence[Run], metric: Metric) -> list[list[float]]:
    """The values of a metric by boot."""
    found = [
        (run, one.values)
        for run in runs
        if run.failure is None
        for one in run.measured
        if metric_of(one, run.collector) == metric
    ]
    return [
        [value for number in boot for value in found[number][1]]
        for boot in by_boot([run for run, _ in found])
    ]


def extra_of(by_point: Sequence[Sequence[Run]], ops: int) -> Sequence[float]:
    """By boot, the iterations per op that the counts of one point, or of two lengths, leave out;
    none where some run does not tell it."""
    told = []
    for some in by_point:
        runs = [run for run in some if run.failure is None]
        each = [extra(run) for run in runs]
        if None in each:
            return ()
        told.append([[float(median(each[at] or 0 for at in boot))] for boot in by_boot(runs)])
    return [boot[0] / ops for boot in differences(told)]


def differences(by_point: Sequence[list[list[float]]]) -> list[list[float]]:
    """Boots of the only point, or those of the longer one less those of the shorter."""
    if len(by_point) == 1:
        return by_point[0]
    return [
        [more - less for less, more in zip(before, after, strict=False)]
        for before, after in zip(*by_point, strict=False)
    ]


class Cell(msgspec.Struct, frozen=True, dict=True):
    """One kernel at one setting: ``boots[b]`` are the metric's values in boot b, per op where the
    result is; ``planned`` boots, ``failed`` runs. ``states``: the values in varied states, by their
    numbers. ``of_one``: its value is that of one boot, whose counts add up. ``tick_floor``: how
    much of a value timer ticks can be, None where that is not known. ``state``: the one that its
    value is of; ``extra``: of each state by boot, the iterations of repeated string instructions
    that values leave out, none where they are not known. ``scheduled``: which vCPU runs when
    decides much of it."""

    boots: list[list[float]]
    planned: int
    failed: int
    states: Mapping[int, float] = msgspec.field(default_factory=dict)
    of_one: bool = False
    tick_floor: float | None = 0.0
    state: int = 0
    extra: Mapping[int, Sequence[float]] = msgspec.field(default_factory=dict)
    scheduled: bool = False

    @property
    def scattered(self) -> bool:
        """Whether its boots differ."""
        return any(boot != self.boots[0] for boot in self.boots)

    @cached_property
    def medians(self) -> list[float]:
        """The values of each boot."""
        return [median(boot) for boot in self.boots]

    @property
    def value(self) -> float | None:
        """In the state that is shown."""
        return self.states.get(self.state) if self.state else self.plain

    @property
    def plain(self) -> float | None:
        """The median over boots, of an even number of one's own the lower one; None without any."""
        if not self.boots:
            return None
        return median_low(self.medians) if self.of_one else median(self.medians)

    @property
    def iterated(self) -> float | None:
        """The value with each iteration counted, of the boot that the value is of."""
        value, extra = self.value, self.extra.get(self.state, ())
        medians = [value] if self.state else self.medians
        if value is None or not extra or len(extra) != len(medians):
            return None
        nearest = min(range(len(extra)), key=lambda boot: abs((medians[boot] or 0.0) - value))
        return value + extra[nearest]

    @property
    def spread(self) -> float | None:
        """Over the boots' medians; None for fewer than two boots, and around 0."""
        found = spread(np.array([self.medians])) if len(self.boots) > 1 else [math.nan]
        return None if math.isnan(found[0]) else float(found[0])
