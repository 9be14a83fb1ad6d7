"""What kernels keep more or less of than the base, in one sentence for each."""

from profdiff.base import units
from profdiff.topics.memory.measure import Memory, MemoryRow
from profdiff.topics.sentences import changed, told_kernels


def sentences(memory: Memory) -> list[str]:
    """For each of few kernels, or for the last of many."""
    base, *_ = labels = memory.labels
    return [
        units.printable(
            sentence(memory, label)
            or f"{label}: no slab cache and no order of pages is certain to keep more or less "
            f"than on {base}."
        )
        for label in (labels[kernel] for kernel in told_kernels(labels))
    ]


def sentence(memory: Memory, label: str) -> str:
    """What a kernel keeps more or less of for certain, in slabs first, and in which of them most;
    "" where nothing is certain."""
    told = [
        _changed(memory, label, "bytes of slabs kept", memory.all_bytes),
        _changed(memory, label, "pages kept", memory.all_pages),
    ]
    if told[0]:
        base = memory.labels[0]
        most = max(memory.caches, key=lambda row: abs(row.difference("kept", base, label).delta))
        told[0] = f"{told[0]}, most of the change in {most.name}"
    found = [words for words in told if words]
    return units.printable(f"{'; '.join(found)}.") if found else ""


def _changed(memory: Memory, label: str, what: str, row: MemoryRow | None) -> str:
    base, ops = memory.labels[0], memory.ops
    if row is None:
        return ""
    difference = row.difference("kept", base, label)
    if not difference.delta or not difference.verdict.is_sure:
        return ""
    first, other = (row.count("kept", kernel) for kernel in (base, label))
    by = ops or 1
    return changed(label, base, what, (first / by, other / by), ops)
