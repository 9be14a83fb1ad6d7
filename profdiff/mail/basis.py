"""What a mail's numbers rest on, in a paragraph near its top: words that not every reader of a list
knows, and the limits of the counts."""

import re

from profdiff.base import units
from profdiff.base.metric import TRANSFERRED
from profdiff.collectors import registry
from profdiff.evidence.findings import Findings
from profdiff.evidence.largest_change import LargestChange
from profdiff.views.kernels import state
from profdiff.views.kernels.machine import machine
from profdiff.views.results.recording import TIME_SIGN


def basis(findings: Findings, largest: LargestChange | None) -> str:
    """What counts of an emulated guest rest on; "" for others, whose intervals and machine say
    it."""
    if machine(findings).kind != "emulator":
        return ""
    if largest is not None:
        collector, ops = largest.result.collector, largest.result.ops
        boots, exact = max(largest.change.boots), largest.change.counted
    elif findings.comparisons:
        first = findings.comparisons[0]
        collector, ops = first.runs[0].collector, first.ops
        boots, exact = max(one.runs for one in first.repetitions), not first.scattered
    else:
        return ""
    each = "one boot" if boots == 1 else f"{boots:,} boots"
    limits = (
        f"This says nothing about time, cycles or caches, nor about other configs: {TIME_SIGN}."
    )
    if registry.collector(collector).kind == TRANSFERRED:
        what = "Transfers of cache lines are counted from every access to memory"
        limits = (
            "They are not times: what one costs, only hardware tells. Waiting for locks and NUMA "
            "are not covered."
        )
    elif registry.collector(collector).kind.exact:
        word = ' ("exact")' if exact else ""
        what = f"Every instruction of the workload is counted{word}, none is sampled"
    else:
        what = "The emulated guest's clock counts instructions"
    told = [f"{what}, in {each} of each kernel under QEMU's emulator{_mitigations(findings)}."]
    if ops:
        lengths = " by which its two lengths differ" if findings.setting.short is not None else ""
        told.append(f"An op is one of {ops:,} operations{lengths} (--ops).")
    told.append(limits)
    return " ".join(told)


def _mitigations(findings: Findings) -> str:
    """``, with mitigations=off``, as the command line has it last; else which work."""
    line = findings.facts.command_lines.get(findings.kernels[0].label) or ""
    found = re.findall(r"(?:^|\s)(mitigations=\S+)", line)
    if found:
        return f", with {units.printable(found[-1])}"
    known = state.mitigations(findings.state)
    return f" ({units.printable(known)})" if known else ""
