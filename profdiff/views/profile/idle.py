"""For how long vCPUs idled, and what gave way to that."""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from profdiff.evidence import idle as evidence
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.stack_table import StackTable
from profdiff.views.record import Counts, Record, by_label

# How a task gives way to another one; with debug information, all of kernel/sched/ besides.
_SCHEDULES = re.compile(r"_*(io_|preempt_)?schedule(_\w+)?")
_SCHEDULER = "kernel/sched/"


class IdlePath(Record, frozen=True):
    """``functions`` of the kernel, the outermost first, that led to the scheduler where the last
    task of a program gave way on a vCPU, without the scheduler's own; ``time``: for how many
    nanoseconds of the guest's clock vCPUs then idled, summed over vCPUs, and ``times``, how often
    they began to."""

    functions: list[str]
    time: Counts
    times: Counts


class Idle(Record, frozen=True):
    """Nanoseconds of the guest's clock in the window, by kernel: how far it ``advanced``; ``idle``,
    the part of that in which no vCPU had anything to do; ``vcpus``: for how long each idled, also
    while others executed, empty where that was not recorded. ``paths``: the longest first, of the
    run that is shown."""

    advanced: Counts
    idle: Counts
    vcpus: dict[str, list[int]]
    paths: list[IdlePath]


def idle(comparison: Comparison) -> Idle | None:
    """None where it was not recorded, and where no vCPU idled."""
    found = evidence.of_comparison(comparison) if comparison.metric.deterministic else None
    if found is None or not any(one.idle or any(one.vcpus) for one in found.values()):
        return None
    return Idle(
        advanced={label: one.advanced for label, one in found.items()},
        idle={label: one.idle for label, one in found.items()},
        vcpus={label: list(one.vcpus) for label, one in found.items()},
        paths=_paths(comparison),
    )


def _paths(comparison: Comparison) -> list[IdlePath]:
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
    ordered = sorted(sums.items(), key=lambda one: (-max(abs(t) for t, _ in one[1]), one[0]))
    return [
        IdlePath(
            functions=list(names),
            time=by_label(comparison.labels, [time for time, _ in columns]),
            times=by_label(comparison.labels, [times for _, times in columns]),
        )
        for names, columns in ordered
    ]


def _frames(stacks: StackTable, stack: int) -> Iterator[int]:
    """The functions of a stack, the innermost first."""
    while stack >= 0:
        yield int(stacks.function[stack])
        stack = int(stacks.parent[stack])


def _without_scheduler(innermost_first: Sequence[Function]) -> tuple[str, ...]:
    """The names of the kernel's functions, the outermost first, up to the scheduler's."""
    kernel = [one for one in innermost_first if one.in_kernel]
    last = 0
    for number, one in enumerate(kernel):
        if one.file.startswith(_SCHEDULER) or _SCHEDULES.fullmatch(one.name):
            last = number + 1
        elif last:
            break
    return tuple(one.name or f"({one.reason})" for one in reversed(kernel[last:]))
