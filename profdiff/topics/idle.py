"""For how long vCPUs idled in the window, of all of them and of each, and what gave way to that."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.session.manifest import Clock, Run
from profdiff.session.points import Cells, Setting, cells
from profdiff.shapes.table import Section, Table, by_figure, of_row, tabulate

# How a task gives way to another one; with debug information, all of kernel/sched/ besides.
_SCHEDULES = re.compile(r"_*(io_|preempt_)?schedule(_\w+)?")
_SCHEDULER = "kernel/sched/"


class Idled(NamedTuple):
    """Nanoseconds of the guest's clock: how far it ``advanced``; the ``idle`` part of that, in
    which no vCPU had anything to do; and for how long each of ``vcpus`` idled, empty where that is
    not known."""

    advanced: int
    idle: int
    vcpus: tuple[int, ...]


def idled(
    runs: Cells, setting: Setting, labels: Sequence[str], collector: str
) -> dict[str, Idled] | None:
    """By kernel, at a setting, of the run in which nobody had anything to do for the (lower) median
    time; of two lengths, the longer one less the shorter. None where some run does not tell."""
    found = {}
    for label in labels:
        told = [_median(runs.get((label, collector, point), ())) for point in setting.points]
        known = [clock for clock in told if clock is not None]
        if len(known) < len(told):
            return None
        found[label] = _less(known[-1], known[0] if len(known) > 1 else None)
    return found


def of_comparison(comparison: Comparison) -> dict[str, Idled] | None:
    """By kernel of a comparison; None where some run does not tell."""
    collector = comparison.runs[0].collector
    return idled(cells(comparison.manifest), comparison.setting, comparison.labels, collector)


def _median(runs: Sequence[Run]) -> Clock | None:
    """The clock of that run; None where some run has none, or there is no run."""
    finished = [run.clock for run in runs if run.failure is None and not run.state]
    known = sorted((clock for clock in finished if clock is not None), key=lambda one: one.idle)
    return known[(len(known) - 1) // 2] if known and len(known) == len(finished) else None


def _less(clock: Clock, short: Clock | None) -> Idled:
    if short is None:
        return Idled(clock.advanced, clock.idle, tuple(clock.vcpus))
    pairs = zip(clock.vcpus, short.vcpus, strict=False)
    vcpus = tuple(more - less for more, less in pairs)
    return Idled(clock.advanced - short.advanced, clock.idle - short.idle, vcpus)


class IdlePath(NamedTuple):
    """``functions`` of the kernel, the outermost first, that led to the scheduler where the last
    task of a program gave way on a vCPU, without the scheduler's own; ``time``: for how many
    nanoseconds of the guest's clock vCPUs then idled, summed over vCPUs, and ``times``, how often
    they began to, both by kernel."""

    functions: Sequence[str]
    time: Mapping[str, int]
    times: Mapping[str, int]


def idle_paths(comparison: Comparison) -> list[IdlePath]:
    """The longest first, of the run that is shown."""
    if comparison.idle is None:
        return []
    stacks, functions = comparison.stacks, [*comparison.functions, *comparison.unnamed]
    sums: dict[tuple[str, ...], list[list[int]]] = {}
    for stack in np.flatnonzero(comparison.idle.any(axis=(1, 2))).tolist():
        names = _without_scheduler([functions[number] for number in stacks.frames(stack)])
        of_path = sums.setdefault(names, [[0, 0] for _ in comparison.labels])
        for total, part in zip(of_path, comparison.idle[stack].tolist(), strict=True):
            total[0] += part[0]
            total[1] += part[1]
    ordered = sorted(sums.items(), key=lambda path: (-max(abs(t) for t, _ in path[1]), path[0]))
    return [
        IdlePath(names, _by(comparison, time), _by(comparison, times))
        for names, columns in ordered
        for time, times in [zip(*columns, strict=True)]
    ]


def _by(comparison: Comparison, values: Sequence[int]) -> dict[str, int]:
    return dict(zip(comparison.labels, values, strict=True))


def _without_scheduler(innermost_first: Sequence[Function]) -> tuple[str, ...]:
    """The names of the kernel's functions, the outermost first, up to the scheduler's."""
    kernel = [function for function in innermost_first if function.in_kernel]
    last = 0
    for number, function in enumerate(kernel):
        if function.file.startswith(_SCHEDULER) or _SCHEDULES.fullmatch(function.name):
            last = number + 1
        elif last:
            break
    return tuple(function.name or f"({function.reason})" for function in reversed(kernel[last:]))


# The most paths that readers see.
_PATHS = 8


def section(findings: Findings) -> Section:
    """The first exact counts with idle vCPUs. It has no tables where no vCPU idled, or where that
    was not recorded."""
    found = next(filter(None, map(comparison_tables, findings.comparisons)), [])
    return Section(name="idle", title="Idle", tables=found)


def comparison_tables(comparison: Comparison) -> list[Table]:
    """Those of one metric."""
    idled = of_comparison(comparison) if comparison.metric.deterministic else None
    if idled is None or not any(one.idle or any(one.vcpus) for one in idled.values()):
        return []
    return tables(idled, idle_paths(comparison), comparison.ops)


def tables(idled: Mapping[str, Idled], paths: Sequence[IdlePath], ops: int | None) -> list[Table]:
    """``idled`` by kernel, the base first; ``paths``: the longest first."""
    busy = min(len(one.vcpus) for one in idled.values())
    rows = [("none busy", {label: one.idle for label, one in idled.items()})]
    # One vCPU says no more than that none was busy.
    rows += [
        (str(vcpu), {label: one.vcpus[vcpu] for label, one in idled.items()})
        for vcpu in range(busy if busy > 1 else 0)
    ]
    columns = [
        of_row("vCPU", "name", lambda row: row[0]),
        *by_figure(list(idled), "time", lambda row, kernel: row[1][kernel], "change"),
    ]
    times = tabulate(
        columns,
        name="idle-times",
        title="idle, in ns of the guest's clock",
        kernels=list(idled),
        ops=ops,
        rows=rows,
        sums=[("clock", {label: one.advanced for label, one in idled.items()})],
        by_kernel=False,
    )
    return [times, *([_paths(list(idled), paths, ops)] if paths else [])]


def _paths(labels: list[str], paths: Sequence[IdlePath], ops: int | None) -> Table:
    columns = [
        *by_figure(labels, "time", lambda row, kernel: row.time[kernel], title="idle"),
        *by_figure(labels, "times", lambda row, kernel: row.times[kernel], title="times", spare=1),
        of_row("path", "path", lambda row: list(row.functions), title="the last task gave way in"),
    ]
    more = len(paths) - _PATHS
    note = "idle: summed over vCPUs; times: how often one began to idle"
    return tabulate(
        columns,
        name="idle-paths",
        title="",
        kernels=labels,
        ops=ops,
        rows=paths[:_PATHS],
        hidden=paths[_PATHS:],
        by_kernel=False,
        notes=[f"{note}; {more:,} more paths not shown." if more > 0 else f"{note}."],
    )
