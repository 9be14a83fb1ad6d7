"""What conditions came to, as rows."""

from collections.abc import Iterable, Iterator

from profdiff.evidence.conditions.condition import Judgement, Outcome
from profdiff.views.judgements import VERDICTS, sentence
from profdiff.views.record import Record, finite


class JudgementRow(Record, frozen=True):
    """What a condition came to on a kernel: a check fails where it *holds*, which
    ``verdict`` says. ``part``:
    ``on arm64``, and ``at`` a point of the sweep, both "" where there is one only. ``base`` and
    ``other``: per op for a bound per op, else whole counts. ``low`` and ``high``: the interval of
    the relative change, None where there is none. ``told``: the sentence that is printed."""

    condition: str
    outcome: Outcome
    verdict: str
    kernel: str
    part: str
    at: str
    base: float | None
    other: float | None
    low: float | None
    high: float | None
    told: str


def judgement_rows(judgements: Iterable[Judgement]) -> Iterator[JudgementRow]:
    """As they were judged."""
    for one in judgements:
        change = one.change
        yield JudgementRow(
            condition=str(one.condition),
            outcome=one.outcome,
            verdict=VERDICTS[one.outcome],
            kernel=change.kernel,
            part=change.part,
            at=change.at,
            base=finite(change.base),
            other=finite(change.other),
            low=finite(change.low),
            high=finite(change.high),
            told=sentence(one),
        )
