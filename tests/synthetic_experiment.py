"""Small made-up experiments: runs that measured values, and no recording."""

from collections.abc import Mapping, Sequence

from synthetic import manifest

from profdiff.base.metric import Better
from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.session import manifest as m
from profdiff.session.facts import Facts
from profdiff.session.state import State

ICOUNT = m.Qemu(
    version="QEMU emulator version 7.2.22", arguments=[], accelerator="tcg", virtual_clock=True
)

# Values of each boot, by label and point.
Values = Mapping[str, Sequence[Sequence[Sequence[float]]]]


def recorded(
    values: Values,
    *,
    points: Sequence[m.Point] = (m.Point(cpus=1),),
    collector: m.Collector = "timed",
    is_total: bool = False,
    qemu: m.Qemu | None = None,
    name: str = "latency",
    unit: str = "ns",
    better: Better = "lower",
    **more: object,
) -> m.Manifest:
    """A manifest of runs that measured ``values``."""
    described = manifest(list(values))
    runs = [
        m.Run(
            id=f"{label}-{point}-{number}",
            kernel=label,
            collector=collector,
            point=point,
            repetition=number,
            started="2026-11-20T22:00:00Z",
            wall_seconds=1.0,
            files={},
            qemu=qemu,
            measured=[m.Measured(name, unit, better, is_total, list(boot))],
        )
        for label, by_point in values.items()
        for point, boots in enumerate(by_point)
        for number, boot in enumerate(boots, 1)
    ]
    kernels = [
        m.replace(kernel, twin_of="base") if kernel.label.endswith(".aa") else kernel
        for kernel in described.kernels
    ]
    most = max(len(boots) for by_point in values.values() for boots in by_point)
    return m.replace(
        described,
        runs=runs,
        kernels=kernels,
        points=list(points),
        collectors=[collector],
        **{"repeat": most, **more},
    )


def boots(centre: float, count: int = 9, spread: float = 0.001) -> list[list[float]]:
    """Values of boots around ``centre``, the same each time."""
    return [[centre * (1 + spread * ((i * 7) % count - count // 2))] for i in range(count)]


def found(described: m.Manifest, at: str | None = None, state: State | None = None) -> Findings:
    """What reports are given of an experiment without profiles."""
    evidence = Results.gather(described)
    chosen = choose(described, at)
    return Findings(described, chosen, [], evidence, state or State(), Facts())
