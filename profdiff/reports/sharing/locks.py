"""What executes while locks are held that lie on lines which change hands."""

from collections import defaultdict

from profdiff.base import units
from profdiff.forms.columns import Block, Column, draw
from profdiff.reports.sharing.numbers import UNSURE, Numbers
from profdiff.views.sharing.records import HeldLock, KernelSide, SharingDocument

COVERS = (
    "held: from the instruction that takes the lock to the one that releases it, by one vCPU, "
    "without interrupts; alone: by a writer, with others: by a reader."
)
LEAST = 0.01
"""A lock that is held for a smaller share of the kernel's instructions is not shown."""

# From so much on, one lock bounds how many vCPUs can execute an operation at a time.
_BOUNDS = 0.1
_MODES = {"exclusive": "alone", "shared": "with others"}


def shown(document: SharingDocument) -> list[HeldLock]:
    """Those that are held for a share worth a row, the largest first."""
    return [
        one for one in document.held if any(_share(one, side) >= LEAST for side in document.kernels)
    ]


def table(document: SharingDocument, numbers: Numbers, top: int | None, width: int) -> list[Block]:
    """By lock and the function that takes it: instructions, and their share of the kernel's."""
    wanted = shown(document)
    if not wanted:
        return []
    base, *others = document.kernels
    several = len(others) > 1
    columns = [Column(base.label, group="instructions")]
    for part, side in enumerate(others):
        own = part if several else None
        columns += [
            Column(side.label, part=own, group="instructions"),
            Column("delta", part=own, group="instructions"),
        ]
    columns += [Column(base.label, group="share", spare=2)]
    columns += [
        Column(side.label, part=part if several else None, group="share", spare=2)
        for part, side in enumerate(others)
    ]
    columns += [
        Column("held", spare=1),
        Column("lock", name=True),
        Column("taken by", name=True),
    ]
    body = []
    for one in wanted[:top]:
        counts = {label: sums.instructions for label, sums in one.kernels.items()}
        cells = [numbers.count(base.label, counts[base.label])]
        for side in others:
            cells.append(numbers.count(side.label, counts[side.label]))
            unsure = side.label in one.unsure
            cells.append(UNSURE if unsure else numbers.delta(base.label, side.label, counts))
        cells += [units.percent(_share(one, side), ".0f") for side in document.kernels]
        body.append([*cells, _MODES[one.mode], one.data.title, one.function or "?"])
    title = f"the kernel's instructions while a lock on such a line is held{numbers.title}"
    return draw(title, columns, body, width)


def bound(document: SharingDocument) -> str:
    """How far one lock lets operations run at the same time; "" where none is held for long."""
    alone: defaultdict[str, defaultdict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one in document.held:
        if one.mode == "exclusive":
            for side in document.kernels:
                alone[one.data.title][side.label] += _share(one, side)
    last = document.labels[-1]
    title = max(alone, key=lambda one: (alone[one][last], one), default="")
    if not title or alone[title][last] < _BOUNDS:
        return ""
    # On another kernel, it may lie on a line that does not change hands, or have no name.
    told_of = [label for label in document.labels if alone[title][label] or label == last]
    shares = {label: units.percent(alone[title][label], ".0f") for label in told_of}
    of_what = [" of the kernel's instructions", *[""] * len(told_of)]
    told = [
        f"for {shares[label]}{of} on {label}" for label, of in zip(told_of, of_what, strict=False)
    ]
    most = f"{1 / alone[title][last]:.1f} vCPUs"
    return units.printable(
        f"`{title}` is held alone {', '.join(told)}: at most {most} can be in the kernel for this "
        f"at a time on {last}, however cheap waiting is."
    )


def _share(one: HeldLock, side: KernelSide) -> float:
    return one.kernels[side.label].instructions / max(side.instructions, 1)
