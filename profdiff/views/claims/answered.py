"""The answers of a report with what may be said of them: the verdict, and of boots that differ the
estimate, so that no sentence has another number than the tables; and what is said beside them."""

import math

from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.metric import INSTRUCTIONS, MODELLED, Metric
from profdiff.evidence import iterations
from profdiff.evidence.cell import Cell
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Result
from profdiff.evidence.same_code import same_instructions
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.profile.comparison import Comparison
from profdiff.topics.events.shapes import sentence
from profdiff.views.claims import answers
from profdiff.views.claims.answers import Answer
from profdiff.views.claims.claim import headlines
from profdiff.views.record import Side
from profdiff.views.results import result, time_split


def _event_sentences(findings: Findings) -> dict[tuple[Metric, str], list[str]]:
    """By metric and the label of a kernel: one sentence if an event did."""
    changed = findings.changed_events
    return {(INSTRUCTIONS, label): [sentence(findings, label)] for label in changed}


def same_instructions_sentences(findings: Findings) -> list[str]:
    """One for each such kernel, at the setting."""
    base = findings.results.labels[0]
    return [
        f"{one.label} executes the same instructions as {base}, but "
        f"{units.printable(one.time.metric.name)} changes by {result.delta(one.change)}: look at "
        "the layout of code and data (profdiff report --layout)."
        for one in same_instructions(findings)
    ]


def _waiting_sentences(findings: Findings) -> list[str]:
    """One, if both were recorded at the setting."""
    every = findings.results.at(findings.setting)
    alone = next((one for one in every if one.metric == INSTRUCTIONS), None)
    model = next((one for one in every if one.metric.kind == MODELLED), None)
    if alone is None or model is None or alone.ops != model.ops:
        return []
    pairs = zip(findings.results.labels, alone.cells, model.cells, strict=True)
    added = [(label, text) for label, one, other in pairs if (text := _added(one, other))]
    if not added:
        return []
    unit = f" instructions{' per op' if alone.per_op else ''}"
    told = [f"{text}{'' if n else unit} on {label}" for n, (label, text) in enumerate(added)]
    boots = max(len(cell.boots) for cell in model.cells)
    return [
        f"Waiting, with what it leads to, adds {units.listed(told)}: a model in which vCPUs take "
        f"turns at random places ({units.counted(boots, 'boot')})."
    ]


def _added(alone: Cell, model: Cell) -> str:
    """How much more, with its range over boots."""
    if alone.value is None or model.value is None:
        return ""
    each = sorted(value - alone.value for value in model.medians)
    if len(each) < 2:
        return f"{each[0]:,.0f}"
    return f"{model.value - alone.value:,.0f} ({each[0]:,.0f} to {each[-1]:,.0f})"


def leading(findings: Findings, side: Side | None = None) -> list[str]:
    """What a report says first: times before counts, but what an emulated guest's clock counts
    behind exact counts, which are of the workload alone; then how much of the time instructions
    explain; last, which kernel differs in its time only, and what waiting adds."""
    counted = any(comparison.metric.exact for comparison in findings.comparisons)
    times, counts = headlines(findings), answered(findings, side)
    told = [*counts, *times] if counted else [*times, *counts]
    told += time_split.sentences(findings)
    return [*told, *same_instructions_sentences(findings), *_waiting_sentences(findings)]


def first(findings: Findings) -> list[str]:
    """The answers of the first comparison alone."""
    only = findings.comparisons[0]
    return [_told(findings, only, answer) for answer in answers.answers(only)]


def answered(findings: Findings, side: Side | None = None) -> list[str]:
    """The answer of each comparison for each kernel but the base; of exact counts with the event
    that changed by more than they did."""
    happened = {} if side else _event_sentences(findings)
    return [
        " ".join(
            [
                _told(findings, comparison, answer),
                *happened.get((comparison.metric, answer.label), []),
            ]
        )
        for comparison in findings.comparisons
        for answer in answers.answers(comparison, side)
    ]


def _told(findings: Findings, comparison: Comparison, answer: Answer) -> str:
    found = findings.judged(comparison, answer.label)
    if found is None:
        return answer.sentence
    one, change = found
    iterated = iterations.on_side(comparison, answer.label, answer.side, change)
    if iterated:
        answer = replace(answer, iterated=iterated.told)
    if answer.side is not None:
        lead = "In the boot that stands for each kernel, " if _scattered(change) else ""
        return f"{lead}{answer.sentence}"
    told = _estimated(findings, one, change, answer) if _scattered(change) else answer.sentence
    match change.verdict:
        case Verdict.DEPENDS:
            return f"In {result.state(one)}, {told}"
        case Verdict.UNSURE if change.medians[0] != change.medians[1]:
            return f"{told.removesuffix('.')}{result.doubt(change)}."
    return f"In {result.state(one)}, {told}" if one.state else told


def _scattered(change: Estimate) -> bool:
    """Whether boots differ, so that one run does not tell what the kernel costs."""
    return max(change.boots) > 1 and not change.counted and change.verdict is not Verdict.EXACT


def _estimated(findings: Findings, one: Result, change: Estimate, answer: Answer) -> str:
    """The sentence of an answer with the medians over boots."""
    base, other = change.medians
    at = f" at {answer.at}" if answer.at else ""
    but = f", but {answer.iterated}" if answer.iterated else ""
    if base == other:
        told = f"as many {answer.metric} as {answer.base}{at}{but}"
    else:
        times = f"{other / base:.3f} times the" if base > 0 else "other"
        told = (
            f"{times} {answer.metric} of {answer.base} in this workload{at}: "
            f"{result.difference(change)}{' per op' if one.per_op else ''} "
            f"({result.delta(change)}{but})"
        )
    interval = "" if math.isnan(change.median.low) else f" {result.bounds(change)}%"
    boots = " and ".join(map(str, dict.fromkeys(change.boots)))
    sure = units.percent(findings.results.rule.confidence, "g")
    told += f"; medians of {boots} boots, {change.verdict}"
    told += f", {sure} interval{interval}" if interval else ""
    stands = f". In the boot that stands for each kernel, {answer.where}" if answer.where else ""
    return f"{answer.label} {answer.verb} {told}{stands}."
