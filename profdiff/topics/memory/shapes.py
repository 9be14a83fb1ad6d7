"""What is shown of memory: bytes by slab cache, and blocks of pages by order."""

from collections.abc import Sequence
from typing import Any

from profdiff.base import units
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.shapes.table import (
    ABOUT,
    UNKNOWN,
    Cells,
    Note,
    Section,
    Table,
    by_group,
    by_kernel,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.memory.measure import FIGURES, Figure, Memory, MemoryRow
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


# The most rows of caches that readers see.
_MAX_ROWS = 12
_CACHES = (
    "Bytes are objects times the size of one in its slab; caches that the kernel merges have one "
    "name (--append slab_nomerge). freed: also what was there before. kept: of what was allocated, "
    "what was not freed when the window closed, such as what waits for RCU."
)
_PAGES = (
    "Blocks of 2^order pages. Pages of slabs are among them, and a slab keeps its pages for "
    "objects to come. A block can be split before it is freed."
)
_LEGEND = (
    Note("?: not certain: chance makes a few, or states contradict each other.", UNKNOWN),
    Note("~: in other states by another number.", ABOUT),
)


def section(findings: Findings) -> Section:
    """The tables of exact counts with --allocations, none where there are no such counts. Raises
    SessionError."""
    memory = Memory(findings)
    tables = [] if not memory.labels else [caches(memory), pages(memory)]
    return Section(
        name="memory",
        title="Memory",
        sentences=sentences(memory) if tables else [],
        tables=tables,
    )


def caches(memory: Memory) -> Table:
    """Bytes by slab cache."""
    rows = [row for row in memory.caches if row.happened]
    more = len(memory.caches) - len(rows[:_MAX_ROWS])
    return tabulate(
        _columns(memory, "cache"),
        name="memory-caches",
        title="objects of slab caches, bytes",
        rows=rows[:_MAX_ROWS],
        hidden=[*rows[_MAX_ROWS:], *(row for row in memory.caches if not row.happened)],
        sums=_sums(memory.all_bytes),
        notes=[f"{more:,} more caches in --csv and --json."] if more > 0 else [],
        legend=[Note(_CACHES), *_LEGEND],
        **_about(memory),
    )


def pages(memory: Memory) -> Table:
    """Blocks of pages by order."""
    return tabulate(
        _columns(memory, "order"),
        name="memory-pages",
        title="blocks of pages by order",
        rows=[row for row in memory.orders if row.happened],
        hidden=[row for row in memory.orders if not row.happened],
        sums=_sums(memory.all_pages),
        legend=[Note(_PAGES), *_LEGEND],
        **_about(memory),
    )


def kept(memory: Memory) -> list[Table]:
    """What is kept of both alone, a kernel's columns together."""
    base = memory.labels[0]
    return [
        tabulate(
            [
                *by_kernel(
                    memory.labels,
                    lambda row, kernel: row.amount("kept", kernel),
                    lambda row, kernel: row.difference("kept", base, kernel),
                ),
                of_row(name, "name", lambda row: row.name),
            ],
            name=f"kept-{name}",
            title="",
            kernels=memory.labels,
            ops=memory.ops,
            rows=rows,
        )
        for name, rows in (("cache", memory.caches), ("order", memory.orders))
    ]


def _about(memory: Memory) -> dict[str, Any]:
    return {"kernels": memory.labels, "ops": memory.ops, "by_kernel": False, "grouped": True}


def _sums(row: MemoryRow | None) -> list[MemoryRow]:
    return [row] if row else []


def _columns(memory: Memory, name: str) -> Sequence[Cells]:
    return [
        *(column for figure in FIGURES for column in _figure(memory, figure)),
        of_row(name, "name", lambda row: row.name),
        *(
            of_kernel(kernel, "size", "detail", lambda row, k: row.sizes.get(k), title="size")
            for kernel in memory.labels
        ),
    ]


def _figure(memory: Memory, figure: Figure) -> list[Cells]:
    base = memory.labels[0]

    def count(row: MemoryRow, kernel: str) -> int:
        return row.amount(figure, kernel)

    def difference(row: MemoryRow, kernel: str) -> Difference:
        return row.difference(figure, base, kernel)

    # Without room, what is kept says most.
    spare = 0 if figure == "kept" else 1
    return by_group(memory.labels, figure, count, difference, title=figure, spare=spare)
