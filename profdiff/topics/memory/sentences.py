"""What kernels keep more or less of than the base, in one sentence for each."""

from profdiff.base import units
from profdiff.topics.memory.measure import Figure, Memory, MemoryRow
from profdiff.topics.sentences import changed, told_kernels

_FIGURES: tuple[Figure, Figure] = ("kept", "allocated")


def sentences(memory: Memory) -> list[str]:
    """For each of few kernels, or for the last of many."""
    base, *_ = labels = memory.labels
    return [
        units.printable(
            sentence(memory, label)
            or f"{label}: neither slab caches nor the page allocator are certain to give out more "
            f"or less than on {base}, or to keep it."
        )
        for label in (labels[kernel] for kernel in told_kernels(labels))
    ]


def sentence(memory: Memory, label: str) -> str:
    """What a kernel keeps more or less of for certain, in slabs, or in the cache that changed most,
    and in pages, else what it allocates; "" where nothing is certain."""
    for figure in _FIGURES:
        told = [
            _changed(memory, label, figure, "bytes of slabs", memory.all_bytes)
            or _changed(memory, label, figure, "bytes of {}", *memory.caches[:1]),
            _changed(memory, label, figure, "pages", memory.all_pages),
        ]
        if found := [words for words in told if words]:
            return units.printable(f"{'; '.join(found)}.")
    return ""


def _changed(
    memory: Memory, label: str, figure: Figure, what: str, row: MemoryRow | None = None
) -> str:
    base, ops = memory.labels[0], memory.ops
    if row is None:
        return ""
    difference = row.difference(figure, base, label)
    if not difference.delta or not difference.verdict.is_sure:
        return ""
    first, other = (row.amount(figure, kernel) / (ops or 1) for kernel in (base, label))
    return changed(label, base, f"{what.format(row.name)} {figure}", (first, other), ops)
