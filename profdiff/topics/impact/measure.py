"""What cells of a suite tell of the system calls that a program makes.

If an op of a cell makes one call, the cell gives the cost of that call. If it makes several, the
costs that other cells give are subtracted. If more than one call is left, these calls are a group,
such as ``openat`` and ``close``, which counts as often as the program makes each of them."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from itertools import groupby
from typing import NamedTuple

import msgspec

from profdiff.base.errors import InputError
from profdiff.evidence.difference import Difference
from profdiff.evidence.statistics.rule import Verdict
from profdiff.evidence.suite_cells import CellChange, SessionCells, SuiteCell
from profdiff.recording.lengths import OPS
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.session.suite import Suite, cell_names
from profdiff.topics.impact.traces import SIZED, Trace, calls_of

Names = tuple[str, ...]
# Below so many ops, nobody can tell them from what a program calls before and after them.
_LEAST_OPS = 8
# How many calls an op has that no other cell tells of, as one group of them.
_MAX_GROUP = 100
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30}


class _Table(msgspec.Struct):
    """``calls.json``: names by x86-64's numbers, and the calls of an op of each cell."""

    numbers: dict[str, str]
    cells: dict[str, "_Known"]


class _Known(msgspec.Struct):
    calls: dict[str, int]
    fail: list[str] = []


class Cost(NamedTuple):
    """Instructions of a call by label, and the ends of the difference to the base of the others.
    ``unsure``: by label, whether its change may be chance, or depends on state."""

    values: Mapping[str, float]
    ends: Mapping[str, tuple[float, float]]
    unsure: Mapping[str, bool]

    def less(self, others: "Cost", times: int) -> "Cost":
        """Without so many of another call."""
        return Cost(
            {label: value - times * others.values[label] for label, value in self.values.items()},
            {
                label: (low - times * others.ends[label][1], high - times * others.ends[label][0])
                for label, (low, high) in self.ends.items()
            },
            {label: unsure or others.unsure[label] for label, unsure in self.unsure.items()},
        )

    def divided(self, by: int) -> "Cost":
        """The cost of one call, if this is that of ``by`` calls."""
        return Cost(
            {label: value / by for label, value in self.values.items()},
            {label: (low / by, high / by) for label, (low, high) in self.ends.items()},
            self.unsure,
        )


class Priced(NamedTuple):
    """What a cell tells of a call, or of a group of them. ``bits``: of the size that it has, None
    if it has none; ``fails``: whether the call does."""

    cell: str
    bits: int | None
    fails: bool
    cost: Cost


class Row(NamedTuple):
    """Calls of a program that one cell stands for, so many of each name. ``cells``: how many have
    as much in common with them; ``near``: of how many calls it has another size or outcome, or the
    trace does not tell the size."""

    names: Names
    cell: str
    cells: int
    times: int
    cost: Cost
    near: int

    @property
    def calls(self) -> int:
        """How many system calls these are."""
        return self.times * len(self.names)

    def executed(self, label: str, seconds: float) -> int:
        """Instructions of all calls on a kernel, divided by ``seconds``."""
        return round(self.times * self.cost.values[label] / seconds)

    def difference(self, label: str, base: str, seconds: float) -> Difference:
        """The difference of these counts to the base's."""
        low, high = (self.times * end / seconds for end in self.cost.ends[label])
        delta = self.executed(label, seconds) - self.executed(base, seconds)
        straddles = low <= 0 <= high and low != high
        verdict = Verdict.EXACT if low == high else Verdict.CHANGED
        if straddles or self.cost.unsure[label]:
            verdict = Verdict.UNSURE
        ends = (delta, delta) if low == high else (min(round(low), delta), max(round(high), delta))
        return Difference(delta, *ends, verdict)


class Impact(msgspec.Struct, frozen=True):
    """``rows``: the calls that have a cell; ``others``: how many others there are, by name."""

    trace: Trace
    labels: Sequence[str]
    rows: Sequence[Row]
    others: Mapping[str, int]

    @property
    def calls(self) -> int:
        """All system calls of the program."""
        return self.trace.counts.total()

    @property
    def covered(self) -> int:
        """Those that have a cell."""
        return sum(row.calls for row in self.rows)

    @staticmethod
    def of(suite: Suite, trace: Trace, wanted: Callable[[str], bool] = lambda _: True) -> "Impact":
        """``wanted``: which cells, by name. Raises SessionError, and InputError for cells that are
        not of instructions, of several parts, or of one kernel."""
        cells, labels = _recorded(suite, wanted)
        if not any(cell.metric and cell.metric.name == "instructions" for cell, _ in cells):
            raise InputError(
                f"no cell of {suite.folder} that is asked for has instructions: record them with "
                "--collector exact"
            )
        parts = sorted({cell.part for cell, _ in cells})
        if len(parts) > 1:
            raise InputError(
                f"{suite.folder} has {' and '.join(parts)}: choose with --only '*@{parts[0]}'"
            )
        if len(labels) < 2:
            raise InputError(f"{suite.folder} has one kernel: record another one")
        return _Matching(cells, labels, trace).impact()


def numbers() -> dict[str, str]:
    """The names of system calls by x86-64's numbers."""
    return _table().numbers


def _table() -> _Table:
    text = (resources.files("profdiff.suites") / "calls.json").read_bytes()
    return msgspec.json.decode(text, type=_Table)


_Cells = Sequence[tuple[SuiteCell, _Known]]


def _recorded(suite: Suite, wanted: Callable[[str], bool]) -> tuple[_Cells, list[str]]:
    """The cells of a suite with the calls of an op, and the labels of its kernels."""
    known = _table().cells
    found: list[tuple[SuiteCell, _Known]] = []
    labels: dict[str, None] = {}
    for workload, part, session in suite.recorded():
        points = settings(session.manifest)
        names = cell_names(session.manifest, points, workload.name, part)
        chosen = [one for one in zip(names, points, strict=True) if wanted(one[0])]
        if chosen:
            labels |= dict.fromkeys(one.label for one in session.compared)
            gathered = SessionCells.of(session)
            for name, setting in chosen:
                cell = gathered.cell(name, workload, part, setting)
                found.append((cell, _calls(session, cell, known)))
    return found, [*labels]


def _calls(session: Session, cell: SuiteCell, every: Mapping[str, _Known]) -> _Known:
    """Those of an op: of a cell of the suites that come along as they are listed, of others as they
    were observed."""
    values = ",".join(v for name, v in cell.setting.parameters.items() if name != OPS)
    known = every.get(f"{cell.workload.name}/{values}" if values else cell.workload.name)
    point, ops = cell.setting.point, cell.setting.ops or 0
    runs = (run for run in session.manifest.runs if run.point == point)
    observed = next((calls for run in runs if (calls := calls_of(session, run))), {})
    if known and all(
        observed.get(name, 0) >= times * ops for name, times in known.calls.items() if observed
    ):
        return known
    if ops < _LEAST_OPS or cell.setting.short is not None:
        return _Known({})
    return _Known({name: round(n / ops) for name, n in observed.items() if n >= ops})


class _Matching:
    def __init__(self, cells: _Cells, labels: Sequence[str], trace: Trace) -> None:
        self._trace, self._labels = trace, labels
        self._left = Counter(trace.counts)
        self._rows: list[Row] = []
        self._costs: dict[str, list[Priced]] = defaultdict(list)
        compared = [(cell, known) for cell, known in cells if self._compared(cell)]
        several = [(cell, known.calls) for cell, known in compared if len(known.calls) > 1]
        # A call that costs more than an op that has such a call, and others, does something else:
        # lseek() for a hole in a file.
        most: dict[str, float] = {}
        for cell, calls in several:
            for name, times in calls.items():
                if name not in SIZED:
                    value = cell.values[labels[0]] / times
                    most[name] = min(value, most.get(name, value))
        for cell, known in compared:
            if len(known.calls) == 1:
                ((name, times),) = known.calls.items()
                cost = self._cost(cell).divided(times)
                fails = name in known.fail
                if fails or cost.values[labels[0]] <= most.get(name, math.inf):
                    self._add(cell, name, fails, cost)
        self._groups: dict[Names, list[Priced]] = defaultdict(list)
        alone = {name: self._typical(name) for name in self._costs}
        for cell, calls in several:
            self._take_apart(cell, calls, alone)

    def impact(self) -> Impact:
        """The rows, those that add most first."""
        self._match(same=True)
        self._match_groups()
        self._match(same=False)
        base, last = self._labels[0], self._labels[-1]
        self._rows.sort(key=lambda row: -abs(row.difference(last, base, 1).delta))
        others = Counter[str]()
        for call, number in self._left.items():
            others[call.name] += number
        left = {name: number for name, number in others.most_common() if number}
        return Impact(self._trace, self._labels, self._rows, left)

    def _compared(self, cell: SuiteCell) -> bool:
        named = cell.metric is not None and cell.metric.name == "instructions"
        return named and cell.per_op and all(label in cell.values for label in self._labels)

    def _cost(self, cell: SuiteCell) -> Cost:
        base = cell.values[self._labels[0]]
        changes = {label: cell.changes[label] for label in self._labels[1:]}
        return Cost(
            {label: cell.values[label] for label in self._labels},
            {label: _ends(change, base) for label, change in changes.items()},
            {label: not change.sure and change.delta != 0 for label, change in changes.items()},
        )

    def _add(self, cell: SuiteCell, name: str, fails: bool, cost: Cost) -> None:
        bits = _bits(cell) if name in SIZED else None
        self._costs[name].append(Priced(cell.name, bits, fails, cost))

    def _typical(self, name: str) -> Cost | None:
        """What a call costs that does not fail."""
        found = [one for one in self._costs[name] if not one.fails]
        return self._median(found).cost if found else None

    def _median(self, found: Sequence[Priced]) -> Priced:
        base, last = self._labels[0], self._labels[-1]
        by_delta = sorted(found, key=lambda one: one.cost.values[last] - one.cost.values[base])
        return by_delta[(len(found) - 1) // 2]

    def _take_apart(
        self, cell: SuiteCell, calls: Mapping[str, int], alone: Mapping[str, Cost | None]
    ) -> None:
        """What is left of a cell's op without the calls that other cells tell of."""
        unknown = [name for name in calls if alone.get(name) is None]
        sized = [name for name in calls if name in SIZED]
        if _bits(cell) is not None and len(sized) == 1:
            # The call that has the size is meant, with what goes before each: lseek(), then read().
            calls = {name: n for name, n in calls.items() if name in sized or name not in unknown}
            unknown = sized
        cost = self._cost(cell)
        for name, times in calls.items():
            if name not in unknown and (other := alone[name]):
                cost = cost.less(other, times)
        if min(cost.values.values()) < 0:
            return
        if len(unknown) == 1:
            self._add(cell, unknown[0], False, cost.divided(calls[unknown[0]]))
        elif unknown and sum(calls[name] for name in unknown) <= _MAX_GROUP:
            repeated = tuple(name for name in sorted(unknown) for _ in range(calls[name]))
            self._groups[repeated].append(Priced(cell.name, _bits(cell), False, cost))

    def _match(self, *, same: bool) -> None:
        """Calls that a cell tells of; ``same``: only if both fail, or neither does."""
        for call, number in [*self._left.items()]:
            found = self._costs.get(call.name, [])
            alike = [one for one in found if one.fails == call.failed]
            if not number or not (alike if same else found):
                continue
            fits = bool(alike)
            found = alike or found
            sized = [one for one in found if one.bits is not None]
            if call.bits is not None and sized:
                found = _nearest(sized, call.bits)
                fits = fits and found[0].bits == call.bits
            elif sized and not call.failed:
                fits = False
            self._take((call.name,), number, found, 0 if fits else number)
            self._left[call] = 0

    def _match_groups(self) -> None:
        """Groups of calls, the largest first, as often as the program makes all of them."""
        for names, found in sorted(self._groups.items(), key=lambda one: -len(one[0])):
            wanted = Counter(names)
            left = {
                name: [call for call in self._left if call.name == name and not call.failed]
                for name in wanted
            }
            number = min(
                sum(self._left[call] for call in left[name]) // times
                for name, times in wanted.items()
            )
            if not number:
                continue
            some = [call for name in wanted if name in SIZED for call in left[name]]
            sizes = {call.bits for call in some if self._left[call]}
            sized = [one for one in found if one.bits is not None]
            if sized and (known := sorted(bits for bits in sizes if bits is not None)):
                found = _nearest(sized, known[0])
            fits = not sized or {one.bits for one in found} == sizes
            self._take(names, number, found, 0 if fits else number * len(names))
            for name, times in wanted.items():
                rest = number * times
                for call in left[name]:
                    taken = min(rest, self._left[call])
                    self._left[call] -= taken
                    rest -= taken

    def _take(self, names: Names, number: int, found: Sequence[Priced], near: int) -> None:
        """A row of these calls, with those that the same cells stand for."""
        middle = self._median(found)
        ends = {
            label: (
                min(one.cost.ends[label][0] for one in found),
                max(one.cost.ends[label][1] for one in found),
            )
            for label in self._labels[1:]
        }
        cost = Cost(middle.cost.values, ends, middle.cost.unsure)
        row = Row(names, middle.cell, len(found), number, cost, near)
        for place, other in enumerate(self._rows):
            if other._replace(times=0, near=0) == row._replace(times=0, near=0):
                times = other.times + number
                self._rows[place] = other._replace(times=times, near=other.near + near)
                return
        self._rows.append(row)


def _nearest(found: Iterable[Priced], bits: int) -> list[Priced]:
    """Those whose size is nearest; of two as near, the smaller one."""

    def far(one: Priced) -> tuple[int, int]:
        return abs((one.bits or 0) - bits), one.bits or 0

    return [*next(groupby(sorted(found, key=far), far))[1]]


def _ends(change: CellChange, base: float) -> tuple[float, float]:
    """Between which a change lies: over states, or over chance."""
    known = [change.delta]
    if change.states > 1 or not change.verdict.is_sure:
        known += [end * base for end in (change.low, change.high) if end == end]
    if change.unsure:
        floor = change.tick_floor or 0
        known += [0.0, change.delta - floor, change.delta + floor]
    return min(known), max(known)


def _bits(cell: SuiteCell) -> int | None:
    """The number of bits of the size that a cell's point has, such as ``4k``; None without one."""
    found = re.fullmatch(r"(\d{1,12})([kmg]?)", cell.setting.parameters.get("size", ""))
    return (int(found[1]) << _UNITS[found[2]]).bit_length() if found else None
