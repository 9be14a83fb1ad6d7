"""What changes hands, in sentences, and what the words of the tables mean."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.evidence.sharing import SharingRow
from profdiff.topics.sharing.measure import Lines, Measure, count, has_any

# With more kernels, a sentence that names each is one that nobody reads.
_MAX_KERNELS = 3
# A smaller difference per op is not worth a sentence.
_MIN_DELTA = 0.05
# Fewer reads per op are not worth one either.
_MIN_READS = 0.9
# From so much on, one lock bounds how many vCPUs can execute an operation at a time.
_BOUNDS = 0.1
_TURNS = "f the vCPUs take turns after each operation"
_NOT_TIME = "This counts transfers, not time."
NOTHING = "No line of the cache changes hands between vCPUs in this window."

COVERS = (
    "transfers: how often a line changes hands if the vCPUs take turns after each operation. "
    "misses: fetches and upgrades of a coherence protocol as they ran. kind: true if a vCPU "
    "accesses bytes that another one writes, else false. function: which misses most; what is "
    "inlined from a header belongs to where it is inlined. other turns: of one access each, and at "
    "random, for vCPUs that run at the same time."
)
UNSURE = (
    "?: the difference is not certain: a line is recycled, runs differ, or lines without a name "
    "may explain it; --json has the causes."
)
ABOUT = "~: lines without a name can make the number larger or smaller, but do not change its sign."
SCHEDULE = (
    "schedule: more than a quarter of the transfers are on lines that change hands less than once "
    "in four operations. Objects there are recycled, and which vCPU gets them depends on the "
    "schedule."
)
RUNS = "differ: the runs of a kernel differ; the one with the median of transfers stands for all."
CALLS = (
    "Nothing in the workload marks operations (PROFDIFF_OP), so each system call begins one, also "
    "where a program starts and ends."
)
HELD = (
    "held: from the instruction that takes the lock to the one that releases it, by one vCPU, "
    "without interrupts; alone: by a writer, with others: by a reader."
)


class _Told(NamedTuple):
    """How much differs, by transfers before misses, and the words for it."""

    size: tuple[bool, float]
    words: str


def unnamed(lines: Lines) -> list[str]:
    """On which kernels data has no names, and why."""
    return [
        units.printable(
            f"{one.kernel.label}: data has no names: {one.missing}; record it again, with a kernel "
            "that has debug information."
        )
        for one in lines.table.kernels
        if one.missing
    ]


def sentence(lines: Lines) -> str:
    """How many lines change hands on each kernel, or on the base and the last of many; and the
    largest difference that is certain, on the last one."""
    if not any(map(has_any, lines.total.sums)):
        return NOTHING
    last = len(lines.labels) - 1
    shown = range(last + 1) if last < _MAX_KERNELS else (0, last)
    told: list[str] = []
    for kernel in shown:
        number = lines.count(kernel, lines.total.sums[kernel].transfers)
        if not told and lines.per_op:
            number += " lines change hands per operation"
        elif not told:
            number = f"lines change hands {number} times"
        doubt = " (depends on the schedule)" if lines.total.depends[kernel] else ""
        told.append(f"{number} on {lines.labels[kernel]}{doubt}")
    start = f"At {lines.at}, i" if lines.at else "I"
    whole = f"{start}{_TURNS}, {', '.join(told)}"
    # Of several, the last one where others do not differ more.
    every = [one for kernel in range(last, 0, -1) if (one := _largest(lines, kernel))]
    largest = f"; {max(every, key=lambda one: one.size).words}" if every else ""
    return units.printable(f"{whole}{largest}. {_most_read(lines)}{_NOT_TIME}")


def bound(lines: Lines) -> str:
    """How far one lock lets operations run at the same time; "" where none is held for long."""
    alone: defaultdict[str, list[float]] = defaultdict(lambda: [0.0] * len(lines.labels))
    for lock in lines.locks:
        if lock.lock.mode == "exclusive":
            own = alone[lines.title(lock.lock.name, lock.lock.name.among)]
            for kernel in range(len(lines.labels)):
                own[kernel] += lines.share(lock, kernel)
    title = max(alone, key=lambda one: (alone[one][-1], one), default="")
    if not title or alone[title][-1] < _BOUNDS:
        return ""
    shares, last = alone[title], lines.labels[-1]
    # On another kernel, it may lie on a line that does not change hands, or have no name.
    there = [(label, share) for label, share in zip(lines.labels, shares, strict=True) if share]
    told = [
        f"for {units.percent(share, '.0f')}{of} on {label}"
        for (label, share), of in zip(
            there, [" of the kernel's instructions", *[""] * len(there)], strict=False
        )
    ]
    return units.printable(
        f"`{title}` is held alone {', '.join(told)}: at most {1 / shares[-1]:.1f} vCPUs can be in "
        f"the kernel for this at a time on {last}, however cheap waiting is."
    )


def _most_read(lines: Lines) -> str:
    """Which reads come or go most that wait for lines without need, where that does not depend on
    the schedule; "" where there are none."""
    most = [
        (found[0], kernel)
        for kernel in range(len(lines.labels) - 1, 0, -1)
        if (found := lines.reads_changed(kernel)) and abs(found[0].more) > _MIN_READS
    ]
    if not most:
        return ""
    (more, row, read), kernel = max(most, key=lambda one: abs(one[0].more))
    who, whom = (kernel, 0) if more > 0 else (0, kernel)
    told = [_counted(lines, one, read.counts[one]) for one in (who, whom)]
    rest = "does not" if not read.counts[whom] else f"does so {told[1]}"
    return (
        f"On the line of `{lines.data(row)}`, {lines.labels[who]} reads "
        f"`{lines.title(read.name)}` {told[0]}, {lines.labels[whom]} {rest}. "
    )


def _largest(lines: Lines, kernel: int) -> _Told | None:
    """What differs most for certain on one kernel; first by transfers, then by misses."""
    verbs: dict[Measure, str] = {"transfers": "transfers", "misses": "fetches or upgrades"}
    for measure, verb in verbs.items():
        sure = [row for row in lines.rows if _is_known(row, kernel, measure)]
        differing = [row for row in sure if abs(_delta(row, kernel, measure)) >= _MIN_DELTA]
        # A field that only one kernel has, and what the other has instead, are one difference.
        pairs = {id(row): _instead(row, differing, kernel) for row in differing}
        left = [row for row in differing if _differs(row, pairs[id(row)], measure, kernel)]
        if left:
            row = max(left, key=lambda one: abs(_delta(one, kernel, measure)))
            size = measure == "transfers", round(abs(_delta(row, kernel, measure)), 2)
            return _Told(size, _words(lines, row, pairs[id(row)], kernel, measure, verb))
    return None


def _words(
    lines: Lines,
    row: SharingRow,
    other: SharingRow | None,
    kernel: int,
    measure: Measure,
    verb: str,
) -> str:
    def times(row: SharingRow, kernel: int) -> str:
        return _counted(lines, kernel, count(row.sums[kernel], measure))

    base, label = lines.labels[0], lines.labels[kernel]
    mine, theirs = has_any(row.sums[kernel]), has_any(row.sums[0])
    if other is not None:
        new, old = (row, other) if mine else (other, row)
        return (
            f"{label} {verb} {_what(lines, new)} {times(new, kernel)} where "
            f"{base} {verb} {_what(lines, old)} {times(old, 0)}"
        )
    what = _what(lines, row)
    if not mine or not theirs:
        who, lacks, at = (label, base, kernel) if mine else (base, label, 0)
        return f"{who} {verb} {what} {times(row, at)}, {lacks} does not"
    return f"{label} {verb} {what} {times(row, kernel)} where {base} does so {times(row, 0)}"


def _is_known(row: SharingRow, kernel: int, measure: Measure) -> bool:
    """Whether a difference is known as a number: of some, the sign alone is certain."""
    change = row.changes[kernel - 1]
    one = getattr(change, measure)
    return bool(change.sure and one.high - one.low < _MIN_DELTA)


def _instead(row: SharingRow, rows: Sequence[SharingRow], kernel: int) -> SharingRow | None:
    """What the other one of two kernels has of the same type, where only one has a row."""
    mine, theirs = has_any(row.sums[kernel]), has_any(row.sums[0])
    if mine == theirs or row.name.kind != "field":
        return None
    found = [
        other
        for other in rows
        if other.name.kind == "field"
        and other.name.type == row.name.type
        and (has_any(other.sums[kernel]), has_any(other.sums[0])) == (theirs, mine)
    ]
    return found[0] if len(found) == 1 else None


def _differs(row: SharingRow, other: SharingRow | None, measure: Measure, kernel: int) -> bool:
    """Whether a row and what stands for it on the other kernel differ."""
    if other is None:
        return True
    first, second = (
        sum(count(one.sums[at], measure) for at in (0, kernel)) for one in (row, other)
    )
    return first != second


def _what(lines: Lines, row: SharingRow) -> str:
    """The data of a row, in a sentence."""
    if row.name.kind == "unnamed":
        return f"data without a name in `{lines.function(row.name.function) or '?'}`"
    title = lines.data(row)
    return f"`{title}`" if row.name.type or row.name.symbol else title


def _delta(row: SharingRow, kernel: int, measure: Measure) -> float:
    change = row.changes[kernel - 1]
    return float(getattr(change, measure).delta) if change.sure else 0.0


def _counted(lines: Lines, kernel: int, value: int) -> str:
    """``once``, ``twice``, ``1.50 times``."""
    told = lines.count(kernel, value)
    return {"1.00": "once", "2.00": "twice", "1": "once", "2": "twice"}.get(told, f"{told} times")
