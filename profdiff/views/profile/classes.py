"""What kind of instructions functions executed, by class."""

from typing import NamedTuple

import numpy as np

from profdiff.profile.code.classes import InstructionClasses
from profdiff.profile.comparison import Comparison
from profdiff.views.record import Counts, Record, Side, by_label, counts

# Few instructions that cost more than others: these changes are told in words.
TOLD = (
    "locked",
    "serialising",
    "privileged",
    "divisions",
    "repeated",
    "indirect-calls",
    "indirect-jumps",
)
_NAMED = 2
# A smaller part of the base's is not told.
_PART = 0.01


class Classes(Record, frozen=True):
    """By class, of those that executed at all: ``total``, the sum of ``functions``, columns over
    the metric's functions by label, and ``rest``, what has no function. ``unseen``: executed
    instructions whose bytes were not recorded."""

    total: dict[str, Counts]
    functions: dict[str, dict[str, list[int]]]
    rest: dict[str, Counts]
    unseen: Counts


class Change(NamedTuple):
    """How many more instructions of a class a kernel executes than the base. ``functions``: those
    that changed most, by their numbers, with their changes; ``others``: how many more changed."""

    name: str
    delta: int
    functions: list[tuple[int, int]]
    others: int


def classes(comparison: Comparison, found: InstructionClasses | None) -> Classes | None:
    """The classes of all functions; None where the counts are not exact."""
    if found is None:
        return None
    labels, number = comparison.labels, len(comparison.functions)
    executed = [c for c, name in enumerate(found.names) if found.counts[:, c].any()]
    return Classes(
        total={found.names[c]: counts(labels, found.counts[:, c].sum(axis=0)) for c in executed},
        functions={
            found.names[c]: by_label(labels, found.counts[:number, c].T.tolist()) for c in executed
        },
        rest={
            found.names[c]: counts(labels, found.counts[number:, c].sum(axis=0)) for c in executed
        },
        unseen=counts(labels, found.unseen),
    )


def changes(
    comparison: Comparison,
    found: InstructionClasses,
    kernel: int,
    side: Side | None = None,
    least: float = 1,
) -> list[Change]:
    """The changes of the classes that are told in words, if all functions together execute at least
    1% more or less on a kernel than on the base, and at least ``least`` instructions."""
    told, rows = [], found.rows(side)
    for name in TOLD:
        column = found.counts[rows, found.names.index(name)]
        deltas = column[:, kernel] - column[:, 0]
        delta, whole = int(deltas.sum()), int(column[:, 0].sum())
        if abs(delta) < max(least, abs(whole) * _PART):
            continue
        order = np.argsort(-np.abs(deltas), kind="stable")[: np.count_nonzero(deltas)]
        changed = [(int(rows[at]), int(deltas[at])) for at in order]
        # What has no function has no name.
        named = [one for one in changed if one[0] < len(comparison.functions)][:_NAMED]
        told.append(Change(name, delta, named, len(changed) - len(named)))
    return told
