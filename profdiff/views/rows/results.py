"""Results as rows: what each metric is on each kernel at each setting."""

from collections.abc import Iterator, Mapping

from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence import results
from profdiff.evidence.beside import beside
from profdiff.evidence.results import Results
from profdiff.views.record import Record, finite
from profdiff.views.results.result import Median


class ResultRow(Record, frozen=True):
    """A metric of a kernel at a setting; None where something is not known. ``part``: of which
    architecture or compiler, "" for the only one. ``value``: the median over boots, whole;
    ``per_op``: the same per op. ``change``: relative, as a fraction of the base, with ``low`` and
    ``high`` of its interval; ``ratio``: how many times the base. Both, ``verdict`` and ``quality``
    are None of the base, which is not compared. ``beside``: instructions that ran beside the
    workload, which ``value`` leaves out; ``states``: in how many the change was seen;
    ``tick_floor``: how much of it timer ticks can be."""

    part: str
    metric: str
    kernel: str
    parameters: dict[str, str]
    vcpus: int | None
    value: float | None
    per_op: float | None
    unit: str
    better: str
    spread: float | None
    ratio: float | None
    change: float | None
    low: float | None
    high: float | None
    verdict: str | None
    quality: str | None
    noise_floor: float | None
    boots: int
    failed: int
    collector: str
    beside: int | None
    states: int | None
    tick_floor: float | None

    def at(self, name: str) -> str:
        """A parameter's value, or the number of vCPUs."""
        return str(self.vcpus or "") if name == "vCPUs" else self.parameters.get(name, "")


def result_rows(parts: Mapping[str, Results]) -> Iterator[ResultRow]:
    """The parts one after the other, "" for the only one: metrics in the order of the report's
    tables, their settings, and of each all kernels, the base first."""
    for part, told in parts.items():
        for metric in told.metrics():
            for result in told.of(*metric):
                yield from _rows(part, told, result)


def _rows(part: str, told: Results, result: results.Result) -> Iterator[ResultRow]:
    metric, setting, ops = result.metric, result.setting, result.ops or 1
    apart = (
        beside(told.runs, setting, told.labels, result.collector)
        if metric.name == INSTRUCTIONS.name
        else None
    )
    for label, cell, change in zip(told.labels, result.cells, result.changes, strict=True):
        middle = Median.of(cell)
        value = middle.value
        ratio = floor = estimate = low = high = None
        if change:
            base, other = change.medians
            ratio = other / base if base > 0 else None
            floor = None if change.tick_floor is None else change.tick_floor * ops
            estimate, low, high = change.median.estimate, change.median.low, change.median.high
        yield ResultRow(
            part=part,
            metric=metric.name,
            kernel=label,
            parameters=dict(setting.parameters),
            vcpus=setting.cpus,
            value=finite(None if value is None else value * ops),
            per_op=finite(value) if result.per_op else None,
            unit=metric.unit,
            better=metric.better,
            spread=finite(middle.spread.part),
            ratio=finite(ratio),
            change=finite(estimate),
            low=finite(low),
            high=finite(high),
            verdict=change.verdict if change else None,
            quality=change.quality if change else None,
            noise_floor=finite(result.noise),
            boots=len(cell.boots),
            failed=cell.failed,
            collector=result.collector,
            beside=None if apart is None else apart[label],
            states=change.states if change else None,
            tick_floor=finite(floor),
        )
