"""The event that changed most, in one sentence for each kernel."""

from profdiff.base import units
from profdiff.evidence.findings import Findings

# With more kernels, a sentence for each is a page that nobody reads.
_FEW_KERNELS = 3


def changed_most(findings: Findings) -> list[str]:
    """What changed most for certain: for each of few kernels, or for the last of many. Raises
    InputError where nothing is known."""
    base, *others = findings.comparisons[0].labels
    kernels = others if len(others) <= _FEW_KERNELS else others[-1:]
    nothing = "no event is certain to have changed by more than the instructions did"
    return [
        sentence(findings, label) or f"{units.printable(label)}: {nothing}, against {base}."
        for label in kernels
    ]


def sentence(findings: Findings, label: str) -> str:
    """The event of the workload that changed most on a kernel, if some event is certain to have
    changed by more than the instructions did; else ""."""
    found = findings.changed_events.get(label)
    if found is None:
        return ""
    base, ops = findings.comparisons[0].labels[0], findings.setting.ops
    first, other = (
        units.count(one, per_op=True) if ops else units.count(int(one))
        for one in (found.base, found.other)
    )
    change = f" ({units.change(found.base, found.other)})" if found.base else ""
    return units.printable(
        f"{label} has {other} {found.event.name}{' per op' if ops else ''} where {base} has "
        f"{first}{change}: {found.event.told}."
    )
