"""For how long vCPUs idled, and what gave way to that."""

import numpy as np

from profdiff.evidence import idle as evidence
from profdiff.profile.comparison import Comparison
from profdiff.views.record import Counts, Record, by_label

# Where a task gives way to another one (kernel/sched/core.c). What these call says nothing of why.
_SCHEDULER = {
    "schedule",
    "__schedule",
    "schedule_idle",
    "preempt_schedule_irq",
    "preempt_schedule_common",
}


class IdlePath(Record, frozen=True):
    """``functions`` of the kernel, the outermost first, that led to the scheduler where the last
    task of a program gave way on a vCPU; ``time``: for how many nanoseconds of the guest's clock
    vCPUs then idled, summed over vCPUs, and ``times``, how often they began to."""

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
        names: list[str] = []
        above = stack
        while above >= 0:
            function = functions[int(stacks.function[above])]
            if function.in_kernel:
                if function.name in _SCHEDULER:
                    names.clear()
                else:
                    names.append(function.name or f"({function.reason})")
            above = int(stacks.parent[above])
        of_path = sums.setdefault(tuple(reversed(names)), [[0, 0] for _ in comparison.labels])
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
