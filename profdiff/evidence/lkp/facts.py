"""What rules look at in a table of the 0-day robot's: profiles, processors and rates, of the faster
and of the slower kernel."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from profdiff.evidence.lkp.report import Case, Report, Row
from profdiff.evidence.lkp.slowdown import Slowdown

# A part of the machine so small that what the machine executes is not what the job does.
SMALL = 0.25
_SHOWN = 4
_THREADS = re.compile(r"\b(\d{1,6}) threads\b")
_PROFILE = re.compile(r"perf-profile\.(self|children|calltrace)\.[\w-]+\.(.+)")
_OF_THE_JOB = ".time.percent_of_cpu_this_job_got"
# Idle time of all processors, and with it what waits for disks.
_IDLE = (
    ("mpstat.cpu.all.idle%", "mpstat.cpu.all.iowait%"),
    ("iostat.cpu.idle", "iostat.cpu.iowait"),
    ("vmstat.cpu.id", "vmstat.cpu.wa"),
)
_EXECUTING = tuple(f"mpstat.cpu.all.{kind}%" for kind in ("sys", "usr", "soft", "irq"))
_TASKS = re.compile(r"(\d{1,9})(%?)t?")
_HALF = 0.5
# Points by which time spent waiting for disks must grow, and as a part of what it was.
_IO_POINTS, _IO_ROSE = 1, 1.25
_IO = ("mpstat.cpu.all.iowait%", "iostat.cpu.iowait", "vmstat.cpu.wa")
# A rate that should fall with the operations, and rose by so much; and, a second on each busy
# processor, from where it counts.
_ROSE = 1.1
_RATES = {
    "vmstat.system.cs": 1000,
    "vmstat.system.in": 2000,
    "perf-stat.ps.context-switches": 1000,
}
# Cycles a second of a slow processor.
_HERTZ = 2e9
# Below so many processors a test waits most of the time.
ONE = 0.5
# Points of the profile by which what waits must cost more, and other functions.
_POINTS, MOVED_POINTS = 5, 3
# From what share of the cycles on a kernel it executes a function, rather than has it inlined.
_EXECUTED = 0.5
# From what part of the growth of an op's cycles waiters make it.
_LARGE = 0.35
# Locks that are held briefly, by who is not off its processor: who waits for one says what is slow.
_SPINNERS = re.compile(
    r"(?:native_|pv_|__pv_|__cna_)?queued_(?:spin|read|write)_lock_slowpath|mcs_spin\w*|spin_wait\w*"
)
# Those that are held over other work, or over waiting for a disk: who waits does not say which.
_SLEEPERS = re.compile(
    r"osq_lock|rwsem_\w*(?:slowpath|spin\w*)|mutex_spin_on_owner|__mutex_lock(?:\.\w+)*|rt_mutex_\w*|"
    r"rtlock_\w*"
)
_WAITERS = re.compile(f"{_SPINNERS.pattern}|{_SLEEPERS.pattern}")
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
_IDLING = re.compile(r"intel_idle\w*|poll_idle|acpi_\w*halt\w*|mwait_idle\w*|cpuidle\w*|io_idle\w*")


class Profile(NamedTuple):
    """Rows of the functions that cost more, the most first, and the points of the faster kernel's
    cycles per op that all grew by."""

    rows: list[Row]
    grew: float


class Processors(NamedTuple):
    """How many, or which part of them, are busy on the faster and on the slower kernel."""

    before: float
    after: float
    rows: list[Row]


@dataclass(frozen=True)
class Facts:
    """Where the reported kernel is the faster one, it is the one *after*, so that rules are of what
    makes a kernel slow. ``threads``: the machine's, None where the mail does not tell."""

    case: Case
    slowdown: Slowdown
    threads: int | None

    @staticmethod
    def of(report: Report) -> "list[Facts]":
        """One for each case."""
        threads = _THREADS.search(report.machine)
        return [
            Facts(case, Slowdown.of(case), int(threads[1]) or None if threads else None)
            for case in report.cases
        ]

    @property
    def reversed(self) -> bool:
        return self.slowdown.time is not None and self.slowdown.time.value < 1

    @property
    def kernels(self) -> tuple[str, str, bool]:
        """Which are compared, and whether the later one is the faster."""
        heads = self.case.table.heads
        return heads[0], heads[self.case.column], self.reversed

    @property
    def time(self) -> float | None:
        """The slower kernel's, as a multiple of the faster one's; None where it did not change."""
        time = self.slowdown.time
        if time is None or time.value == 1:
            return None
        return max(time.value, 1 / time.value)

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

    @property
    def cycles(self) -> float:
        """Cycles of an op on the slower kernel, as a multiple of the faster one's: by instructions
        and what each takes, else by time and the processors that are busy meanwhile."""
        slow = self.slowdown
        if slow.instructions is not None and slow.cpi is not None:
            value = slow.instructions.value * slow.cpi.value
            return 1 / value if self.reversed else value
        used, time = self.processors, self.time or 1
        return time * used.after / used.before if used and used.before > 0 else time

    def cost(self, row: Row) -> float:
        """By how many points of the faster kernel's cycles per op a row of the profile grew: a
        function whose share fell can cost more, where an op costs more."""
        before, after = self.sides(row)
        return after * self.cycles - before

    @property
    def profiled(self) -> bool:
        return any(_PROFILE.fullmatch(name) for name in self.case.table.rows)

    def sure(self, row: Row) -> bool:
        """Whether a row's change is more than its runs deviate."""
        spreads = [mean.value * (mean.spread or 0) for mean in row.means]
        return math.hypot(spreads[0], spreads[self.case.column]) < abs(self.grew(row)) or not any(
            spreads
        )

    def own(self) -> Iterator[tuple[Row, str]]:
        """Rows of what functions execute themselves, and the functions."""
        for row in self.case.table.rows.values():
            if (named := _PROFILE.fullmatch(row.metric)) and named[1] == "self":
                yield row, named[2]

    def profile(self, family: re.Pattern[str], *kinds: str) -> Profile:
        """What a family of functions has of the cycles: their own shares, or that with what they
        call, or that of the call chains that end in them, whichever of ``kinds`` (all) shows most:
        a row that did not change is not in the table."""
        found: dict[str, list[tuple[Row, list[str]]]] = {
            "self": [],
            "children": [],
            "calltrace": [],
        }
        for row in self.case.table.rows.values():
            if (named := _PROFILE.fullmatch(row.metric)) is not None:
                chain = named[2].split(".") if named[1] == "calltrace" else [named[2]]
                if family.fullmatch(chain[0]) and (not kinds or named[1] in kinds):
                    found[named[1]].append((row, chain))
        # A chain's share has that of what its function calls.
        callers = {chain[1] for _, chain in found["calltrace"] if len(chain) > 1}
        ended = [one for one in found["calltrace"] if one[1][0] not in callers]
        children = sorted(found["children"], key=lambda one: -self.sides(one[0])[1])[:1]
        every = [[row for row, _ in one] for one in (found["self"], children, ended)]
        most = max(every, key=lambda rows: math.fsum(self.sides(row)[1] for row in rows))
        ordered = sorted((row for row in most if self.cost(row) > 0), key=self.cost, reverse=True)
        return Profile(ordered[:_SHOWN], math.fsum(map(self.cost, most)))

    @property
    def of_the_job(self) -> Processors | None:
        """As the test's own row has them, or all that the machine keeps busy; None where neither is
        told."""
        for row in self.case.table.rows.values():
            if row.metric.endswith(_OF_THE_JOB):
                before, after = self.sides(row)
                return Processors(before / 100, after / 100, [row])
        busy = self._busy
        if busy is None or self.threads is None:
            every = self._executing_all
            return every if every and max(every[:2]) < 1 else None
        return Processors(busy.before * self.threads, busy.after * self.threads, busy.rows)

    @property
    def _executing_all(self) -> Processors | None:
        """Processors that all cycles of the machine keep busy at most, the job's and others'."""
        for kind in ("overall", "i"):
            for name, power in (("cpi", 1), ("ipc", -1)):
                each = [*self.rows("perf-stat.ps.instructions", "perf-stat.i.instructions")][:1]
                each += self.rows(f"perf-stat.{kind}.{name}")
                if len(each) > 1 and min(map(min, map(self.sides, each))) > 0:
                    rate, cost = map(self.sides, each)
                    before, after = (
                        one * cycles**power / _HERTZ for one, cycles in zip(rate, cost, strict=True)
                    )
                    return Processors(before, after, each)
        return None

    @property
    def _busy(self) -> Processors | None:
        """The part of the machine that is busy. A row that did not change is not in the table, so
        what is neither idle nor busy is known only where rows say it."""
        if len([*self.rows(*_EXECUTING[:2])]) == len(_EXECUTING[:2]):
            rows = [*self.rows(*_EXECUTING)]
            sums = [math.fsum(values) / 100 for values in zip(*map(self.sides, rows), strict=True)]
            return Processors(sums[0], sums[1], rows)
        for idle, disk in _IDLE:
            if rows := [*self.rows(idle)]:
                rows += self.rows(disk)
                sums = [math.fsum(values) for values in zip(*map(self.sides, rows), strict=True)]
                return Processors(1 - sums[0] / 100, 1 - sums[1] / 100, rows)
        return None

    @property
    def processors(self) -> Processors | None:
        """Those of the job, or the part of the machine that is busy; None where neither is told."""
        return self.of_the_job or self._busy

    @property
    def part(self) -> float | None:
        """The part of the machine that the job uses on the faster kernel, at most; None where the
        mail does not tell."""
        used, told = self.of_the_job, self._told_tasks
        if used is not None and self.threads:
            return used.before / self.threads
        if told and told[2]:
            return int(told[1]) / 100
        if told and self.threads:
            return int(told[1]) / self.threads
        every = self._executing_all
        return every.before / self.threads if every and self.threads else None

    @property
    def _told_tasks(self) -> re.Match[str] | None:
        told = self.case.table.parameters
        return _TASKS.fullmatch(told.get("nr_task") or told.get("nr_threads") or "")

    @property
    def tasks(self) -> float | None:
        """How many the test runs beside each other; None where the mail does not tell."""
        told = self._told_tasks
        if told and told[2]:
            return int(told[1]) / 100 * self.threads if self.threads else None
        return int(told[1]) if told else None

    @property
    def atomics(self) -> Profile:
        # What a call of such a function waits for is in its callers' and children's rows.
        return self.profile(_ATOMICS, "self")

    @property
    def ipis(self) -> Profile:
        return self.profile(_IPIS)

    @property
    def contended(self) -> list[Row]:
        """The rows of waiters and of atomics, what costs more first, where they are a large part of
        what an op costs more. One that fell is not added."""
        grown = [one for one in (self.profile(_WAITERS), self.atomics) if one.grew > 0]
        most, whole = math.fsum(one.grew for one in grown), 100 * (self.cycles - 1)
        used, parts = self.of_the_job, self.slowdown.parts
        # Who uses less than a processor contends with nobody: others do, for something else.
        alone = used is not None and max(used[:2]) < 1
        # Spinning executes instructions, and where none are told, what else grew is not known.
        least = _HALF if parts is None or parts.instructions > _HALF else _LARGE
        if most < _POINTS or whole <= 0 or most < least * whole or alone:
            return []
        return [row for one in sorted(grown, key=lambda one: -one.grew) for row in one.rows]

    @property
    def held(self) -> bool:
        """Whether what waits more waits mostly for mutexes and semaphores."""
        brief = max(0, self.profile(_SPINNERS).grew) + max(0, self.atomics.grew)
        return bool(self.contended) and self.profile(_SLEEPERS).grew > brief

    def _executing(self) -> Iterator[Row]:
        """What functions that neither wait nor idle cost."""
        for row, function in self.own():
            if not (_IDLING.fullmatch(function) or _WAITERS.fullmatch(function)):
                yield row

    @property
    def appeared(self) -> list[Row]:
        """Functions that the faster kernel hardly executes."""
        return [
            row
            for row in self._executing()
            if self.sides(row)[0] < _EXECUTED <= self.sides(row)[1] and self.sure(row)
        ]

    @property
    def vanished(self) -> list[Row]:
        """Functions that the slower kernel hardly executes."""
        return [
            row for row in self._executing() if self.sides(row)[1] < _EXECUTED <= self.sides(row)[0]
        ]

    @property
    def costlier(self) -> list[Row]:
        """Functions that both kernels execute and whose own cost grew, unless it is what a function
        had that vanished: it was inlined there."""
        own = [*self._executing()]
        gone = math.fsum(self.sides(row)[0] for row in own if not self.sides(row)[1])
        rows = [
            row
            for row in own
            if min(self.sides(row)) >= _EXECUTED
            and self.cost(row) >= MOVED_POINTS
            and self.sure(row)
        ]
        if math.fsum(map(self.cost, rows)) - gone < MOVED_POINTS:
            return []
        return sorted(rows, key=lambda row: -self.cost(row))

    @property
    def disk(self) -> Sequence[Row]:
        return [
            row
            for row in self.rows(*_IO)
            if self.grew(row) >= _IO_POINTS and self.times(row) >= _IO_ROSE and self.sure(row)
        ]

    @property
    def dear(self) -> Sequence[Row]:
        """The rows of cycles per instruction, where they are more than half of the change."""
        parts, cpi = self.slowdown.parts, self.slowdown.cpi
        if parts is None or parts.cost is None or parts.cost <= _HALF or cpi is None:
            return []
        return cpi.rows

    @property
    def of_ops(self) -> list[Row]:
        """The rows of instructions per op, and the workload's own."""
        slow = self.slowdown
        rows = [
            *(slow.instructions.rows if slow.instructions else []),
            *([slow.row] if slow.row else []),
        ]
        return list({row.metric: row for row in rows}.values())

    @property
    def switching(self) -> Sequence[Row]:
        """Where tasks switch often on busy processors: a few a second cost nothing, and interrupts
        are ticks of the clock first."""
        used = self.of_the_job
        busy = max(used.after, ONE) if used else self.threads
        return [
            row
            for name, least in _RATES.items()
            for row in self.rows(name)
            if busy and self.times(row) >= _ROSE and self.sides(row)[1] >= least * busy
        ]
