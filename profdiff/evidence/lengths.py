"""What the difference of two lengths leaves out, and whether the lengths differ in length alone."""

from collections.abc import Mapping, Sequence
from statistics import median

import msgspec

from profdiff.base.metric import Metric
from profdiff.collectors import registry
from profdiff.evidence.results import Results
from profdiff.session import points
from profdiff.session.manifest import Collector, Run
from profdiff.session.points import Setting
from profdiff.session.session import Session
from profdiff.session.state import run_facts

# Memory that is in use in a longer run only: more than an allocator's scatter, and in proportion.
_LEAST_KIB, _RELATIVE = 256, 0.1


class Fixed(msgspec.Struct, frozen=True):
    """What of a kernel's ``whole`` command, the longer run, does not grow with operations:
    ``count`` of a metric, negative where later operations cost more than earlier ones."""

    label: str
    collector: Collector
    metric: Metric
    count: float
    whole: float

    @property
    def share(self) -> float:
        """The share of the whole command."""
        return self.count / self.whole if self.whole else 0.0


class Growth(msgspec.Struct, frozen=True):
    """How much more memory, in KiB, a kernel's longer run uses than its shorter one."""

    label: str
    short_kib: int
    long_kib: int


class Lengths(msgspec.Struct, frozen=True):
    """``parameters`` by name, and ``ops``: of the shorter run and of the longer one, which is
    subtracted from. ``fixed`` by metric, then kernel; ``growth`` of the kernels that have any."""

    parameters: Mapping[str, tuple[str, str]]
    ops: tuple[int, int]
    fixed: Sequence[Fixed]
    growth: Sequence[Growth]

    @staticmethod
    def of(session: Session, results: Results, setting: Setting) -> "Lengths | None":
        """At a setting; None where nothing is subtracted. Nothing is raised: what a run does not
        tell is not compared."""
        if setting.short is None:
            return None
        every = results.manifest.points
        ops = every[setting.short].ops or 0, every[setting.point].ops or 0
        growth = (_growth(session, results, setting, label) for label in results.labels)
        return Lengths(
            points.lengths(results.manifest, setting),
            ops,
            list(_fixed(results, setting, *ops)),
            [one for one in growth if one],
        )


def fixed_part(short: float, long: float, short_ops: int, long_ops: int) -> float:
    """What a count would be without any operation, if each cost the same: S - (L - S) s / (l - s)
    for the counts S and L of s and l operations."""
    return short - (long - short) * short_ops / (long_ops - short_ops)


def _fixed(results: Results, setting: Setting, short_ops: int, long_ops: int) -> Sequence[Fixed]:
    found = []
    for result in results.at(setting):
        if result.ops is None or not registry.collector(result.collector).profiles:
            continue
        for label in results.labels:
            counts = [
                _count(results, (label, result.collector, point), result.metric.name)
                for point in setting.points
            ]
            short, long = counts
            if short is None or long is None:
                continue
            count = fixed_part(short, long, short_ops, long_ops)
            found.append(Fixed(label, result.collector, result.metric, count, long))
    return found


def _count(results: Results, cell: tuple[str, Collector, int], name: str) -> float | None:
    """The median over a cell's runs; None without one."""
    values = [
        value
        for run in results.runs.get(cell, ())
        if run.failure is None
        for one in run.measured
        if one.name == name
        for value in one.values
    ]
    return median(values) if values else None


def _growth(session: Session, results: Results, setting: Setting, label: str) -> Growth | None:
    """From the first collector whose runs tell of memory at both lengths."""
    for collector in results.manifest.collectors:
        kib = [
            _resident(session, results.runs.get((label, collector, point), ()))
            for point in setting.points
        ]
        short, long = kib
        if short is None or long is None:
            continue
        grows = long - short > max(_LEAST_KIB, _RELATIVE * short)
        return Growth(label, short, long) if grows else None
    return None


def _resident(session: Session, runs: Sequence[Run]) -> int | None:
    run = next((run for run in runs if run.failure is None), None)
    resident = run_facts(session, run).get("resident_kib") if run else None
    return int(resident) if resident else None
