"""What conditions came to, as rows."""

from collections.abc import Iterable, Iterator

from profdiff.evidence.conditions.condition import Judgement, Outcome
from profdiff.views.record import Record, finite


class JudgementRow(Record, frozen=True):
    """What a condition came to on a kernel: a check fails where it *holds*. ``part``: ``on arm64``,
    and ``at`` a point of the sweep, both "" where there is one only. ``base`` and ``other``: per op
    for a bound per op, else whole counts. ``low`` and ``high``: the interval of the relative
    change, None where there is none. ``note``: what a reader must know, or why it is
    *inconclusive*."""

    condition: str
    outcome: Outcome
    kernel: str
    part: str
    at: str
    base: float | None
    other: float | None
    low: float | None
    high: float | None
    note: str


def judgement_rows(judgements: Iterable[Judgement]) -> Iterator[JudgementRow]:
    """As they were judged."""
    for one in judgements:
        change = one.change
        notes = ["" if change.decided else change.undecided, change.note]
        yield JudgementRow(
            condition=str(one.condition),
            outcome=one.outcome,
            kernel=change.kernel,
            part=change.part,
            at=change.at,
            base=finite(change.base),
            other=finite(change.other),
            low=finite(change.low),
            high=finite(change.high),
            note="; ".join(filter(None, notes)),
        )
