"""Which kind a slowdown likeliest is, by the rows of the robot's tables.

``RULES`` has all there is to it: they are tried in their order, and the first one that holds is the
likeliest kind. Each says which rows it rests on. None knows a commit, a test or a machine.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from profdiff.evidence.lkp.facts import SMALL, Facts
from profdiff.evidence.lkp.report import Row

Kind = Literal["instructions", "lock", "lines", "layout", "waiting", "mixed", "unknown"]

_HALF = 0.5
# From so many times as many instructions for what is called one operation, it is another one; and
# so many times as long takes no operation that waits, for a lock or for another processor.
_ANOTHER, _OTHER_TEST = 3, 100
# Points of the profile that must move.
_POINTS, _IPI_POINTS, _MOVED_POINTS = 5, 3, 3
# From what share of the cycles on a kernel it executes a function, rather than has it inlined.
_EXECUTED = 0.5
# Points by which time spent waiting for disks must grow, and as a part of what it was.
_IO_POINTS, _IO_ROSE = 1, 1.25
# From what change of the processors that a job keeps busy its tasks are said to wait; and below how
# many they wait for most of the time.
_FEWER, _ONE = 1.03, 0.5
# How many more instructions than time has an op, if those of a small part of the machine count.
_SURE, _LEAST = 1.25, 0.02
# A rate that should fall with the operations, and rose by so much.
_ROSE, _HITM = 1.1, 1.1
# The largest change that the layout of code makes; by how much misses of code's own caches rise.
_LAYOUT, _MISSED = 1.1, 1.1
# From what part of the growth of an op's cycles waiters make it; a lock that takes so much of the
# profile on both kernels, and moves by no more.
_LARGE, _SATURATED, _STEADY = 0.35, 75, 1.5
_SHOWN = 4
# What tells nothing.
_UNTOLD = ("mixed", "unknown")

_WAITERS = re.compile(
    r"(?:native_|pv_|__pv_|__cna_)?queued_(?:spin|read|write)_lock_slowpath|osq_lock|rwsem_\w*(?:slowpath|"
    r"spin\w*)|mutex_spin_on_owner|__mutex_lock(?:\.\w+)*|rt_mutex_\w*|rtlock_\w*|mcs_spin\w*|"
    r"spin_wait\w*"
)
# What does little else than one atomic instruction on a word that many share.
_ATOMICS = re.compile(
    r"page_counter_\w+|propagate_protected_usage|__sk_mem_\w+_allocated|lockref_\w+|(?:inc|dec)_rlimit_\w*ucounts|"
    r"_raw_(?:read|write)_lock\w*|(?:down|up)_(?:read|write)(?:_trylock|_killable)?"
)
_IPIS = re.compile(
    r"(?:__)?(?:flush_)?smp_call_function\w*|generic_smp_call_function\w*|llist_add_batch|"
    r"llist_reverse_order|(?:native_|__)?flush_tlb_\w+|\w*send_IPI\w*|(?:a?sm_)?(?:__)?sysvec_call_"
    r"function\w*|sysvec_reschedule_ipi|on_each_cpu_cond_mask"
)
_SLEEPS = re.compile(r"intel_idle\w*|poll_idle|acpi_\w*halt\w*|mwait_idle\w*|cpuidle\w*|io_idle\w*")
_IO = ("mpstat.cpu.all.iowait%", "iostat.cpu.iowait", "vmstat.cpu.wa")
_RATES = ("vmstat.system.cs", "vmstat.system.in", "perf-stat.ps.context-switches")
_MOVED = (
    "perf-c2c.HITM.total",
    "perf-c2c.HITM.remote",
    "perf-stat.overall.MPKI",
    "perf-stat.i.MPKI",
)
_OF_CODE = re.compile(
    r"perf-stat\.(?:overall|i|ps)\.(?:branch-misses|branch-miss-rate%|iTLB-load-misses|"
    r"iTLB-load-miss-rate%|L1-icache-load-misses)"
)


@dataclass(frozen=True)
class Judgement:
    """``why``: what the rows mean; ``rows``: which they are, the most telling first, of the case
    with the number ``case``; ``another_op``: what is called one operation is another one on each
    kernel; ``firm``: no other table of the mail tells more."""

    kind: Kind
    why: str
    rows: Sequence[Row]
    case: int
    another_op: bool = False
    firm: bool = False


class Rule(NamedTuple):
    """``holds``: the rows that say so, empty where they do not."""

    kind: Kind
    why: str
    holds: Callable[[Facts], Sequence[Row]]
    another_op: bool = False
    firm: bool = False


def judged(facts: Sequence[Facts]) -> list[list[Judgement]]:
    """At least one for each case of a report: the likeliest kind first, then other kinds for which
    rows speak."""
    own = [_judged(one, number) for number, one in enumerate(facts)]
    return [_informed(number, facts, own) for number in range(len(facts))]


def _judged(facts: Facts, number: int) -> list[Judgement]:
    """What a table tells by itself."""
    found: dict[Kind, Judgement] = {}
    for rule in RULES:
        if rule.kind not in found and (rows := rule.holds(facts)):
            found[rule.kind] = Judgement(
                rule.kind, rule.why, rows[:_SHOWN], number, rule.another_op, rule.firm
            )
    if next(iter(found), None) == "lock":
        # Who waits for a lock executes instructions, and they take long.
        found.pop("instructions", None)
        found.pop("lines", None)
    return list(found.values()) or [_unknown(facts, number)]


def _informed(
    number: int, facts: Sequence[Facts], own: Sequence[list[Judgement]]
) -> list[Judgement]:
    """What a table tells. Where it tells nothing, the kind that more than half of the mail's other
    tables tell; where it has no profile, the lock that another one's profile shows."""
    found = own[number]
    others = [
        own[other][0]
        for other, one in enumerate(facts)
        if other != number and one.kernels == facts[number].kernels
    ]
    told = [one for one in others if one.kind not in _UNTOLD]
    if found[0].kind in _UNTOLD:
        kind, times = next(iter(Counter(one.kind for one in told).most_common(1)), ("unknown", 0))
        return [one for one in told if one.kind == kind][:1] if 2 * times > len(told) else found
    if not facts[number].profiled and not found[0].firm:
        locks = [one for one in told if one.kind == "lock"][:1]
        return [*locks, *(one for one in found if not locks or one.kind != "lock")]
    return found


def _unknown(facts: Facts, number: int) -> Judgement:
    parts = facts.slowdown.parts
    if parts is not None and parts.cost is not None and parts.rest is not None:
        if max(parts.instructions, parts.cost, parts.rest) <= _HALF:
            why = "instructions, their cost and the rest have no half of the change each"
            return Judgement("mixed", why, [], number)
        if costlier := _costlier(facts):
            why = "these functions cost more, and no row tells why"
            return Judgement("unknown", why, costlier[:_SHOWN], number)
        if cpi := _dear(facts):
            return Judgement(
                "unknown",
                "each instruction takes longer, and no row tells why: cache lines, branches and "
                "the layout of code all can",
                cpi,
                number,
            )
    return Judgement("unknown", "no row tells", [], number)


def _disk(facts: Facts) -> Sequence[Row]:
    return [
        row
        for row in facts.rows(*_IO)
        if facts.grew(row) >= _IO_POINTS and facts.times(row) >= _IO_ROSE and facts.sure(row)
    ]


def _locks(facts: Facts) -> Sequence[Row]:
    grown = _contended(facts)
    shares = [math.fsum(facts.sides(row)[at] for one in grown for row in one) for at in (0, 1)]
    steady = min(shares) >= _SATURATED and abs(shares[1] - shares[0]) < _STEADY
    return [] if steady else [row for one in grown for row in one]


def _saturated(facts: Facts) -> Sequence[Row]:
    return [row for one in _contended(facts) for row in one]


def _contended(facts: Facts) -> list[Sequence[Row]]:
    """The rows of waiters and of atomics, what costs more first, where they are a large part of
    what an op costs more."""
    # What a call of such a function waits for is in its callers' and children's rows.
    waiters, atomics = facts.profile(_WAITERS), facts.profile(_ATOMICS, "self")
    grown = [one for one in (waiters, atomics) if one.grew > 0]
    most, whole = math.fsum(one.grew for one in grown), 100 * (facts.cycles - 1)
    used, parts = facts.of_the_job, facts.slowdown.parts
    # What a machine does while the test uses none of its processors is not the test's.
    alone = used is not None and max(used[:2]) < _ONE
    least = _HALF if parts and parts.instructions > _HALF else _LARGE
    if most < _POINTS or whole <= 0 or most < least * whole or alone:
        return []
    return [one.rows for one in sorted(grown, key=lambda one: -one.grew)]


def _another_test(facts: Facts) -> Sequence[Row]:
    row = facts.slowdown.row
    return [row] if row and facts.time and facts.time >= _OTHER_TEST else []


def _fewer(facts: Facts) -> Sequence[Row]:
    """Tasks are off their processors, if that is more than half of the longer time."""
    used, time = facts.processors, facts.time
    if used is None or not (used.before > 0 and used.after > 0):
        return []
    fewer = used.before / used.after
    if time is None:
        # A test that did nothing any more has no time of an op.
        stopped = facts.slowdown.row and min(facts.sides(facts.slowdown.row)) == 0
        return used.rows if stopped and fewer >= _ANOTHER else []
    return used.rows if fewer >= _FEWER and math.log(fewer) > _HALF * math.log(time) else []


def _waits(facts: Facts) -> Sequence[Row]:
    """The test waits for most of the time, on each kernel, and what it executes more of an op is
    less than half of what an op takes longer."""
    used, time = facts.of_the_job, facts.time
    if used is None or time is None or max(used[:2]) >= _ONE:
        return []
    executes = used.after * time - used.before
    return used.rows if executes <= _HALF * (time - 1) else []


def _another(facts: Facts) -> Sequence[Row]:
    ratio = facts.slowdown.instructions
    if ratio is None:
        return []
    # The end of the interval that is nearer to no change.
    sure = max(ratio.value, 1 / ratio.value) / (1 + ratio.spread)
    return _of_ops(facts) if sure >= _ANOTHER else []


def _of_ops(facts: Facts) -> list[Row]:
    """The rows of instructions per op, and the workload's own."""
    slow = facts.slowdown
    rows = [
        *(slow.instructions.rows if slow.instructions else []),
        *([slow.row] if slow.row else []),
    ]
    return list({row.metric: row for row in rows}.values())


def _rest(facts: Facts) -> Sequence[Row]:
    parts, slow, used = facts.slowdown.parts, facts.slowdown, facts.processors
    if parts is None or parts.rest is None or parts.rest <= _HALF or slow.cpi is None:
        return []
    slower = [row for row in facts.rows("turbostat.Bzy_MHz") if facts.grew(row) < 0]
    if used is not None and used.before < _FEWER * used.after and not slower:
        # The job is on its processors as before: what is not explained is not waiting.
        return []
    return [
        *(used.rows if used else []),
        *slower,
        *slow.cpi.rows,
        *(slow.instructions.rows if slow.instructions else []),
    ]


def _more(facts: Facts) -> Sequence[Row]:
    """Where the job uses a small part of the machine, what the others execute makes instructions
    per op grow as the time of an op does, and no more."""
    parts, used = facts.slowdown.parts, facts.part
    if parts is None or parts.low <= _HALF:
        return []
    if used is not None and used < SMALL and (parts.instructions < _SURE or used < _LEAST):
        return []
    return _of_ops(facts)


def _ipis(facts: Facts) -> Sequence[Row]:
    ipis = facts.profile(_IPIS)
    return ipis.rows if ipis.grew >= _IPI_POINTS else []


def _switches(facts: Facts) -> Sequence[Row]:
    return [row for row in facts.rows(*_RATES) if facts.times(row) >= _ROSE]


def _dear(facts: Facts) -> Sequence[Row]:
    """The rows of cycles per instruction, where they are more than half of the change."""
    parts, cpi = facts.slowdown.parts, facts.slowdown.cpi
    if parts is None or parts.cost is None or parts.cost <= _HALF or cpi is None:
        return []
    return cpi.rows


def _lines(facts: Facts) -> Sequence[Row]:
    moved = [row for row in facts.rows(*_MOVED) if facts.times(row) >= _HITM]
    cpi, costlier = _dear(facts), _costlier(facts)
    atomics = [row for row, function in facts.own() if _ATOMICS.fullmatch(function)]
    shared = [row for row in costlier if row in atomics]
    rest = [row for row in costlier if row not in shared]
    return [*moved, *shared, *rest, *cpi] if cpi and (moved or shared) else []


def _costlier(facts: Facts) -> list[Row]:
    """Functions that both kernels execute and whose own cost grew, unless it is what a function
    had that vanished: it was inlined there."""
    own = [
        row
        for row, function in facts.own()
        if not (_SLEEPS.fullmatch(function) or _WAITERS.fullmatch(function))
    ]
    gone = math.fsum(facts.sides(row)[0] for row in own if not facts.sides(row)[1])
    rows = [
        row
        for row in own
        if min(facts.sides(row)) >= _EXECUTED and facts.cost(row) >= _MOVED_POINTS
    ]
    if math.fsum(map(facts.cost, rows)) - gone < _MOVED_POINTS:
        return []
    return sorted(rows, key=lambda row: -facts.cost(row))


def _layout(facts: Facts) -> Sequence[Row]:
    cpi, time = _dear(facts), facts.time
    missed = [
        row
        for row in facts.case.table.rows.values()
        if _OF_CODE.fullmatch(row.metric) and facts.times(row) >= _MISSED
    ]
    return [*missed, *cpi] if cpi and missed and time and time < _LAYOUT else []


RULES: Sequence[Rule] = (
    Rule(
        "waiting",
        "processors wait for disks more: an op takes longer because it waits, whatever they "
        "execute meanwhile",
        _disk,
        firm=True,
    ),
    Rule(
        "waiting",
        "the test uses less than half a processor on each kernel: it waits for most of the time",
        _waits,
        firm=True,
    ),
    Rule(
        "lock",
        "what waits for locks, or changes one counter atomically, is a large part of what an op "
        "costs more; what it executes while it waits counts among the instructions",
        _locks,
    ),
    Rule(
        "lock",
        "waiters for a lock take most of the cycles on both kernels, so all that lengthens an op "
        "lengthens their waiting: what does is not told",
        _saturated,
    ),
    Rule(
        "instructions",
        "an op takes a hundred times as long, or a hundredth: it is another op, and times do not "
        "compare",
        _another_test,
        another_op=True,
    ),
    Rule(
        "waiting",
        "the test keeps fewer processors busy, which is more than half of the longer time: its "
        "tasks wait",
        _fewer,
    ),
    Rule(
        "instructions",
        "an op executes three times as many instructions or more, or a third: it is another op, "
        "and times per op do not compare",
        _another,
        another_op=True,
    ),
    Rule(
        "waiting",
        "instructions times cycles per instruction are less than half of the change: the rest is "
        "waiting, an idle processor or a lower frequency",
        _rest,
    ),
    Rule("instructions", "instructions per op are more than half of the change", _more),
    Rule("waiting", "the work of interprocessor interrupts grew", _ipis),
    Rule("waiting", "context switches or interrupts a second rose while ops fell", _switches),
    Rule(
        "lines",
        "instructions take longer, and processors miss their caches or take lines from each other "
        "more often, or what changes one counter atomically became costlier",
        _lines,
    ),
    Rule(
        "layout",
        "instructions take longer by less than a tenth, processors mispredict more branches or "
        "miss code in their caches more often, and no data is named",
        _layout,
    ),
)
