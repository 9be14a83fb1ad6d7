"""Which kind a slowdown likeliest is, by the rows of the robot's table.

``RULES`` has all there is to it: they are tried in their order, and the first one that holds is the
likeliest kind. Each says which rows it rests on. None knows a commit, a test or a machine.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from profdiff.evidence.lkp.report import Case, Row
from profdiff.evidence.lkp.slowdown import Slowdown

Kind = Literal["instructions", "lock", "lines", "waiting", "mixed", "unknown"]

_HALF = 0.5
# From so many times as many instructions for what is called one operation, it is another one.
_ANOTHER = 3
# Points of the profile that must move; the level from which a lock's waiters are what a test does.
_POINTS, _LEVEL = 5, 50
_IPI_POINTS, _IDLE_POINTS, _MOVED_POINTS = 3, 5, 3
# A rate that should fall with the operations, and rose by so much.
_ROSE, _HITM = 1.1, 1.1
_SHOWN = 4

_WAITERS = re.compile(
    r"(?:native_|pv_|__pv_)?queued_(?:spin|read|write)_lock_slowpath|osq_lock|rwsem_\w*(?:slowpath|"
    r"spin\w*)|mutex_spin_on_owner|__mutex_lock(?:\.\w+)*|rt_mutex_\w*|rtlock_\w*|mcs_spin\w*|"
    r"spin_wait\w*"
)
# What does little else than one atomic instruction on a word that many share.
_ATOMICS = re.compile(
    r"page_counter_\w+|propagate_protected_usage|lockref_\w+|(?:inc|dec)_rlimit_\w*ucounts"
)
_IPIS = re.compile(
    r"(?:__)?(?:flush_)?smp_call_function\w*|generic_smp_call_function\w*|llist_add_batch|"
    r"llist_reverse_order|(?:native_|__)?flush_tlb_\w+|\w*send_IPI\w*|(?:a?sm_)?(?:__)?sysvec_call_"
    r"function\w*|sysvec_reschedule_ipi|on_each_cpu_cond_mask"
)
_PROFILE = re.compile(r"perf-profile\.(self|children|calltrace)\.[\w-]+\.(.+)")
_IDLE = ("mpstat.cpu.all.idle%", "vmstat.cpu.id", "turbostat.CPU%c1")
_RATES = ("vmstat.system.cs", "vmstat.system.in", "perf-stat.ps.context-switches")


class Judgement(NamedTuple):
    """``why``: what the rows mean; ``rows``: which they are, the most telling first;
    ``another_op``: what is called one operation is another one on each kernel."""

    kind: Kind
    why: str
    rows: Sequence[Row]
    another_op: bool = False


@dataclass(frozen=True)
class Facts:
    """What rules look at. Where the reported kernel is the faster one, it is the one *before*, so
    that rules are of what makes a kernel slow."""

    case: Case
    slowdown: Slowdown

    @property
    def reversed(self) -> bool:
        return self.slowdown.time is not None and self.slowdown.time.value < 1

    def sides(self, row: Row) -> tuple[float, float]:
        """The values of the faster and of the slower kernel."""
        base, other = row.means[0].value, row.means[self.case.column].value
        return (other, base) if self.reversed else (base, other)

    def grew(self, row: Row) -> float:
        before, after = self.sides(row)
        return after - before

    def times(self, row: Row) -> float:
        """The slower kernel's value as a multiple of the other's; 1 where one is nothing."""
        before, after = self.sides(row)
        return after / before if before > 0 and after > 0 else 1

    def rows(self, *names: str) -> Iterator[Row]:
        for name in names:
            if (row := self.case.row(name)) is not None:
                yield row

    def profile(self, family: re.Pattern[str]) -> "Profile":
        """What a family of functions has of the cycles: their own shares, or that with what they
        call, or that of the call chains that end in them, whichever shows most: a row that did not
        change is not in the table."""
        found: dict[str, list[tuple[Row, list[str]]]] = {
            "self": [],
            "children": [],
            "calltrace": [],
        }
        for row in self.case.table.rows.values():
            if (named := _PROFILE.fullmatch(row.metric)) is not None:
                chain = named[2].split(".") if named[1] == "calltrace" else [named[2]]
                if family.fullmatch(chain[0]):
                    found[named[1]].append((row, chain))
        # A chain's share has that of what its function calls.
        callers = {chain[1] for _, chain in found["calltrace"] if len(chain) > 1}
        ended = [one for one in found["calltrace"] if one[1][0] not in callers]
        children = sorted(found["children"], key=lambda one: -self.sides(one[0])[1])[:1]
        every = [self._profile([row for row, _ in one]) for one in (found["self"], children, ended)]
        return max(every, key=lambda one: one.level)

    def _profile(self, rows: Sequence[Row]) -> "Profile":
        ordered = sorted(rows, key=lambda row: (-abs(self.grew(row)), -max(self.sides(row))))
        return Profile(
            ordered[:_SHOWN],
            math.fsum(map(self.grew, rows)),
            math.fsum(self.sides(row)[1] for row in rows),
        )


class Profile(NamedTuple):
    """Functions' rows, by how much they moved; the points that all grew by, and their ``level`` in
    the slower kernel, in percent of all cycles."""

    rows: list[Row]
    grew: float
    level: float


class Rule(NamedTuple):
    """``holds``: the rows that say so, empty where they do not."""

    kind: Kind
    why: str
    holds: Callable[[Facts], Sequence[Row]]
    another_op: bool = False


def judged(case: Case, slowdown: Slowdown) -> list[Judgement]:
    """The likeliest kind first, then other kinds for which rows speak; at least one."""
    facts = Facts(case, slowdown)
    found: dict[Kind, Judgement] = {}
    for rule in RULES:
        if rule.kind not in found and (rows := rule.holds(facts)):
            found[rule.kind] = Judgement(rule.kind, rule.why, rows[:_SHOWN], rule.another_op)
    if next(iter(found), None) == "lock":
        # Who waits for a lock executes instructions, and they take long.
        found.pop("instructions", None)
        found.pop("lines", None)
    if found:
        return list(found.values())
    return [_unknown(slowdown)]


def _unknown(slowdown: Slowdown) -> Judgement:
    parts = slowdown.parts
    if parts is not None and parts.cost is not None and parts.rest is not None:
        if max(parts.instructions, parts.cost, parts.rest) <= _HALF:
            why = "instructions, their cost and the rest have no half of the change each"
            return Judgement("mixed", why, [])
        return Judgement(
            "unknown",
            "each instruction takes longer, and no row tells why: cache lines, branches and the "
            "layout of code all can",
            [*slowdown.cpi.rows] if slowdown.cpi else [],
        )
    return Judgement("unknown", "no row tells", [])


def _another(facts: Facts) -> Sequence[Row]:
    ratio = facts.slowdown.instructions
    another = ratio is not None and max(ratio.value, 1 / ratio.value) >= _ANOTHER
    return _of_ops(facts) if another else []


def _of_ops(facts: Facts) -> list[Row]:
    """The rows of instructions per op, and the workload's own."""
    slow = facts.slowdown
    rows = [
        *(slow.instructions.rows if slow.instructions else []),
        *([slow.row] if slow.row else []),
    ]
    return list({row.metric: row for row in rows}.values())


def _waiters(facts: Facts) -> Sequence[Row]:
    waiters = facts.profile(_WAITERS)
    grows = facts.slowdown.time is not None and waiters.grew > -_POINTS
    return waiters.rows if waiters.grew >= _POINTS or (grows and waiters.level >= _LEVEL) else []


def _atomics(facts: Facts) -> Sequence[Row]:
    atomics, waiters = facts.profile(_ATOMICS), facts.profile(_WAITERS)
    rows = [*atomics.rows, *waiters.rows]
    return rows if atomics.grew > 0 and atomics.grew + waiters.grew >= _POINTS else []


def _rest(facts: Facts) -> Sequence[Row]:
    parts, slow = facts.slowdown.parts, facts.slowdown
    if parts is None or parts.rest is None or parts.rest <= _HALF or slow.cpi is None:
        return []
    idle = [row for row in facts.rows(*_IDLE) if facts.grew(row) > 0]
    slower = [row for row in facts.rows("turbostat.Bzy_MHz") if facts.grew(row) < 0]
    return [
        *idle[:1],
        *slower,
        *slow.cpi.rows,
        *(slow.instructions.rows if slow.instructions else []),
    ]


def _more(facts: Facts) -> Sequence[Row]:
    parts = facts.slowdown.parts
    return _of_ops(facts) if parts is not None and parts.instructions > _HALF else []


def _ipis(facts: Facts) -> Sequence[Row]:
    ipis = facts.profile(_IPIS)
    return ipis.rows if ipis.grew >= _IPI_POINTS else []


def _idle(facts: Facts) -> Sequence[Row]:
    return [row for row in facts.rows(*_IDLE) if facts.grew(row) >= _IDLE_POINTS]


def _switches(facts: Facts) -> Sequence[Row]:
    return [row for row in facts.rows(*_RATES) if facts.times(row) >= _ROSE]


def _lines(facts: Facts) -> Sequence[Row]:
    parts, cpi = facts.slowdown.parts, facts.slowdown.cpi
    if parts is None or parts.cost is None or parts.cost <= _HALF or cpi is None:
        return []
    moved = [row for row in facts.rows("perf-c2c.HITM.total") if facts.times(row) >= _HITM]
    return [*moved, *cpi.rows, *_costlier(facts)] if moved or _costlier(facts) else []


def _costlier(facts: Facts) -> list[Row]:
    """Functions that both kernels execute and whose own share grew, unless it is what a function
    had that vanished: it was inlined there."""
    own = [
        row
        for row in facts.case.table.rows.values()
        if (named := _PROFILE.fullmatch(row.metric)) and named[1] == "self"
    ]
    gone = math.fsum(facts.sides(row)[0] for row in own if not facts.sides(row)[1])
    rows = [row for row in own if min(facts.sides(row)) >= 1 and facts.grew(row) >= _MOVED_POINTS]
    if math.fsum(map(facts.grew, rows)) - gone < _MOVED_POINTS:
        return []
    return sorted(rows, key=lambda row: -facts.grew(row))


RULES: Sequence[Rule] = (
    Rule(
        "lock",
        "waiters for a lock grew by five points or more, or are half of the profile; what they "
        "execute while they wait counts among the instructions",
        _waiters,
    ),
    Rule(
        "instructions",
        "an op executes three times as many instructions or more, or a third: it is another op, "
        "and times per op do not compare",
        _another,
        another_op=True,
    ),
    Rule(
        "lock",
        "functions that change one counter atomically, and waiters for locks, grew by five points "
        "or more",
        _atomics,
    ),
    Rule(
        "waiting",
        "instructions times cycles per instruction are less than half of the change: the rest is "
        "waiting, an idle processor or a lower frequency",
        _rest,
    ),
    Rule("instructions", "instructions per op are more than half of the change", _more),
    Rule("waiting", "the work of interprocessor interrupts grew", _ipis),
    Rule("waiting", "processors are idle more", _idle),
    Rule("waiting", "context switches or interrupts a second rose while ops fell", _switches),
    Rule(
        "lines",
        "instructions take longer, no lock is waited for, and cache lines change hands more often, "
        "or functions that both kernels execute became costlier: data layout, false sharing, or an "
        "atomic without a slow path",
        _lines,
    ),
)
