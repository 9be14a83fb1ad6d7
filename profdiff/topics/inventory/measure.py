"""How often each kind of instruction ran on the kernels of a session, and how sure differences
are."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import Literal, NamedTuple

import numpy as np
from msgspec.structs import replace

from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.difference import Difference
from profdiff.evidence.events import FEW, MUCH, EventRow, EventTable, change, outweighing
from profdiff.evidence.findings import Findings
from profdiff.evidence.outside_workload import larger, tick_floor
from profdiff.evidence.statistics import Verdict
from profdiff.profile.code.classes import ITEMS, Item, instruction_classes
from profdiff.profile.comparison import Comparison, Side
from profdiff.profile.events import Spread
from profdiff.profile.function_identity import Function, title
from profdiff.profile.recordings import Recordings
from profdiff.session.states import StateChange

SAMPLED = "samples do not show which instructions ran: record with --collector exact"
# Events that are entries into the kernel.
_ENTRIES = ("system-calls", "page-faults", "exceptions", "interrupts")
# The part of an item that a function must make up to be shown.
_PART = 0.01
_Side = Literal["", "kernel", "user"]


class ItemRow(NamedTuple):
    """An item on K kernels: ``counts`` of the runs that stand for them, ``changes`` of all but the
    base. ``side``: "" for both. ``function``: its number in the comparison, None for all of them
    together."""

    item: Item
    side: _Side
    function: int | None
    counts: Sequence[int | None]
    changes: Sequence[Difference | None]


class ChangedItem(NamedTuple):
    """How often an item ran per op on the base, and on the other kernel; in all where ops are not
    known. ``function``: where most of the change is."""

    item: Item
    base: float
    other: float
    function: str


class _State:
    """What ran in a varied state."""

    def __init__(self, comparison: Comparison) -> None:
        self._classes = instruction_classes(comparison)
        self._kernels = {label: number for number, label in enumerate(comparison.labels)}
        every = [*comparison.functions, *comparison.unnamed]
        self._rows = {function: row for row, function in enumerate(every)}

    def change(
        self, name: str, side: _Side, function: Function | None, base: str, label: str
    ) -> StateChange | None:
        """The change of an item on a side or in a function; None where one kernel lacks it."""
        classes = self._classes
        if classes is None or name not in classes.names or not {base, label} <= {*self._kernels}:
            return None
        counts = classes.counts[:, classes.names.index(name)]
        if function is not None:
            row = self._rows.get(function)
            counts = counts[[] if row is None else [row]]
        elif side:
            counts = counts[classes.rows(side)]
        both = counts.sum(axis=0)[[self._kernels[base], self._kernels[label]]]
        return StateChange(*map(float, both))


class Inventory:
    """``comparison``: of exact counts. Raises InputError where there is none."""

    def __init__(self, findings: Findings) -> None:
        if findings.exact is None or findings.classes is None:
            raise InputError(SAMPLED)
        self.comparison, self._classes = findings.exact, findings.classes
        self._findings = findings
        of_run = [run.kernel for run in self.comparison.runs]
        self._runs = [
            [number for number, label in enumerate(of_run) if label == kernel]
            for kernel in self.labels
        ]
        counted = [run.instructions for run in self.comparison.runs if run.instructions]
        self._few = FEW + max((one.interrupts or 0 for one in counted), default=0)
        self._chance = self._chances()

    @property
    def labels(self) -> list[str]:
        """The base's first."""
        return self.comparison.labels

    def is_large(self, row: ItemRow) -> bool:
        """Whether a function's part of an item differs by more than chance, and by at least 1% of
        all; where nothing is compared, whether it is as large."""
        whole = self._whole[row.item.name] * _PART
        if not row.changes:
            return (row.counts[0] or 0) >= whole
        far = max(abs(change.delta) for change in row.changes if change is not None)
        return far >= whole and far > self._few

    @cached_property
    def _whole(self) -> dict[str, int]:
        """By item, the most that some kernel executed."""
        return {row.item.name: max(count or 0 for count in row.counts) for row in self.rows}

    @property
    def unseen(self) -> dict[str, int]:
        """By kernel, executed instructions whose bytes were not recorded."""
        return dict(zip(self.labels, self._classes.unseen.tolist(), strict=True))

    @property
    def unknown(self) -> list[str]:
        """The items that recordings do not tell, but for kinds of other architectures."""
        known = self._classes.names
        return [item.name for item in ITEMS.values() if not item.kind and item.name not in known]

    @cached_property
    def rows(self) -> list[ItemRow]:
        """Those of all functions together, and of entries into the kernel."""
        events = self._findings.events
        entries = [events.row(name) for name in _ENTRIES] if isinstance(events, EventTable) else []
        return [*self._of_side(""), *map(_entry, entries)]

    @cached_property
    def sides(self) -> list[ItemRow]:
        """Those of the kernel, and of user space."""
        return [*self._of_side("kernel"), *self._of_side("user")]

    @cached_property
    def functions(self) -> Mapping[str, Sequence[ItemRow]]:
        """By item, those of each function itself that executed any, what changed most first."""
        sides: list[_Side] = [
            "kernel" if in_kernel else "user" for in_kernel in self._classes.in_kernel
        ]
        found = defaultdict(list)
        for column, name in enumerate(self._classes.names):
            counts = self._classes.counts[:, column]
            far = np.abs(counts - counts[:, :1]).max(axis=1)
            order = np.lexsort((-np.abs(counts).max(axis=1), -far))
            for row in order[counts[order].any(axis=1)].tolist():
                of_runs = self._classes.run_counts[row, column].tolist()
                found[name].append(self._row(name, of_runs, sides[row], row))
        return found

    def named(self, name: str, side: Side | None, function: str) -> Sequence[ItemRow]:
        """The rows of an item in all functions, on a side, or in the functions of a name if there
        is one; none of an item that recordings do not tell."""
        if name not in self._classes.names:
            return []
        if not function:
            rows = self._of_side(side or "")
            return [row for row in rows if row.item.name == name]
        found = [
            row
            for row in self.functions.get(name, ())
            if row.function is not None
            and row.function < len(self.comparison.functions)
            and self.comparison.functions[row.function].name == function
        ]
        return found or [self._row(name, [0] * len(self.comparison.runs), "")]

    def name(self, number: int | None) -> str:
        """What a function is called, or what stands for one."""
        known = self.comparison.functions
        if number is None:
            return ""
        if number < len(known):
            function, namesakes = known[number], self.comparison.namesakes[number]
            return title(function.name, function.object, function.file, namesakes=namesakes)
        reasons = [one.reason for one in self.comparison.unnamed[number - len(known) :]]
        return f"[unresolved: {reasons[0]}]" if reasons else "[no difference]"

    def most(self, row: ItemRow) -> str:
        """The function that makes most of an item's difference where that is largest, or that
        executes most of it where no kernel differs; "" where that is not known."""
        deltas = [change.delta if change else 0.0 for change in row.changes]
        delta = max(deltas, key=abs, default=0.0)
        kernel = deltas.index(delta) + 1 if delta else 0

        def part(of: ItemRow) -> float:
            if not delta:
                return of.counts[0] or 0
            mine = of.changes[kernel - 1]
            return (mine.delta if mine else 0) * (1 if delta > 0 else -1)

        own = self.functions.get(row.item.name, [])
        return self.name(max(own, key=part).function) if own else ""

    def largest(self, kernel: int) -> ChangedItem | None:
        """The item that changed most, of those that changed for certain, by much more than the
        instructions did, and often enough to be named; those that cost most come first. None where
        none did."""
        totals = self.comparison.totals()
        rows = {row.item.name: row for row in self.rows}
        pairs = {
            name: (base, other)
            for name, row in rows.items()
            if (base := row.counts[0]) is not None and (other := row.counts[kernel]) is not None
        }
        both = int(totals[0]), int(totals[kernel])
        names = outweighing(pairs, both, self.comparison.ops, MUCH)
        for name in sorted(names, key=lambda name: not rows[name].item.costly):
            change = rows[name].changes[kernel - 1]
            # Of two lengths, a count can be less than nothing.
            if min(pairs[name]) >= 0 and change is not None and change.verdict.is_sure:
                base, other = pairs[name]
                ops = self.comparison.ops or 1
                most = self.most(rows[name])
                return ChangedItem(rows[name].item, base / ops, other / ops, most)
        return None

    def _of_side(self, side: _Side) -> list[ItemRow]:
        rows = self._classes.rows(side or None)
        every = self._classes.run_counts[rows].sum(axis=0).tolist()
        return [
            self._row(name, of_runs, side)
            for name, of_runs in zip(self._classes.names, every, strict=True)
        ]

    def _row(
        self, name: str, of_runs: Sequence[int], side: _Side, function: int | None = None
    ) -> ItemRow:
        """``of_runs``: how many each run executed."""
        spreads = []
        for numbers, picked in zip(self._runs, self.comparison.picked, strict=True):
            values = [of_runs[number] for number in numbers]
            spreads.append(Spread(values[picked], min(values), max(values)))

        def states(kernel: int) -> list[StateChange]:
            every = [*self.comparison.functions, *self.comparison.unnamed]
            # What stands for functions without a difference has no name.
            of = None if function is None or function >= len(every) else every[function]
            ends = self.labels[0], self.labels[kernel]
            known = of is not None or function is None
            seen = [one.change(name, side, of, *ends) for one in self._states] if known else []
            return [one for one in seen if one is not None]

        changes = []
        for kernel, spread in enumerate(spreads[1:], 1):
            varied = partial(states, kernel)
            found = change(spreads[0], spread, self._chance[kernel], varied)
            # Several states have shown what ticks do, but not that so few are no chance.
            if found.states > 1 and 0 < abs(found.delta) <= self._few:
                low, high = found.low - self._few, found.high + self._few
                found = replace(found, low=low, high=high, verdict=Verdict.UNSURE)
            changes.append(found)
        return ItemRow(ITEMS[name], side, function, [one.picked for one in spreads], changes)

    @cached_property
    def _states(self) -> list[_State]:
        """Those that were recorded besides the one that is shown, read when a difference asks."""
        session, setting = self._findings.session, self._findings.setting
        shown, found = self.comparison.runs[0], []
        if session is None:
            return []
        manifest, point = self.comparison.manifest, self.comparison.setting.point
        states = {
            run.state
            for run in manifest.runs
            if run.collector == shown.collector and run.point == point and run.failure is None
        }
        for state in sorted(states - {shown.state}):
            try:
                varied = Recordings(session, setting, state).of_collector(shown.collector)
                found.append(_State(varied[0]))
            except (InputError, SessionError):
                continue  # of a damaged run, nothing is known
        return found

    def _chances(self) -> list[int]:
        """By kernel, how much of a difference to the base ticks and addresses can be."""
        shown, cells = self.comparison.runs[0], self._findings.results.runs
        points = self.comparison.setting.points
        floors = [
            tick_floor([cells.get((label, shown.collector, point), ()) for point in points])
            for label in self.labels
        ]
        return [int(max(self._few, larger([floors[0], floor]) or 0)) for floor in floors]


def _entry(row: EventRow) -> ItemRow:
    item = Item(row.event.name, row.event.told, costly=True)
    return ItemRow(item, "", None, row.counts, row.changes)
