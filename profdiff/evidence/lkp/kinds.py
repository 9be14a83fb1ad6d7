"""Which kind a slowdown likeliest is, by the rows of the robot's tables.

``RULES`` has all there is to it: they are tried in their order, and the first sure one that holds
is the likeliest kind. Where only others hold, the kind is not known, and theirs are candidates.
Each says which rows it rests on. None knows a commit, a test or a machine.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from profdiff.evidence.lkp.facts import MOVED_POINTS, ONE, SMALL, Facts
from profdiff.evidence.lkp.report import Row

Kind = Literal["instructions", "lock", "lines", "layout", "waiting", "mixed", "unknown"]

_HALF = 0.5
# From so many times as many instructions for what is called one operation, it is another one; and
# so many times as long takes no operation that waits, for a lock or for another processor.
_ANOTHER, _OTHER_TEST = 3, 100
# Points by which interprocessor interrupts must cost more.
_IPI_POINTS = 3
# From what change of the processors that a job keeps busy its tasks are said to wait.
_FEWER = 1.03
# How many more instructions than time has an op, if those of a small part of the machine count.
_SURE, _LEAST = 1.25, 0.02
# Misses that rose by so much.
_HITM = 1.1
# The largest change that the layout of code makes; by how much misses of code's own caches rise.
_LAYOUT, _MISSED = 1.1, 1.1
# A lock that takes so much of the profile on both kernels, and moves by no more.
_SATURATED, _STEADY = 75, 1.5
# The part of a change that instructions are at most, if an op executes what it did before; and of a
# processor that each task uses at most, if it waits most of the time.
_FEW = 0.25
_SHOWN = 4
# What tells nothing.
UNTOLD = ("mixed", "unknown")

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
    """``holds``: the rows that say so, empty where they do not; ``sure``: they decide, others make
    a candidate."""

    kind: Kind
    why: str
    holds: Callable[[Facts], Sequence[Row]]
    another_op: bool = False
    firm: bool = False
    sure: bool = True


def judged(facts: Sequence[Facts]) -> list[list[Judgement]]:
    """At least one for each case of a report: the likeliest kind first, then other kinds for which
    rows speak; behind *not known*, candidates."""
    own = [_judged(one, number) for number, one in enumerate(facts)]
    return [_informed(number, facts, own) for number in range(len(facts))]


def _judged(facts: Facts, number: int) -> list[Judgement]:
    """What a table tells by itself."""
    found = _held(facts, number, sure=True)
    if not found:
        others = _held(facts, number, sure=False)
        return [_candidates(number) if others else _unknown(facts, number), *others.values()]
    if next(iter(found)) == "lock":
        # Who waits for a lock executes instructions, and they take long.
        found.pop("instructions", None)
        found.pop("lines", None)
    return list(found.values())


def _held(facts: Facts, number: int, *, sure: bool) -> dict[Kind, Judgement]:
    """By kind, what the first rule that holds says, of those that decide or of the others."""
    found: dict[Kind, Judgement] = {}
    for rule in RULES:
        known = rule.sure is sure and rule.kind not in found
        if known and (rows := rule.holds(facts)):
            found[rule.kind] = Judgement(
                rule.kind, rule.why, rows[:_SHOWN], number, rule.another_op, rule.firm
            )
    return found


def _candidates(number: int) -> Judgement:
    why = "what follows may be it, but no row decides: the recording does"
    return Judgement("unknown", why, [], number)


def _informed(
    number: int, facts: Sequence[Facts], own: Sequence[list[Judgement]]
) -> list[Judgement]:
    """What a table tells. One without a profile takes the lock that another one's shows; one that
    tells nothing takes the instructions that another one tells, if its own split has them for the
    largest part. A row that is absent did not change, so any other kind of
    another table's is a candidate at most."""
    found = own[number]
    others = [
        (one, own[other][0])
        for other, one in enumerate(facts)
        if other != number and one.kernels == facts[number].kernels
    ]
    told = [judgement for _, judgement in others if judgement.kind not in UNTOLD]
    locks = [one for one in told if one.kind == "lock"][:1]
    if locks and not facts[number].profiled and not found[0].firm:
        return [*locks, *(one for one in found if one.kind not in ("lock", *UNTOLD))]
    if found[0].kind not in UNTOLD:
        return found
    same = [
        judgement
        for one, judgement in others
        if judgement.kind == "instructions"
        and not judgement.another_op
        and _agrees(facts[number], one)
    ]
    if same and len({one.kind for one in told}) == 1:
        return [same[0], *(one for one in found if one.kind not in ("instructions", *UNTOLD))]
    kinds = {one.kind for one in found}
    more = dict[Kind, Judgement]()
    for one in told:
        if one.kind not in kinds:
            more.setdefault(one.kind, one)
    if len(found) == 1 and more:
        found = [_candidates(number)]
    return [*found, *more.values()]


def _agrees(facts: Facts, other: Facts) -> bool:
    """Whether instructions are most of both changes, in the same direction."""
    parts = facts.slowdown.parts, other.slowdown.parts
    return all(one is not None and one.instructions > _HALF for one in parts)


def _unknown(facts: Facts, number: int) -> Judgement:
    parts = facts.slowdown.parts
    if parts is not None and parts.cost is not None and parts.rest is not None:
        if max(parts.instructions, parts.cost, parts.rest) <= _HALF:
            why = "instructions, their cost and the rest have no half of the change each"
            return Judgement("mixed", why, [], number)
        if costlier := facts.costlier:
            why = "these functions cost more, and no row tells why"
            return Judgement("unknown", why, costlier[:_SHOWN], number)
        if cpi := facts.dear:
            return Judgement(
                "unknown",
                "each instruction takes longer, and no row tells why: cache lines, branches and "
                "the layout of code all can",
                cpi,
                number,
            )
    return Judgement("unknown", "no row tells", [], number)


def _locks(facts: Facts) -> Sequence[Row]:
    rows = facts.contended
    shares = [math.fsum(facts.sides(row)[at] for row in rows) for at in (0, 1)]
    steady = min(shares) >= _SATURATED and abs(shares[1] - shares[0]) < _STEADY
    return [] if steady or facts.held else rows


def _another_test(facts: Facts) -> Sequence[Row]:
    """A hundred times as long takes who waits, too: instructions tell that an op does more."""
    row = facts.slowdown.row
    return [row] if row and (facts.time or 1) >= _OTHER_TEST and _another(facts) else []


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
    """The test's tasks wait most of the time, on each kernel, and what they execute more of an
    op is less than half of what it takes longer."""
    used, time = facts.of_the_job, facts.time
    if used is None or time is None:
        return []
    tasks = facts.tasks or 1
    if max(used[:2]) >= max(ONE, _FEW * tasks):
        return []
    executes = used.after * time - used.before
    return used.rows if executes <= _HALF * (time - 1) * tasks else []


def _another(facts: Facts) -> Sequence[Row]:
    ratio = facts.slowdown.instructions
    if ratio is None or facts.contended:
        # Who spins executes many, too.
        return []
    # The end of the interval that is nearer to no change.
    sure = max(ratio.value, 1 / ratio.value) / (1 + ratio.spread)
    return facts.of_ops if sure >= _ANOTHER else []


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
    return [] if facts.contended else facts.of_ops


def _ipis(facts: Facts) -> Sequence[Row]:
    ipis = facts.ipis
    return ipis.rows if ipis.grew >= _IPI_POINTS else []


def _lines(facts: Facts) -> Sequence[Row]:
    """Where an op executes what it did before, and functions are named that became costlier."""
    parts, costlier = facts.slowdown.parts, facts.costlier
    if parts is None or parts.instructions >= _FEW or facts.contended:
        return []
    if math.fsum(map(facts.cost, facts.appeared)) >= MOVED_POINTS:
        return []
    return _misses(facts) if costlier else []


def _others(facts: Facts) -> Sequence[Row]:
    """Functions that only the slower kernel executes, where they are more than half of what an op
    costs more, less those that it does not execute any more."""
    cost, used = facts.cost, facts.of_the_job
    appeared = sorted(facts.appeared, key=cost, reverse=True)
    net = math.fsum(map(cost, [*appeared, *facts.vanished]))
    alone, whole = used is not None and max(used[:2]) < ONE, 100 * (facts.cycles - 1)
    if alone or whole <= 0 or net < MOVED_POINTS or net <= _HALF * whole:
        return []
    return [] if facts.contended or _misses(facts) else appeared


def _misses(facts: Facts) -> Sequence[Row]:
    moved = [row for row in facts.rows(*_MOVED) if facts.times(row) >= _HITM]
    cpi, costlier, atomics = facts.dear, facts.costlier, facts.atomics.rows
    shared = [row for row in costlier if row in atomics]
    rest = [row for row in costlier if row not in shared]
    return [*moved, *shared, *rest, *cpi] if cpi and (moved or shared) else []


def _layout(facts: Facts) -> Sequence[Row]:
    cpi, time = facts.dear, facts.time
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
        lambda facts: facts.disk,
        firm=True,
    ),
    Rule(
        "lock",
        "what waits for locks, or changes one counter atomically, is a large part of what an op "
        "costs more; what it executes while it waits counts among the instructions",
        _locks,
    ),
    Rule(
        "waiting",
        "the test uses less than half a processor, or less than a quarter of one for each of its "
        "tasks, on each kernel: it waits most of the time",
        _waits,
        firm=True,
    ),
    Rule(
        "instructions",
        "an op takes a hundred times as long, and executes three times as many instructions or "
        "more: it is another op, and times do not compare",
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
    Rule(
        "instructions",
        "functions that the other kernel hardly executes are more than half of what an op costs "
        "more: it executes other instructions",
        _others,
    ),
    Rule("waiting", "the work of interprocessor interrupts grew", _ipis),
    Rule(
        "waiting",
        "context switches or interrupts a second rose while ops fell",
        lambda facts: facts.switching,
    ),
    Rule(
        "lines",
        "instructions take longer, and processors miss their caches or take lines from each other "
        "more often, in functions that both kernels execute, or what changes one counter "
        "atomically became costlier",
        _lines,
    ),
    Rule(
        "layout",
        "instructions take longer by less than a tenth, processors mispredict more branches or "
        "miss code in their caches more often, and no data is named",
        _layout,
    ),
    Rule(
        "lock",
        "waiters for a lock are a large part of what an op costs more; but they take most of the "
        "cycles on both kernels, or wait for a mutex or semaphore, so whatever its holder does "
        "longer, which may be waiting itself, lengthens their waiting",
        lambda facts: facts.contended,
        sure=False,
    ),
    Rule(
        "lines",
        "instructions take longer, and processors miss their caches or take lines from each other "
        "more often; but an op executes other functions, too",
        _misses,
        sure=False,
    ),
)
