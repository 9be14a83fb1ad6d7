"""Bytes that slab caches, and blocks of pages that the page allocator, gave out and took back in
the window of exact counts, on each kernel."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from profdiff.collectors.exact.allocations import Allocations, Tally
from profdiff.evidence.difference import Difference
from profdiff.evidence.events import FEW, in_one_state, in_states
from profdiff.evidence.findings import Findings
from profdiff.session.manifest import Run
from profdiff.session.points import Cells, Setting, cells_by_state
from profdiff.session.session import Session
from profdiff.session.states import StateChange

Figure = Literal["allocated", "freed", "kept"]
FIGURES: tuple[Figure, ...] = ("allocated", "freed", "kept")
_NOTHING = Tally(0, 0)
# What a run's files call it.
_FILE = "allocations"


class MemoryRow(NamedTuple):
    """A cache in bytes, an order in blocks, or a sum of them. ``states``: by kernel, in the plain
    state and in each other one; ``few``: how much of a difference chance can be; ``sizes``: by
    kernel, how many bytes an object has, or pages a block; without those where there is none."""

    name: str
    states: Sequence[Mapping[str, Tally]]
    few: int
    sizes: Mapping[str, int]

    def count(self, figure: Figure, kernel: str) -> int:
        """On a kernel in the plain state."""
        return _amount(self.states[0][kernel], figure)

    def difference(self, figure: Figure, base: str, kernel: str) -> Difference:
        """That of a kernel to the base: in all states, or more than chance can make."""
        ends = [
            (_amount(state[base], figure), _amount(state[kernel], figure)) for state in self.states
        ]
        if len(ends) > 1 and any(first != other for first, other in ends):
            return in_states([StateChange(float(first), float(other)) for first, other in ends])
        delta = ends[0][1] - ends[0][0]
        return in_one_state(ends[0], delta, delta, self.few)


class Memory:
    """What is known at a setting, of the kernels ``labels``, the base first: the rows of ``caches``
    and ``orders``, and the sums of both, ``all_bytes`` and ``all_pages``."""

    def __init__(self, findings: Findings) -> None:
        """Raises SessionError where a file is damaged."""
        session, setting = findings.session, findings.setting
        states = [
            _recorded(session, runs, setting, findings.results.labels)
            for runs in (cells_by_state(session.manifest).values() if session else ())
        ]
        plain = states[0] if states else {}
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
    """By cache. Of several of one name, the sizes are the largest's."""
    amounts = dict[str, _Amount]()
    for (name, size), tally in sorted(found.objects.items()):
        more = Tally(tally.allocated * size, tally.freed * size)
        before = amounts[name].tally if name in amounts else _NOTHING
        amounts[name] = _Amount(_added(before, more), size, size)
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
    return sorted(rows, key=lambda row: (*(-far for far in _far(row)), row.name))


def _far(row: MemoryRow) -> list[int]:
    """The largest difference of what is kept, then of what is allocated; and how much that is."""
    kept, allocated = (
        [_amount(tally, figure) for tally in row.states[0].values()]
        for figure in ("kept", "allocated")
    )
    differences = [max(some) - min(some) for some in (kept, allocated)]
    return [*differences, max(allocated)]


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
                more = Tally(tally.allocated * weight(row), tally.freed * weight(row))
                total[kernel] = _added(total[kernel], more)
    return MemoryRow(name, states, max(row.few * weight(row) for row in rows), {})


def _pages(row: MemoryRow) -> int:
    """How many pages a block of an order has."""
    return 1 << int(row.name.removeprefix(_ORDER))


def _added(one: Tally, other: Tally) -> Tally:
    return Tally(one.allocated + other.allocated, one.freed + other.freed)


def _amount(tally: Tally, figure: Figure) -> int:
    """What is kept was not taken back in the window: less than nothing where more was."""
    if figure == "kept":
        return tally.allocated - tally.freed
    return tally.allocated if figure == "allocated" else tally.freed


def _recorded(
    session: Session, runs: Cells, setting: Setting, labels: Iterable[str]
) -> dict[str, Allocations]:
    """Of each kernel's first finished run in a state; of two lengths, the longer one less the
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
