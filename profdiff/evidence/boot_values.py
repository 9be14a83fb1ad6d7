"""What runs measured, by boot: on a machine several runs may share one."""

from collections.abc import Sequence
from statistics import median

from profdiff.base.metric import Metric
from profdiff.collectors import registry
from profdiff.evidence.iterations import extra
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
