"""Results and what was recorded, as flat rows."""

from collections.abc import Iterator, Mapping

from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence import results
from profdiff.evidence.outside_workload import beside
from profdiff.evidence.results import Results
from profdiff.session.manifest import Manifest
from profdiff.views.kernels.state import guest_arch
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


class KernelRow(Record, frozen=True):
    """A kernel that was compared; None is unknown. ``arch``: of the guest that it ran in;
    ``variant``: what that was given otherwise than others, "" for nothing.
    ``commit`` and what follows it: of the source that profdiff built it from. ``described``: what
    ``git describe`` calls the commit; ``built``: the commit that was built, which is another one
    where patches or other changes are on top; ``tree``: that one's; ``patches``: their names."""

    label: str
    spec: str
    release: str | None
    version: str | None
    compiler: str | None
    build_id: str | None
    image_sha256: str | None
    arch: str | None
    variant: str
    commit: str | None
    described: str | None
    subject: str | None
    built: str | None
    tree: str | None
    patches: str | None


class RunRow(Record, frozen=True):
    """A run, finished or not. ``state``: the varied state that it ran in, 0 for the plain one;
    ``started``: when, in UTC. ``failure``: of which kind, and ``why``; None of a run that has a
    result. ``qemu``: the version line of its emulator, None without one; ``node``: of a cluster."""

    id: str
    kernel: str
    collector: str
    parameters: dict[str, str]
    vcpus: int | None
    repetition: int
    state: int
    started: str
    wall_seconds: float
    failure: str | None
    why: str | None
    qemu: str | None
    node: str | None


def kernel_rows(manifest: Manifest) -> Iterator[KernelRow]:
    """The base first."""
    for kernel in manifest.compared:
        source = kernel.source
        yield KernelRow(
            label=kernel.label,
            spec=kernel.spec,
            release=kernel.release,
            version=kernel.version,
            compiler=kernel.compiler,
            build_id=kernel.build_id,
            image_sha256=kernel.image_sha256,
            arch=guest_arch(run for run in manifest.runs if run.kernel == kernel.label),
            variant=" ".join(kernel.variant.words),
            commit=source.commit if source else None,
            described=source.described if source else None,
            subject=source.subject if source else None,
            built=source.built if source else None,
            tree=source.tree if source else None,
            patches=", ".join(source.patches) if source else None,
        )


def run_rows(manifest: Manifest) -> Iterator[RunRow]:
    """As they ended."""
    own = {kernel.label: kernel.variant.cpus for kernel in manifest.kernels}
    for run in manifest.runs:
        point, failure = manifest.points[run.point], run.failure
        yield RunRow(
            id=run.id,
            kernel=run.kernel,
            collector=run.collector,
            parameters=dict(point.parameters),
            vcpus=own.get(run.kernel) or point.cpus,
            repetition=run.repetition,
            state=run.state,
            started=run.started,
            wall_seconds=run.wall_seconds,
            failure=failure.kind if failure else None,
            why=failure.message if failure else None,
            qemu=run.qemu.version if run.qemu else None,
            node=run.node.host if run.node else None,
        )
