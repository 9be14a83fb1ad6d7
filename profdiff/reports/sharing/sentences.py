"""What changes hands, in sentences."""

from profdiff.base import units
from profdiff.reports.sharing.numbers import Numbers
from profdiff.reports.sharing.rows import has_any, instead
from profdiff.views.sharing.records import Row, SharingDocument, Sums

# With more kernels, a sentence that names each is one that nobody reads.
_FEW = 3
# A smaller difference per op is not worth a sentence.
_LEAST = 0.05
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
    largest = _largest(document, labels[-1], numbers) if len(labels) > 1 else ""
    return units.printable(f"{whole}{'; ' if largest else ''}{largest}. {_NOT_TIME}")


def _largest(document: SharingDocument, label: str, numbers: Numbers) -> str:
    """What differs most for certain on one kernel; first by transfers, then by misses."""
    base = document.labels[0]
    for measure, verb in (("transfers", "transfers"), ("misses", "fetches or upgrades")):
        sure = [row for row in document.rows if row.changes[label].verdict == "exact"]
        changed = [row for row in sure if abs(_delta(row, label, measure)) >= _LEAST]
        # A field that only one kernel has, and what the other has instead, are one difference.
        pairs = {id(row): instead(row, changed, base, label) for row in changed}
        left = [row for row in changed if pairs[id(row)] is None or _differs(row, pairs, measure)]
        if not left:
            continue
        row = max(left, key=lambda one: abs(_delta(one, label, measure)))
        other = pairs[id(row)]
        mine, theirs = (row.kernels[one] for one in (label, base))
        if other is not None:
            if not has_any(mine):
                row, other = other, row
            now, then = row.kernels[label], other.kernels[base]
            return (
                f"{label} {verb} {_what(row)} {_times(numbers, label, now, measure)} where "
                f"{base} {verb} {_what(other)} {_times(numbers, base, then, measure)}"
            )
        if not has_any(theirs) or not has_any(mine):
            who, sums, lacks = (label, mine, base) if has_any(mine) else (base, theirs, label)
            times = _times(numbers, who, sums, measure)
            return f"{who} {verb} {_what(row)} {times}, {lacks} does not"
        return (
            f"{label} {verb} {_what(row)} {_times(numbers, label, mine, measure)} where "
            f"{base} does so {_times(numbers, base, theirs, measure)}"
        )
    return ""


def _differs(row: Row, pairs: "dict[int, Row | None]", measure: str) -> bool:
    """Whether a row and what stands for it on the other kernel differ."""
    other = pairs[id(row)]
    if other is None:
        return True
    deltas = (sum(getattr(one, measure) for one in each.kernels.values()) for each in (row, other))
    first, second = deltas
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
    """``once``, ``twice``, ``1.50 times``."""
    told = numbers.count(label, getattr(sums, measure))
    return {"1.00": "once", "2.00": "twice", "1": "once", "2": "twice"}.get(told, f"{told} times")
