"""For how long vCPUs idled in the window, how far the guest's clock advanced there, and what gave
way to that."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.stack_table import StackTable
from profdiff.session.manifest import Clock, Run
from profdiff.session.points import Cells, Setting, cells

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
        names = _without_scheduler([functions[number] for number in _frames(stacks, stack)])
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


def _frames(stacks: StackTable, stack: int) -> Iterator[int]:
    """The functions of a stack, the innermost first."""
    while stack >= 0:
        yield int(stacks.function[stack])
        stack = int(stacks.parent[stack])


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
