"""What changes hands, in sentences."""

from profdiff.base import units
from profdiff.reports.sharing.bystanders import changed
from profdiff.reports.sharing.numbers import Numbers
from profdiff.reports.sharing.rows import has_any, instead
from profdiff.views.sharing.records import Row, SharingDocument, Sums

# With more kernels, a sentence that names each is one that nobody reads.
_FEW = 3
# A smaller difference per op is not worth a sentence.
_LEAST = 0.05
# Fewer reads per op are not worth one either.
_LEAST_READS = 0.9
_TURNS = "f the vCPUs take turns after each operation"
_NOT_TIME = "This counts transfers, not time."
NOTHING = "No line of the cache changes hands between vCPUs in this window."


def sentence(document: SharingDocument, numbers: Numbers) -> str:
    """How many lines change hands on each kernel, or on the base and the last of many; and the
    largest difference that is certain, on the last one."""
    if not any(one.transfers or one.misses for one in document.total.kernels.values()):
        return NOTHING
    labels = document.labels
    shown = labels if len(labels) <= _FEW else [labels[0], labels[-1]]
    told: list[str] = []
    for label in shown:
        sums = document.total.kernels[label]
        number = numbers.count(label, sums.transfers)
        if not told and numbers.per_op:
            number += " lines change hands per operation"
        elif not told:
            number = f"lines change hands {number} times"
        doubt = "" if sums.verdict == "exact" else " (depends on the schedule)"
        told.append(f"{number} on {label}{doubt}")
    start = f"At {document.at}, i" if document.at else "I"
    whole = f"{start}{_TURNS}, {', '.join(told)}"
    # Of several, the last one where others do not differ more.
    every = [_largest(document, label, numbers) for label in reversed(labels[1:])]
    found = [one for one in every if one is not None]
    largest = max(found, key=lambda one: one[0])[1] if found else ""
    beside = _beside(document, numbers)
    return units.printable(f"{whole}{'; ' if largest else ''}{largest}. {beside}{_NOT_TIME}")


def _beside(document: SharingDocument, numbers: Numbers) -> str:
    """Which reads come or go most that wait for lines without need, where that does not depend on
    the schedule; "" where there are none."""
    base, *others = document.labels
    most = [
        (found[0], label)
        for label in reversed(others)
        if (found := changed(document, label, numbers)) and abs(found[0].more) > _LEAST_READS
    ]
    if not most:
        return ""
    (more, row, read), label = max(most, key=lambda one: abs(one[0].more))
    who, whom = (label, base) if more > 0 else (base, label)
    told = [_counted(numbers, one, read.reads[one]) for one in (who, whom)]
    rest = "does not" if not read.reads[whom] else f"does so {told[1]}"
    return (
        f"On the line of `{row.data.title}`, {who} reads `{read.data.title}` {told[0]}, "
        f"{whom} {rest}. "
    )


def _largest(
    document: SharingDocument, label: str, numbers: Numbers
) -> tuple[tuple[bool, float], str] | None:
    """What differs most for certain on one kernel; first by transfers, then by misses. How much
    that is, and what it is."""
    base = document.labels[0]
    for measure, verb in (("transfers", "transfers"), ("misses", "fetches or upgrades")):
        sure = [row for row in document.rows if _is_told(row, label, measure)]
        differing = [row for row in sure if abs(_delta(row, label, measure)) >= _LEAST]
        # A field that only one kernel has, and what the other has instead, are one difference.
        pairs = {id(row): instead(row, differing, base, label) for row in differing}
        left = [row for row in differing if _differs(row, pairs[id(row)], measure, (base, label))]
        if not left:
            continue
        row = max(left, key=lambda one: abs(_delta(one, label, measure)))
        size = measure == "transfers", round(abs(_delta(row, label, measure)), 2)
        other = pairs[id(row)]
        mine, theirs = (row.kernels[one] for one in (label, base))
        if other is not None:
            if not has_any(mine):
                row, other = other, row
            now, then = row.kernels[label], other.kernels[base]
            return size, (
                f"{label} {verb} {_what(row)} {_times(numbers, label, now, measure)} where "
                f"{base} {verb} {_what(other)} {_times(numbers, base, then, measure)}"
            )
        if not has_any(theirs) or not has_any(mine):
            who, sums, lacks = (label, mine, base) if has_any(mine) else (base, theirs, label)
            times = _times(numbers, who, sums, measure)
            return size, f"{who} {verb} {_what(row)} {times}, {lacks} does not"
        return size, (
            f"{label} {verb} {_what(row)} {_times(numbers, label, mine, measure)} where "
            f"{base} does so {_times(numbers, base, theirs, measure)}"
        )
    return None


def _is_told(row: Row, label: str, measure: str) -> bool:
    """Whether a difference is known as a number: of some, the sign alone is certain."""
    change = row.changes[label]
    one = change.transfers if measure == "transfers" else change.misses
    return change.verdict == "exact" and one.high - one.low < _LEAST


def _differs(row: Row, other: Row | None, measure: str, labels: tuple[str, str]) -> bool:
    """Whether a row and what stands for it on the other kernel differ."""
    if other is None:
        return True
    first, second = (
        sum(getattr(one.kernels[label], measure) for label in labels) for one in (row, other)
    )
    return bool(first != second)


def _what(row: Row) -> str:
    """The data of a row, in a sentence."""
    if row.data.kind == "unnamed":
        return f"data without a name in `{row.data.function or '?'}`"
    return f"`{row.data.title}`" if row.data.type or row.data.symbol else row.data.title


def _delta(row: Row, label: str, measure: str) -> float:
    found: float | None = getattr(row.changes[label], measure).delta
    return found or 0.0


def _times(numbers: Numbers, label: str, sums: Sums, measure: str) -> str:
    return _counted(numbers, label, getattr(sums, measure))


def _counted(numbers: Numbers, label: str, count: int) -> str:
    """``once``, ``twice``, ``1.50 times``."""
    told = numbers.count(label, count)
    return {"1.00": "once", "2.00": "twice", "1": "once", "2": "twice"}.get(told, f"{told} times")
