"""What rows of shared lines are called and which belong together, in every form."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from profdiff.base import units
from profdiff.views.sharing.records import Row, Sums

LEAST = 0.01
"""Rows with less than so many transfers and misses per op are not shown."""

# So many fields of a row are named.
_FIELDS = 2

Verdict = Literal["exact", "schedule", "differ", "unsure"]


def verdict(row: Row) -> Verdict:
    """That of all kernels together."""
    causes = {cause for one in row.changes.values() for cause in one.causes}
    if any(one.verdict != "exact" for one in row.kernels.values()):
        recycled = any(one.recycled * 4 > one.transfers for one in row.kernels.values())
        return "schedule" if recycled or "schedule" in causes else "differ"
    unsure = any(one.verdict == "unsure" for one in row.changes.values())
    return "unsure" if unsure else "exact"


def title(row: Row) -> str:
    """What makes the lines of a row change hands."""
    owner = f"{row.data.type or row.data.symbol}."
    others = [one.removeprefix(owner) for one in row.fields[1:]]
    return units.few([row.data.title, *others], _FIELDS, last=", ")


def kind(row: Row, labels: Iterable[str] | None = None) -> str:
    """Whether sharing is true or false on each kernel, or on some, that have the row."""
    some = row.kernels.values() if labels is None else [row.kernels[one] for one in labels]
    told = [_of_one(one) for one in some if one.transfers]
    return " to ".join(dict.fromkeys(one for one in told if one))


def _of_one(sums: Sums) -> str:
    if sums.untold == sums.transfers:
        return ""
    if not sums.false:
        return "true"
    if sums.false + sums.untold == sums.transfers:
        return "false"
    return f"{units.percent(sums.false / sums.transfers, '.0f')} false"


def is_small(row: Row, ops: Mapping[str, int]) -> bool:
    """Whether a row has less than one transfer or miss in a hundred operations everywhere; ``ops``:
    by label."""
    return all(
        max(row.kernels[label].transfers, row.kernels[label].misses) < LEAST * each
        for label, each in ops.items()
    )


def has_any(sums: Sums) -> bool:
    """Whether its lines change hands on a kernel."""
    return bool(sums.transfers or sums.misses)


def instead(row: Row, rows: Sequence[Row], base: str, label: str) -> Row | None:
    """What the other one of two kernels has of the same type, where only one has a row."""
    mine, theirs = has_any(row.kernels[label]), has_any(row.kernels[base])
    if mine == theirs or row.data.kind != "field":
        return None
    found = [
        other
        for other in rows
        if other.data.kind == "field"
        and other.data.type == row.data.type
        and (has_any(other.kernels[label]), has_any(other.kernels[base])) == (theirs, mine)
    ]
    return found[0] if len(found) == 1 else None
