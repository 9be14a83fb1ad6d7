"""What ran beside the workload while it was counted: interrupts, and threads of the kernel."""

import re
from dataclasses import dataclass

import numpy as np

from profdiff.profile.comparison import Comparison

# The entries of interrupts (arch/x86/include/asm/idtentry.h, arch/arm64/kernel/entry.S), of the
# kernel's threads (kernel/kthread.c), and of a processor that idles (kernel/sched/idle.c).
_ENTRIES = re.compile(r"asm_sysvec_\w+|asm_common_interrupt|el[01][ht]_64_irq|kthread|do_idle")
# Less of a total than this is not worth a line; more of a change than that makes it doubtful.
_LEAST, _DOUBTFUL = 0.0005, 0.1


@dataclass(frozen=True)
class Background:
    """``counts``: by kernel, in units of the metric, of ``totals``. ``doubtful``: without them some
    kernel's change would be another, by a tenth or more."""

    labels: list[str]
    counts: list[int]
    totals: list[int]
    doubtful: bool


def background(comparison: Comparison) -> Background | None:
    """None where callers are not known, or too little ran to matter."""
    if not comparison.metric.exact or comparison.calls is None:
        return None
    known = [*comparison.functions, *comparison.unnamed]
    entries = np.array([one.in_kernel and bool(_ENTRIES.fullmatch(one.name)) for one in known])
    inside = comparison.stacks.containing(entries)
    counts = comparison.counts[inside].sum(axis=0).tolist()
    totals = comparison.totals().tolist()
    if all(abs(count) <= _LEAST * total for count, total in zip(counts, totals, strict=True)):
        return None
    doubtful = any(
        abs(count - counts[0]) > _DOUBTFUL * abs(total - totals[0])
        for count, total in zip(counts[1:], totals[1:], strict=True)
    )
    return Background(list(comparison.labels), counts, totals, doubtful)
