"""What a letter claims first: what costs more, by how much, on which kernel than on which."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.measurements import Result
from profdiff.evidence.statistics import Estimate
from profdiff.mail import measured
from profdiff.mail.claim_words import Words, counted, words_of
from profdiff.profile.comparison import Comparison
from profdiff.reports import evidence_rows
from profdiff.session import points
from profdiff.session.manifest import Kernel
from profdiff.views import answers

_MAX_SUBJECT = 150
_WALL_TIME = "wall-time"


@dataclass(frozen=True)
class Claim:
    """``sentence`` is one plain sentence; ``more``: what a reader must know with it."""

    subject: str
    sentence: str
    more: Sequence[str] = ()


def claim(findings: Findings) -> Claim:
    """The claim of the metric that says most: a time on hardware before counts, what the workload
    says of itself before the time of the whole command. Of several kernels the one on which it is
    worst stands for all; where it is worse on none, the one on which it is best."""
    usable = [one for one in findings.evidence.at(findings.setting) if any(one.changes)]
    if usable:
        return _of_result(findings, min(usable, key=_rank))
    if findings.comparisons:
        return _of_counts(findings)
    return Claim(
        f"{_workload(findings)}: measured, and nothing to compare",
        f"{_workload(findings)} was measured on {measured.where(findings)}, but no second kernel "
        "has a result: nothing can be compared.",
    )


def _rank(result: Result) -> tuple[int, bool]:
    # Timed runs are deterministic where an emulated clock counts instructions.
    kind = (2 if result.deterministic else 0) if result.collector == "timed" else 1
    return kind, result.metric.name == _WALL_TIME


def _of_result(findings: Findings, result: Result) -> Claim:
    index, change = _worst(result)
    kernels = findings.evidence.kernels
    words = words_of(result)
    base, other = change.medians
    amount = words.amount(base, other)
    joined = "as" if base == other else "than"
    if change.verdict == "unchanged":
        amount, joined = words.same, "as"
    at = points.title(findings.evidence.swept, result.setting)
    said = _compared(findings, words, amount, joined, kernels[0], kernels[index])
    limits = f", to within {100 * findings.evidence.rule.relevance:g} %"
    values = words.values(base, other, per_op=result.per_op)
    sentence = (
        f"{'It is not certain that ' if change.verdict == 'unsure' else ''}{said.sentence}"
        f"{limits if change.verdict == 'unchanged' else ''}, on {measured.where(findings)}"
        f"{f', at {at}' if at else ''}: {values}."
    )
    subject = said.subject + (" (unsure)" if change.verdict == "unsure" else "")
    more = [
        _sure(findings, change),
        *_counts(findings, kernels[index], result),
        _elsewhere(findings, result, index),
        _last(findings, result, index),
    ]
    return Claim(subject, sentence, [one for one in more if one])


def _of_counts(findings: Findings) -> Claim:
    """Of recordings of which nothing but their counts is known."""
    comparison = findings.comparisons[0]
    words = counted(comparison.metric.title, exact=comparison.metric.exact)
    totals = comparison.totals()
    where = measured.where(findings)
    if len(totals) == 1:
        count = f"{int(totals[0]):,} {words.noun}"
        named = _named(comparison.kernels[0])
        name = _workload(findings)
        return Claim(
            f"{name}: {count} on {named}", f"{name} {words.verb} {count} on {named}, on {where}."
        )
    most = 1 + int(totals[1:].argmax())
    base, other = int(totals[0]), int(totals[most])
    kernels = comparison.kernels
    amount, joined = words.amount(base, other), "as" if base == other else "than"
    said = _compared(findings, words, amount, joined, kernels[0], kernels[most])
    sentence = f"{said.sentence}, on {where}: {words.values(base, other)}."
    largest = _largest(comparison, most)
    more = [largest] if largest else []
    for one in findings.comparisons:
        told = [answer.sentence for answer in answers.answers(one)]
        more += [
            text for index, text in enumerate(told, 1) if one is not comparison or index != most
        ]
    return Claim(said.subject, sentence, more)


def _worst(result: Result) -> tuple[int, Estimate]:
    """The kernel's number and its change; changes that are certain come before others."""
    sign = 1 if result.metric.better == "lower" else -1
    known = {index: one for index, one in enumerate(result.changes) if one}
    certain = [index for index, one in known.items() if one.verdict in ("changed", "exact")]
    worse = {
        index: sign * (known[index].medians[1] - known[index].medians[0])
        for index in certain or known
    }
    worst, best = max(worse, key=lambda i: worse[i]), min(worse, key=lambda i: worse[i])
    chosen = worst if worse[worst] >= 0 else best
    return chosen, known[chosen]


def _compared(
    findings: Findings, words: Words, amount: str, joined: str, base: Kernel, other: Kernel
) -> Claim:
    """Subject and sentence without their ends."""
    name = _workload(findings)
    releases = [units.printable(kernel.release or "") for kernel in (other, base)]
    if not all(releases) or releases[0] == releases[1]:
        releases = [_named(other), _named(base)]
    subject = f"{name}: {amount} on {releases[0]} {joined} on {releases[1]}"
    return Claim(
        units.shorten(subject, _MAX_SUBJECT),
        f"{name} {words.verb} {amount} on {_named(other)} {joined} on {_named(base)}",
    )


def _sure(findings: Findings, change: Estimate) -> str:
    """How sure it is, where that is a question."""
    if change.verdict == "exact":
        return ""
    boots = f"{change.boots[0]} and {change.boots[1]} boots"
    reason = f"; {change.verdict}: {change.reason}" if change.reason else ""
    interval = evidence_rows.interval(change)
    if not interval:
        return f"It rests on {boots}{reason}."
    sure = f"{100 * findings.evidence.rule.confidence:g} %"
    return f"The change has a {sure} interval of {interval} %, from {boots}{reason}."


def _elsewhere(findings: Findings, result: Result, kernel: int) -> str:
    """How large the change of the same kernel is over the sweep."""
    found = [one.changes[kernel] for one in findings.evidence.of(result.collector, result.metric)]
    known = sorted(
        (one for one in found if one and one.medians[0] > 0),
        key=lambda one: one.medians[1] / one.medians[0],
    )
    if len(known) < 2:
        return ""
    low, high = evidence_rows.change_text(known[0]), evidence_rows.change_text(known[-1])
    return f"Over the {len(known)} points of the sweep the change is {low} to {high}."


def _last(findings: Findings, result: Result, kernel: int) -> str:
    """What became of it: the last kernel of a ladder."""
    change = result.changes[-1]
    if change is None or kernel == len(result.changes) - 1:
        return ""
    told = f"{evidence_rows.change_text(change)}, {evidence_rows.verdict(change)}"
    return f"On the last kernel, {_named(findings.evidence.kernels[-1])}, it is {told}."


def _counts(findings: Findings, kernel: Kernel, result: Result) -> list[str]:
    """What profiles say of the kernel: which functions, and other metrics."""
    told = []
    for comparison in findings.comparisons:
        labels = comparison.labels
        if kernel.label not in labels:
            continue
        index = labels.index(kernel.label)
        own = comparison.runs[0].collector, comparison.metric.name
        if own == (result.collector, result.metric.name):
            told.append(_largest(comparison, index))
        else:
            told.append(answers.answers(comparison)[index - 1].sentence)
    return told


def _largest(comparison: Comparison, kernel: int) -> str:
    found = answers.answers(comparison)[kernel - 1].largest
    if found is None:
        return ""
    if found.part > 1:
        return f"Functions changed both ways; in that direction most did {found.names}."
    verb = "make" if len(found.functions) > 1 else "makes"
    return f"{found.names} alone {verb} {100 * found.part:.0f} % of it."


def _workload(findings: Findings) -> str:
    workload = findings.manifest.workload
    path = Path(workload.argv[0] if workload.argv else "")
    name = path.stem if workload.kind == "source" else path.name
    return units.printable(name) or "The workload"


def _named(kernel: Kernel) -> str:
    """A kernel's release, and its label where that says more."""
    if not kernel.release:
        return f"kernel {kernel.label}"
    release = f"Linux {units.printable(kernel.release)}"
    return release if kernel.label.removeprefix("v") in release else f"{release} ({kernel.label})"
