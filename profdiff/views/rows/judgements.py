"""What conditions came to, as rows."""

from collections.abc import Iterable, Iterator

from profdiff.evidence.conditions.condition import WITHOUT_BOUND, Judgement, Outcome
from profdiff.views.judgements import VERDICTS, sentence
from profdiff.views.record import Record, finite


class JudgementRow(Record, frozen=True):
    """What a condition came to on a kernel: a check fails where it *holds*, which ``verdict``
    says. ``metric`` and ``what``: what the condition is about, ``instructions`` and
    ``total:do_mprotect_pkey``. ``part``: ``arm64``, of a suite the cell, and ``at`` a point of the
    sweep, both "" where there is one only. ``base`` and ``other``: what the kernels have, per op
    where ``per_op``; None where nothing was measured, and of a condition without a bound. ``unit``:
    of what is measured, "" where nobody said it. ``low`` and ``high``: the interval of the relative
    change, None where there is none. ``told``: the sentence that is printed."""

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


def judgement_rows(judgements: Iterable[Judgement]) -> Iterator[JudgementRow]:
    """As they were judged."""
    for one in judgements:
        condition, change = one.condition, one.change
        bounded, ops = condition.operator not in WITHOUT_BOUND, change.ops or 1
        yield JudgementRow(
            condition=str(condition),
            metric=condition.metric,
            what=f"total:{condition.what}" if condition.inclusive else condition.what,
            outcome=one.outcome,
            verdict=VERDICTS[one.outcome],
            kernel=change.kernel,
            part=change.part,
            at=change.at,
            base=finite(change.base / ops) if bounded else None,
            other=finite(change.other / ops) if bounded else None,
            unit=change.unit,
            per_op=bool(change.ops) or condition.unit == "/op",
            low=finite(change.low),
            high=finite(change.high),
            told=sentence(one),
        )
