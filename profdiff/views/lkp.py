"""A report of the 0-day robot, ``profdiff.lkp/1``: what ``lkp --json`` writes. ``docs/lkp.md``
explains it.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

from profdiff import __version__
from profdiff.evidence.lkp import kinds
from profdiff.evidence.lkp.facts import Facts
from profdiff.evidence.lkp.report import Case, Report, Row, Word
from profdiff.evidence.lkp.slowdown import Parts, Ratio, Slowdown
from profdiff.views.lkp_experiment import Answer, answer
from profdiff.views.record import Record, schema_of

SCHEMA: Final = "profdiff.lkp/1"


class Value(Record, frozen=True):
    """A mean over runs; ``spread``: their standard deviation as a fraction of it, null where the
    mail prints none (2% or less)."""

    mean: float
    spread: float | None


class Metric(Record, frozen=True):
    """A row, by its columns; ``changes``: as printed, of all but the first, in percent, or in
    points of percentages (``in_points``)."""

    name: str
    values: list[Value]
    changes: list[float]
    in_points: bool


class Failed(Record, frozen=True):
    """Runs in which something happened, by column."""

    name: str
    failed: list[int]
    runs: list[int]


class Kernel(Record, frozen=True):
    """A column's kernel: a hash or a tag as the mail has it, "" for no subject."""

    revision: str
    subject: str


class Multiple(Record, frozen=True):
    """The reported kernel's value as a multiple of the base's; ``spread``: of single runs, by the
    printed deviations; ``metrics``: the rows that it is made of."""

    value: float
    spread: float
    metrics: list[str]


class Share(Record, frozen=True):
    """Parts of the change of time, by logarithms, which sum to 1. ``cost`` (cycles of each
    instruction) and ``rest`` (waiting, idle, frequency): null without cycles in the table; ``low``
    and ``high``: of ``instructions``, one deviation of single runs to either side."""

    instructions: float
    low: float
    high: float
    cost: float | None
    rest: float | None


class Judgement(Record, frozen=True):
    """A kind that rows speak for; ``metrics``: these rows, of the test with the number ``test``,
    which is another one where this one's table does not tell."""

    kind: kinds.Kind
    why: str
    test: int
    metrics: list[str]


class Test(Record, frozen=True):
    """``kernels``: of the columns, the base's first; ``reported``: the column that is compared with
    it; ``metric``: what the mail reports, null where it names none; ``word``: what it calls its
    change, "" where it says nothing of this one. ``share``: null where time or instructions are not
    known (``doubt`` says why) or time did not change; ``doubt``: why it is not certain, "" where it
    is. ``unprinted``: the change of time is so small that deviations that are not printed could be
    as large. ``machine_part``: of the machine's processors, that the job uses on the faster kernel,
    null where the mail does not tell. ``another_op``: time and instructions are of another op on
    each kernel. ``kinds``: the likeliest first; behind ``unknown``, candidates."""

    parameters: dict[str, str]
    kernels: list[Kernel]
    reported: int
    metric: str | None
    word: Word
    time: Multiple | None
    instructions: Multiple | None
    cycles_per_instruction: Multiple | None
    share: Share | None
    doubt: str
    unprinted: bool
    machine_part: float | None
    another_op: bool
    kinds: list[Judgement]
    answer: Answer
    metrics: list[Metric]
    failures: list[Failed]


class LkpDocument(Record, frozen=True):
    """``message_id``: without brackets; ``commit``: as long as the mail has it, "" where it reports
    none; ``tree``: where it is; ``remarks``: the mail's sentences that name a cause, quoted and not
    used; ``tests``: the reported one first."""

    schema: Literal["profdiff.lkp/1"]
    profdiff: str
    message_id: str
    subject: str
    commit: str
    commit_subject: str
    tree: str
    machine: str
    remarks: list[str]
    tests: list[Test]


def schema() -> dict[str, Any]:
    """The JSON Schema of all documents; ``profdiff/lkp.schema.json`` is a copy."""
    return schema_of(LkpDocument, SCHEMA)


def build(report: Report, message_id: str, subject: str, repository: str) -> LkpDocument:
    """``repository``: where the user's Linux lies."""
    facts = Facts.of(report)
    return LkpDocument(
        schema=SCHEMA,
        profdiff=__version__,
        message_id=message_id,
        subject=subject,
        commit=report.commit,
        commit_subject=report.subject,
        tree=report.tree,
        machine=report.machine,
        remarks=[*report.remarks],
        tests=[
            _test(report, one, judged, repository)
            for one, judged in zip(facts, kinds.judged(facts), strict=True)
        ],
    )


def _test(report: Report, facts: Facts, judged: Sequence[kinds.Judgement], repository: str) -> Test:
    case, slow = facts.case, facts.slowdown
    return Test(
        parameters={**case.table.parameters},
        kernels=[_kernel(case, column) for column in range(len(case.table.heads))],
        reported=case.column,
        metric=case.metric,
        word=_word(case, slow),
        time=_multiple(slow.time),
        instructions=_multiple(slow.instructions),
        cycles_per_instruction=_multiple(slow.cpi),
        share=_share(slow.parts),
        doubt=slow.doubt,
        unprinted=slow.within_unprinted,
        machine_part=facts.part,
        another_op=judged[0].another_op,
        kinds=[
            Judgement(
                kind=one.kind, why=one.why, test=one.case, metrics=[row.metric for row in one.rows]
            )
            for one in judged
        ],
        answer=answer(report, case, _asked(judged), repository),
        metrics=[_metric(row) for row in case.table.rows.values()],
        failures=[
            Failed(name=failure.name, failed=[*failure.failed], runs=[*failure.runs])
            for failure in case.table.failures
        ],
    )


def _asked(judged: Sequence[kinds.Judgement]) -> kinds.Kind:
    """The kind whose recording decides: the likeliest, or the first candidate for it."""
    told = (one.kind for one in judged if one.kind not in kinds.UNTOLD)
    return next(told, judged[0].kind)


def _word(case: Case, slow: Slowdown) -> Word:
    """The mail's, unless this table has other kernels: a reply's are of a fix."""
    if slow.time is None:
        return case.word
    told: Word = "regression" if slow.time.value > 1 else "improvement"
    return told if told == case.word else ""


def _kernel(case: Case, column: int) -> Kernel:
    told = case.table.revisions[column : column + 1]
    subject = told[0].subject if told else ""
    return Kernel(revision=case.table.heads[column], subject=subject)


def _multiple(ratio: Ratio | None) -> Multiple | None:
    if ratio is None:
        return None
    metrics = [row.metric for row in ratio.rows]
    return Multiple(value=ratio.value, spread=ratio.spread, metrics=metrics)


def _share(parts: Parts | None) -> Share | None:
    if parts is None:
        return None
    return Share(
        instructions=parts.instructions,
        low=parts.low,
        high=parts.high,
        cost=parts.cost,
        rest=parts.rest,
    )


def _metric(row: Row) -> Metric:
    values = [Value(mean=mean.value, spread=mean.spread) for mean in row.means]
    return Metric(name=row.metric, values=values, changes=[*row.changes], in_points=row.in_points)
