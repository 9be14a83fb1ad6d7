"""How many instructions ran beside the workload: interrupts, and threads of the kernel."""

from collections.abc import Sequence
from statistics import median_low

from profdiff.session.points import Cells, Setting

# Instructions of a timer tick with what it wakes. Of a change below ten of them, one is a tenth.
TICK = 10_000
# What comes with a tick outside of interrupts: the kernel lets another task run when it leaves a
# lock, and other processes get their turn (docs/exact-collector.md has what was measured).
ASKED_FOR = 7_000


def beside(
    runs: Cells, setting: Setting, labels: Sequence[str], collector: str
) -> dict[str, int] | None:
    """By kernel, at a setting; of two lengths, in both. Of several boots, the (lower) median. None
    where some run does not tell it from the workload's own context."""
    found = {}
    for label in labels:
        counted = []
        for point in setting.points:
            told = [
                run.instructions.beside
                for run in runs.get((label, collector, point), ())
                if run.failure is None and run.instructions is not None
            ]
            known = [one for one in told if one is not None]
            if not known or len(known) < len(told):
                return None
            counted.append(median_low(known))
        found[label] = sum(counted)
    return found


def tick(beside: dict[str, int] | None) -> int:
    """How much of a count a timer tick can be, from what is known of what ran ``beside``: all of it
    with what it wakes; or what comes with it outside of interrupts; 0 where none came."""
    if beside is None:
        return TICK
    return ASKED_FOR if any(beside.values()) else 0
