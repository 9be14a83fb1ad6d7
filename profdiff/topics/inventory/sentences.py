"""The item that changed by much more than the instructions did, in one sentence for each kernel."""

from profdiff.base import units
from profdiff.topics.inventory.measure import Inventory

# With more kernels, a sentence for each is a page that nobody reads.
_FEW_KERNELS = 3


def sentences(inventory: Inventory) -> list[str]:
    """For each of few kernels, or for the last of many; none where nothing is compared."""
    base, *others = inventory.labels
    shown = others if len(others) <= _FEW_KERNELS else others[-1:]
    nothing = "no item is certain to have changed by much more than the instructions did"
    return [
        sentence(inventory, label) or f"{units.printable(label)}: {nothing}, against {base}."
        for label in shown
    ]


def sentence(inventory: Inventory, label: str) -> str:
    """What changed most on a kernel, if some item is certain to have changed by much more than the
    instructions did; else ""."""
    changed = inventory.largest(inventory.labels.index(label))
    if changed is None:
        return ""
    base, ops = inventory.labels[0], inventory.comparison.ops
    first, other = (
        units.count(one, per_op=True) if ops else units.count(int(one))
        for one in (changed.base, changed.other)
    )
    change = f" ({units.change(changed.base, changed.other)})" if changed.base else ""
    where = f", most of it in {changed.function}" if changed.function else ""
    totals = inventory.comparison.totals().tolist()
    whole = units.change(totals[0], totals[inventory.labels.index(label)])
    return units.printable(
        f"{label} has {other} {changed.item.name}{' per op' if ops else ''} where {base} has "
        f"{first}{change}{where}; instructions: {whole}."
    )
