"""Bytes that slab caches, and blocks of pages that the page allocator, gave out and took back in
the window of exact counts, on each kernel."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from profdiff.collectors.exact.allocations import Allocations, Tally
from profdiff.evidence.difference import Difference
from profdiff.evidence.events import FEW, in_one_state, in_states
from profdiff.evidence.findings import Findings
from profdiff.evidence.statistics.rule import Verdict
from profdiff.session.manifest import Run
from profdiff.session.points import Cells, Setting, cells_by_state
from profdiff.session.session import Session
from profdiff.session.states import StateChange

Figure = Literal["allocated", "freed", "kept"]
FIGURES: tuple[Figure, ...] = ("allocated", "freed", "kept")
_NOTHING = Tally()
# What a run's files call it.
_FILE = "allocations"


class MemoryRow(NamedTuple):
    """A cache in bytes, an order in blocks, or a sum of rows. ``states``: by kernel, in the plain
    state and in each other one; ``few``: how much of a difference chance can be; ``sizes``: by
    kernel, how many bytes an object has, or pages a block, without those where there is none;
    ``parts``: of a sum, its rows and what they weigh."""

    name: str
    states: Sequence[Mapping[str, Tally]]
    few: int
    sizes: Mapping[str, int]
    parts: Sequence[tuple["MemoryRow", int]] = ()

    def amount(self, figure: Figure, kernel: str) -> int:
        """On a kernel in the plain state."""
        return int(getattr(self.states[0][kernel], figure))

    @property
    def happened(self) -> bool:
        """Whether there was any of it in the plain state."""
        return any(any(tally) for tally in self.states[0].values())

    def difference(self, figure: Figure, base: str, kernel: str) -> Difference:
        """That of a kernel to the base: in all states, or more than chance can make."""
        ends = [
            (getattr(state[base], figure), getattr(state[kernel], figure)) for state in self.states
        ]
        if len(ends) > 1 and any(first != other for first, other in ends):
            return in_states([StateChange(float(first), float(other)) for first, other in ends])
        delta = ends[0][1] - ends[0][0]
        unsure = [
            row.few * weight
            for row, weight in self.parts
            if not row.difference(figure, base, kernel).verdict.is_sure
        ]
        if self.parts and not unsure:
            return Difference(delta, delta, delta, Verdict.EXACT)
        return in_one_state(ends[0], delta, delta, self.few + sum(unsure))


class Memory:
    """What is known at a setting, of the kernels ``labels``, the base first: the rows of ``caches``
    and ``orders``, and the sums of both, ``all_bytes`` and ``all_pages``."""

    def __init__(self, findings: Findings) -> None:
        """Raises SessionError where a file is damaged."""
        session, setting = findings.session, findings.setting
        runs = {} if session is None else cells_by_state(session.manifest)
        labels = findings.results.labels
        states = [_recorded(session, one, setting, labels) for one in runs.values() if session]
        # Without the base, nothing can be compared.
        plain = states[0] if states and labels[0] in states[0] else {}
        self.labels, self.ops = list(plain), setting.ops
        # What some kernel lacks in a varied state is compared in no other one.
        states = [state for state in states if state.keys() == plain.keys()]
        self.caches = _rows([{k: _bytes(one) for k, one in state.items()} for state in states])
        self.orders = _rows([{k: _blocks(one) for k, one in state.items()} for state in states])
        self.orders.sort(key=_pages)
        self.all_bytes = _sum("all caches", self.caches)
        self.all_pages = _sum("pages", self.orders, _pages)


class _Amount(NamedTuple):
    """``tally``: how often; ``size``: of one of them; ``unit``: what one counts as."""

    tally: Tally
    size: int
    unit: int


_ORDER = "order-"


def _bytes(found: Allocations) -> dict[str, _Amount]:
    """The bytes of each cache; where several have a name, the size is that of the largest."""
    amounts = dict[str, _Amount]()
    for (name, size), tally in sorted(found.objects.items()):
        before = amounts[name].tally if name in amounts else _NOTHING
        amounts[name] = _Amount(before.plus(tally, size), size, size)
    return amounts


def _blocks(found: Allocations) -> dict[str, _Amount]:
    return {f"{_ORDER}{order}": _Amount(t, 1 << order, 1) for order, t in found.pages.items()}


def _rows(states: Sequence[Mapping[str, Mapping[str, _Amount]]]) -> list[MemoryRow]:
    """A row for each name, the largest difference first."""
    every = [amounts for state in states for amounts in state.values()]
    rows = []
    for name in dict.fromkeys(name for amounts in every for name in amounts):
        known = [amounts[name] for amounts in every if name in amounts]
        tallies = [
            {k: a[name].tally if name in a else _NOTHING for k, a in state.items()}
            for state in states
        ]
        sizes = {k: a[name].size for k, a in states[0].items() if name in a}
        rows.append(MemoryRow(name, tallies, FEW * max(one.unit for one in known), sizes))
    return sorted(rows, key=lambda row: (*_order(row), row.name))


def _order(row: MemoryRow) -> list[float]:
    """By the largest difference that is certain, of what is kept, then of what is allocated; then
    by how much that is."""
    base, *others = row.states[0]
    figures: tuple[Figure, Figure] = ("kept", "allocated")
    found = [[row.difference(figure, base, other) for other in others] for figure in figures]
    certain = [[abs(one.delta) for one in some if one.verdict.is_sure] for some in found]
    amounts = [max(abs(row.amount(figure, k)) for k in row.states[0]) for figure in figures]
    return [-far for far in (*(max(some, default=0) for some in certain), *amounts)]


def _sum(
    name: str, rows: Sequence[MemoryRow], weight: Callable[[MemoryRow], int] = lambda row: 1
) -> MemoryRow | None:
    """None of no rows."""
    if not rows:
        return None
    states = [dict.fromkeys(state, _NOTHING) for state in rows[0].states]
    for row in rows:
        for total, state in zip(states, row.states, strict=True):
            for kernel, tally in state.items():
                total[kernel] = total[kernel].plus(tally, weight(row))
    return MemoryRow(name, states, 0, {}, [(row, weight(row)) for row in rows])


def _pages(row: MemoryRow) -> int:
    """How many pages a block of an order has."""
    return 1 << int(row.name.removeprefix(_ORDER))


def _recorded(
    session: Session, runs: Cells, setting: Setting, labels: Iterable[str]
) -> dict[str, Allocations]:
    """The first finished run of each kernel in a state; with two lengths, the longer one less the
    shorter. Raises SessionError."""
    found = {}
    for label in labels:
        for collector in session.manifest.collectors:
            told = [_first(runs.get((label, collector, point), ())) for point in setting.points]
            files = [run.files[_FILE] for run in told if run and _FILE in run.files]
            if files and len(files) == len(told):
                first, *more = [Allocations.load(session.path(file)) for file in files]
                found[label] = more[-1].less(first) if more else first
    return found


def _first(runs: Sequence[Run]) -> Run | None:
    return next((run for run in runs if run.failure is None), None)
