"""What is shown of the inventory: a table of items, and one of what functions do of each.
``docs/inventory.md`` explains it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from profdiff.base import units
from profdiff.collectors.calibration.prices import Prices
from profdiff.evidence.difference import Difference
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics import Verdict
from profdiff.profile.inline_sites import code_sizes, inlining
from profdiff.session.session import Session
from profdiff.shapes.table import (
    Cells,
    Kind,
    Note,
    Section,
    Table,
    by_kernel,
    of_kernel,
    of_row,
    tabulate,
)
from profdiff.topics.inventory.lines import NOT_RECORDED, lines
from profdiff.topics.inventory.loops import Loop, loops
from profdiff.topics.inventory.measure import Inventory, ItemRow
from profdiff.topics.inventory.prices import PricedInventory
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


# Functions of each item that readers see.
_FUNCTIONS = 3
_LOOPS = (
    "A loop's instructions are of its function with what is inlined and of inner loops, without "
    "what it calls; its name is the function that all of it is of."
)
_CODE = (
    "Code: bytes with what is inlined, in functions that ran; inlined N: in N places; both: also "
    "called by itself."
)
_LEGEND = (
    "Items count executed instructions, of all functions or of a function itself. An instruction "
    "can be of several items or of none: they do not add up to the instructions."
)


def section(findings: Findings) -> Section:
    """Raises InputError where nothing is known."""
    inventory = Inventory(findings)
    prices = findings.prices if len(inventory.labels) > 1 else None
    priced = PricedInventory(inventory, prices) if isinstance(prices, Prices) else None
    distinct = lines(findings)
    return Section(
        name="inventory",
        title="Inventory",
        sentences=[*sentences(inventory), *(priced.sentences() if priced else ())],
        tables=[
            items(inventory),
            *([priced.table()] if priced else ()),
            *([distinct] if distinct else ()),
            _functions(inventory),
            _loops(inventory),
            _code(inventory, findings.session),
        ],
        notes=[
            *_notes(inventory),
            *(() if distinct else (NOT_RECORDED,)),
            *([prices] if isinstance(prices, str) else ()),
        ],
    )


def items(inventory: Inventory) -> Table:
    """Those of all functions; programs see those of each side, too."""
    rows = inventory.rows
    return _table(
        inventory,
        [
            of_row("meaning", "name", lambda row: row.item.about, title="what it does", spare=3),
            of_row("function", "name", inventory.most, title="most in", spare=1),
        ],
        name="inventory",
        title="inventory",
        rows=[row for row in rows if any(row.counts)],
        hidden=[*(row for row in rows if not any(row.counts)), *inventory.sides],
        names=1,
    )


def of_items(inventory: Inventory, rows: Sequence[ItemRow], **about: Any) -> Table:
    """Some rows, with what they count."""
    meaning = of_row("meaning", "name", lambda row: row.item.about, title="what it does", spare=3)
    return _table(inventory, [meaning], rows=rows, **about)


def _functions(inventory: Inventory) -> Table:
    shown: list[ItemRow] = []
    hidden: list[ItemRow] = []
    for rows in inventory.functions.values():
        # The largest differences come first.
        large = sum(map(inventory.is_large, rows[:_FUNCTIONS]))
        shown += rows[:large]
        hidden += rows[large:]
    return _table(
        inventory,
        [
            of_row("function", "name", lambda row: inventory.name(row.function)),
            of_row("number", "detail", lambda row: row.function),
        ],
        name="inventory-functions",
        title=f"functions in which items {'differ' if len(inventory.labels) > 1 else 'ran'} most",
        rows=shown,
        hidden=hidden,
        limit="top",
        names=1,
    )


def _table(inventory: Inventory, columns: Sequence[Any], **about: Any) -> Table:
    labels = inventory.labels
    number = {label: at for at, label in enumerate(labels)}

    def difference(row: ItemRow, label: str) -> Difference | None:
        return row.changes[number[label] - 1]

    counted = by_kernel(labels, lambda row, label: row.counts[number[label]], difference)
    return tabulate(
        [
            *counted,
            of_row("item", "name", lambda row: row.item.name),
            *columns,
            of_row("side", "detail", lambda row: row.side or "both"),
            of_row("costly", "detail", lambda row: row.item.costly),
        ],
        kernels=labels,
        ops=inventory.comparison.ops,
        **about,
    )


class _Loop(NamedTuple):
    """A loop on each kernel, None where it has none."""

    function: str
    inner: str
    loops: Sequence[Loop | None]

    @property
    def often(self) -> int:
        return max(loop.iterations for loop in self.loops if loop)

    def differs(self, inventory: Inventory) -> float:
        """How many instructions and jumps all iterations of the base would take more or less on
        another kernel; where nothing is compared, how many ran. 0 for loops that are rare."""
        known = [loop for loop in self.loops if loop]
        if self.often < (inventory.comparison.ops or 1):
            return 0
        if len(self.loops) == 1:
            return known[0].instructions
        ends = [(loop.length, loop.jumps) for loop in known]
        far = max(max(one) - min(one) for one in zip(*ends, strict=True))
        return self.often * (far if len(known) == len(self.loops) else known[0].length)


def _loops(inventory: Inventory) -> Table:
    """What one iteration executes and how often it jumps; of several kernels, readers see the loops
    in which that differs."""
    comparison, labels = inventory.comparison, inventory.labels
    number = {label: at for at, label in enumerate(labels)}
    every = [loops(comparison, kernel) for kernel in range(len(labels))]
    known: dict[tuple[int | None, str, int], list[Loop | None]] = {}
    for kernel, of_kernel_ in enumerate(every):
        for key, loop in (of_kernel_ or {}).items():
            name = (comparison.numbers[kernel].get(key.function), key.inner, key.number)
            known.setdefault(name, [None] * len(labels))[kernel] = loop
    rows = [
        _Loop(inventory.name(function), f"{inner} {place}", some)
        for (function, inner, place), some in known.items()
    ]
    far = {id(row): row.differs(inventory) for row in rows}
    rows.sort(key=lambda row: -far[id(row)])

    def figure(name: str, title: str) -> list[Cells]:
        def cell(row: _Loop, label: str) -> float | None:
            loop = row.loops[number[label]]
            return getattr(loop, name) if loop else None

        kind: Kind = "detail" if name == "line" else "number"
        return [of_kernel(label, name, kind, cell, title=title) for label in labels]

    unknown = [label for label, found in zip(labels, every, strict=True) if found is None]
    return tabulate(
        [
            *figure("iterations", "iterations"),
            *figure("length", "instructions"),
            *figure("jumps", "jumps"),
            *figure("line", "line"),
            of_row("function", "name", lambda row: row.function),
            of_row("loop", "name", lambda row: row.inner),
        ],
        name="inventory-loops",
        title="loops: iterations in all, and instructions and taken jumps of each",
        kernels=labels,
        ops=None,
        rows=[row for row in rows if far[id(row)] >= 0.01 * row.often],
        hidden=[row for row in rows if far[id(row)] < 0.01 * row.often],
        by_kernel=False,
        grouped=True,
        notes=[f"Recordings do not tell taken branches: {', '.join(unknown)}."] if unknown else [],
        legend=[Note(_LOOPS)],
        limit="top",
        names=1,
    )


class _Code(NamedTuple):
    """The bytes of a function's code by kernel, None where they are not known, and how it ran."""

    function: str
    size: Sequence[int | None]
    ran: Sequence[str]

    @property
    def differs(self) -> bool:
        return len({*self.size}) > 1 or len({*self.ran}) > 1


def _code(inventory: Inventory, session: Session | None) -> Table:
    """How large functions are, and whether they ran inlined; of several kernels, readers see those
    that differ."""
    comparison, labels = inventory.comparison, inventory.labels
    number = {label: at for at, label in enumerate(labels)}
    sizes, ran = code_sizes(comparison, session, kept=True), inlining(comparison)
    rows = [
        _Code(
            inventory.name(row),
            [size or None for size in sizes.size[row].tolist()],
            [ran.way(row, kernel) for kernel in range(len(labels))],
        )
        for row in np.lexsort((-sizes.size.max(axis=1), -np.ptp(sizes.size, axis=1))).tolist()
    ]

    def difference(row: _Code, label: str) -> Difference | None:
        base, other = row.size[0], row.size[number[label]]
        if base is None or other is None:
            return None
        return Difference(other - base, other - base, other - base, Verdict.EXACT)

    missing = [f"{label}: {why}" for label, why in zip(labels, sizes.missing, strict=True) if why]
    return tabulate(
        [
            *by_kernel(labels, lambda row, label: row.size[number[label]], difference),
            of_row("function", "name", lambda row: row.function),
            of_row("ran", "name", lambda row: " -> ".join(dict.fromkeys(row.ran))),
        ],
        name="inventory-code",
        title="code of functions in bytes" + (", where it differs" if len(labels) > 1 else ""),
        kernels=labels,
        ops=None,
        rows=[row for row in rows if row.differs or len(labels) == 1],
        hidden=[row for row in rows if not row.differs and len(labels) > 1],
        legend=[Note(_CODE), *(Note(f"Not known, {one}.") for one in missing)],
        folded=True,
        limit="top",
        names=1,
    )


def _notes(inventory: Inventory) -> list[str]:
    absent = [row.item.name for row in inventory.rows if not any(row.counts)]
    notes = [f"These did not run on any kernel: {', '.join(absent)}."] if absent else []
    if inventory.unknown:
        notes.append(f"The recordings do not tell {units.listed(inventory.unknown)}.")
    if any(inventory.unseen.values()):
        told = ", ".join(f"{count:,} ({label})" for label, count in inventory.unseen.items())
        notes.append(f"Instructions in no item, since their bytes were not recorded: {told}.")
    return [" ".join([_LEGEND, *notes])]
