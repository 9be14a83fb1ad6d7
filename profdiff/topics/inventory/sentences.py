"""The item that changed by much more than the instructions did, in one sentence for each kernel."""

from profdiff.base import units
from profdiff.topics.inventory.measure import Inventory
from profdiff.topics.sentences import changed, told_kernels


def sentences(inventory: Inventory) -> list[str]:
    """For each of few kernels, or for the last of many; none where nothing is compared."""
    base, *_ = labels = inventory.labels
    nothing = "no item is certain to have changed by much more than the instructions did"
    return [
        sentence(inventory, label) or f"{units.printable(label)}: {nothing}, against {base}."
        for label in (labels[kernel] for kernel in told_kernels(labels))
    ]


def sentence(inventory: Inventory, label: str) -> str:
    """What changed most on a kernel, if some item is certain to have changed by much more than the
    instructions did; else ""."""
    found = inventory.largest(inventory.labels.index(label))
    if found is None:
        return ""
    base, ops = inventory.labels[0], inventory.comparison.ops
    ends = found.base, found.other
    where = f", most of it in {found.function}" if found.function else ""
    totals = inventory.comparison.totals().tolist()
    whole = units.change(totals[0], totals[inventory.labels.index(label)])
    return units.printable(
        f"{changed(label, base, found.item.name, ends, ops)}{where}; instructions: {whole}."
    )
