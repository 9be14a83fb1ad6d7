"""What conditions came to: in words, and as rows."""

import math
from collections.abc import Iterable, Iterator

from profdiff.base import units
from profdiff.evidence.conditions.condition import (
    TOO_FEW,
    WITHOUT_BOUND,
    Checked,
    Judgement,
    MeasuredChange,
    Outcome,
)
from profdiff.views.record import Record, finite

# As the reader of a check sees an outcome: a condition says when the check fails.
VERDICTS = {"holds": "fails", "does not hold": "passes", "inconclusive": "inconclusive"}
ACKNOWLEDGED = "acknowledged"


def verdict(judgement: Judgement) -> str:
    """In a word, what a check makes of it."""
    return ACKNOWLEDGED if judgement.acknowledged else VERDICTS[judgement.outcome]


def sentence(judgement: Judgement) -> str:
    """One printable line: kernel, change, what was counted, what a reader must know, and why a
    change that fails is acknowledged."""
    why = f"; {ACKNOWLEDGED}: {judgement.acknowledged}" if judgement.acknowledged else ""
    return units.printable(f"{_measured(judgement)}{why}")


def _measured(judgement: Judgement) -> str:
    change = judgement.change
    if not change.decided and change.undecided != TOO_FEW:
        return f"{change.where}: {notes(change)}"
    if judgement.condition.operator in WITHOUT_BOUND:
        line = f"{change.where}: {change.note}"
        return f"{line}; cannot be told" if change.differs is None else line
    (base, other), per = values(judgement)
    counted = f"{base} to {other}{per}"
    line = f"{change.where}: {relative(change)}, {counted}"
    return "; ".join(filter(None, [line, notes(change)]))


def told(found: Checked, *, suite: bool = False) -> str:
    """What conditions came to, two lines each; of a suite those that do not pass, and how many
    do. Then the remarks."""
    judgements = found.judgements
    shown = [one for one in judgements if not suite or one.outcome != "does not hold"]
    lines = [f"{verdict(one)}: {one.condition}\n  {sentence(one)}\n" for one in shown]
    if suite:
        lines.append(f"{len(judgements) - len(shown):,} of {len(judgements):,} pass\n")
    return "".join([*lines, *(f"{remark}\n" for remark in found.remarks)])


def relative(change: MeasuredChange) -> str:
    """The change in percent, with its interval where it is not exact; ``new`` where the base has
    nothing, and in a word where there is no bound."""
    if change.differs is not None:
        return "changed" if change.differs else "unchanged"
    if change.base == 0:
        return "new" if change.other else "none"
    percent = units.percent((change.other - change.base) / change.base, "+.2f")
    if change.low == change.high or math.isnan(change.low) or math.isnan(change.high):
        return percent
    return f"{percent} ({100 * change.low:+.2f} to {100 * change.high:+.2f})"


def notes(change: MeasuredChange) -> str:
    """What a reader must know of the change, or nothing."""
    why = "" if change.decided else change.undecided
    return "; ".join(filter(None, [why, change.note]))


def number(value: float) -> str:
    """A count, whole or with decimals; ops times a count per op may be off in its last bits."""
    whole = math.isfinite(value) and math.isclose(value, round(value), rel_tol=1e-12)
    return units.count(round(value) if whole else value, per_op=not whole)


def values(judgement: Judgement) -> tuple[tuple[str, str], str]:
    """What base and other have, and what stands behind it: per op, as reports, where ops are known
    and the bound is not of the whole."""
    change = judgement.change
    whole = (change.base, change.other)
    if change.ops:
        base, other = (units.count(one / change.ops, per_op=True) for one in whole)
        return (base, other), " per op"
    base, other = map(number, whole)
    return (base, other), " per op" if judgement.condition.unit == "/op" else ""


class JudgementRow(Record, frozen=True):
    """What a condition came to on a kernel: a check fails where it *holds*, which ``verdict``
    says, unless the change is ``acknowledged``, for this reason. ``metric`` and ``what``: what the
    condition is about, ``instructions`` and ``total:do_mprotect_pkey``. ``part``: ``arm64``, of a
    suite the cell, and ``at`` a point of the sweep, both "" where there is one only. ``base`` and
    ``other``: what the kernels have, per op where ``per_op``; None where nothing was measured, and
    of a condition without a bound. ``unit``: of what is measured, "" where nobody said it. ``low``
    and ``high``: the interval of the relative change, None where there is none. ``told``: the
    sentence that is printed."""

    condition: str
    metric: str
    what: str
    outcome: Outcome
    verdict: str
    kernel: str
    part: str
    at: str
    base: float | None
    other: float | None
    unit: str
    per_op: bool
    low: float | None
    high: float | None
    told: str
    acknowledged: str


def judgement_rows(judgements: Iterable[Judgement]) -> Iterator[JudgementRow]:
    """As they were judged."""
    for judgement in judgements:
        condition, change = judgement.condition, judgement.change
        bounded, ops = condition.operator not in WITHOUT_BOUND, change.ops or 1
        yield JudgementRow(
            condition=str(condition),
            metric=condition.metric,
            what=f"total:{condition.what}" if condition.inclusive else condition.what,
            outcome=judgement.outcome,
            verdict=verdict(judgement),
            kernel=change.kernel,
            part=change.part,
            at=change.at,
            base=finite(change.base / ops) if bounded else None,
            other=finite(change.other / ops) if bounded else None,
            unit=change.unit,
            per_op=bool(change.ops) or condition.unit == "/op",
            low=finite(change.low),
            high=finite(change.high),
            told=sentence(judgement),
            acknowledged=judgement.acknowledged,
        )
