"""What is claimed first: what costs more, by how much, on which kernel than on which."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from profdiff.base import units
from profdiff.base.metric import TIMED
from profdiff.collectors import registry
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Result, is_time
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.profile.comparison import Comparison
from profdiff.session.manifest import Kernel
from profdiff.views import answers
from profdiff.views.machine import machine
from profdiff.views.record import Record
from profdiff.views.result import bounds, delta, judged, number

_MAX_SUBJECT = 150


class Claim(Record, frozen=True):
    """``sentence`` is one plain sentence; ``more``: what a reader must know with it."""

    subject: str
    sentence: str
    more: Sequence[str] = ()


class Words(NamedTuple):
    """``work {verb} 5 % {more} {noun}``, ``work {verb} {same}: {lead} 21 instead of 20 {unit}``;
    ``tail``: what must be known of the unit."""

    verb: str
    noun: str
    same: str
    unit: str
    more: str = "more"
    less: str = "fewer"
    lead: str = ""
    tail: str = ""

    def amount(self, base: float, other: float) -> str:
        """By how much ``other`` is more or less than ``base``."""
        if base == other:
            return f"exactly {self.same}"
        word = self.more if other > base else self.less
        part = f"{100 * abs(other / base - 1):,.1f} % " if base > 0 else ""
        return f"{part}{word} {self.noun}"

    def values(self, base: float, other: float, *, per_op: bool = False) -> str:
        """Both values, and what they are."""
        unit = f"{self.unit} per op" if per_op else self.unit
        both = f"{number(other)} {unit} on both"
        differ = f"{number(other)} instead of {number(base)} {unit}"
        words = f"{self.lead} {both if base == other else differ}"
        return f"{words.strip()}{self.tail}"


def _counted(noun: str, verb: str) -> Words:
    """Of a profile: instructions are executed; cycles and nanoseconds are taken."""
    noun = units.printable(noun)
    less = "less" if noun.endswith(")") else "fewer"
    return Words(verb, noun, f"as many {noun}", noun, less=less)


def _words(result: Result) -> Words:
    """Of a result. An emulated clock counts instructions: that is never called time."""
    if registry.collector(result.collector).profiles:
        return _counted(result.metric.name, result.metric.kind.verb)
    name, unit = units.printable(result.metric.name), units.printable(result.metric.unit)
    if is_time(result.metric) and result.virtual:
        noun, tail = "instructions on an emulated clock", " (1 ns is one instruction)"
        return Words("executes", noun, f"as many {noun}", unit, lead=name, tail=tail)
    if is_time(result.metric):
        return Words("takes", "time", "the same time", unit, less="less", lead=name)
    noun = f"{name} on an emulated clock" if result.virtual else name
    return Words("has", noun, f"the same {noun}", unit, "higher", "lower")


def claim(findings: Findings) -> Claim:
    """The claim of the metric that says most: a time on hardware before counts, what the workload
    says of itself before the time of the whole command. Of several kernels the one on which it is
    worst stands for all; where it is worse on none, the one on which it is best."""
    usable = [one for one in findings.results.at(findings.setting) if any(one.changes)]
    if usable:
        return _of_result(findings, min(usable, key=_rank))
    if findings.comparisons:
        return _of_counts(findings)
    name = _workload(findings)
    return Claim(
        subject=f"{name}: measured, nothing to compare",
        sentence=f"{name} was measured on {machine(findings)}. No second kernel has a result, so "
        "nothing can be compared.",
    )


def _rank(result: Result) -> tuple[int, bool]:
    if registry.collector(result.collector).profiles:
        return 1, False
    if result.metric.kind != TIMED:
        return 3, False
    # Timed runs are deterministic where an emulated clock counts instructions.
    return 2 if result.deterministic else 0, result.is_wall_time


def _of_result(findings: Findings, result: Result) -> Claim:
    index, change = _worst(result)
    kernel, words = findings.results.kernels[index], _words(result)
    base, other = change.medians
    amount, same = words.amount(base, other), base == other
    if change.verdict is Verdict.UNCHANGED:
        amount, same = words.same, True
    subject, sentence = _compared(
        findings, words, amount, "as" if same else "than", (findings.results.kernels[0], kernel)
    )
    if change.verdict is Verdict.UNSURE:
        subject, sentence = f"{subject} (unsure)", f"It is not certain that {sentence}"
    if change.verdict is Verdict.UNCHANGED:
        sentence += f", to within {100 * findings.results.rule.relevance:g} %"
    at = f", at {result.setting.title}" if result.setting.title else ""
    values = words.values(base, other, per_op=result.per_op)
    more = [
        _sure(findings, change),
        *_profiles(findings, kernel, result),
        _elsewhere(findings, result, index),
        _last(findings, result, index),
    ]
    return Claim(
        subject=subject,
        sentence=f"{sentence}, on {machine(findings)}{at}: {values}.",
        more=list(filter(None, more)),
    )


def _of_counts(findings: Findings) -> Claim:
    """Of recordings of which nothing but their counts is known."""
    comparison, name, where = findings.comparisons[0], _workload(findings), machine(findings)
    words = _counted(comparison.metric.title, comparison.metric.kind.verb)
    totals, kernels = comparison.totals().tolist(), comparison.kernels
    if len(totals) == 1:
        count, named = f"{totals[0]:,} {words.noun}", _named(kernels[0])
        return Claim(
            subject=f"{name}: {count} on {named}",
            sentence=f"{name} {words.verb} {count} on {named}, on {where}.",
        )
    base, *others = totals
    other = max(others)
    most = 1 + others.index(other)
    amount, joined = words.amount(base, other), "as" if base == other else "than"
    subject, sentence = _compared(findings, words, amount, joined, (kernels[0], kernels[most]))
    more = [
        answer.sentence
        for one in findings.comparisons
        for index, answer in enumerate(answers.answers(one), 1)
        if one is not comparison or index != most
    ]
    return Claim(
        subject=subject,
        sentence=f"{sentence}, on {where}: {words.values(base, other)}.",
        more=[*filter(None, [_largest(comparison, most)]), *more],
    )


def _worst(result: Result) -> tuple[int, Estimate]:
    """The kernel's number and its change; changes that are certain come before others."""
    sign = 1 if result.metric.better == "lower" else -1
    known = {index: one for index, one in enumerate(result.changes) if one}
    sure = (Verdict.CHANGED, Verdict.EXACT)
    certain = [index for index, one in known.items() if one.verdict in sure]
    worse = {
        index: sign * (known[index].medians[1] - known[index].medians[0])
        for index in certain or known
    }
    worst, best = max(worse, key=lambda i: worse[i]), min(worse, key=lambda i: worse[i])
    chosen = worst if worse[worst] >= 0 else best
    return chosen, known[chosen]


def _compared(
    findings: Findings, words: Words, amount: str, joined: str, kernels: tuple[Kernel, Kernel]
) -> tuple[str, str]:
    """Subject and sentence without their ends; ``kernels``: the base and the other."""
    name, (base, other) = _workload(findings), kernels
    releases = [units.printable(kernel.release or "") for kernel in (other, base)]
    if not all(releases) or releases[0] == releases[1]:
        releases = [_named(other), _named(base)]
    subject = f"{name}: {amount} on {releases[0]} {joined} on {releases[1]}"
    sentence = f"{name} {words.verb} {amount} on {_named(other)} {joined} on {_named(base)}"
    return units.shorten(subject, _MAX_SUBJECT), sentence


def _sure(findings: Findings, change: Estimate) -> str:
    """How sure it is, where that is a question."""
    if change.verdict is Verdict.EXACT:
        return ""
    boots = f"{change.boots[0]} and {change.boots[1]} boots"
    reason = f"; {change.verdict}: {change.reason}" if change.reason else ""
    interval = bounds(change)
    if not interval:
        return f"This is based on {boots}{reason}."
    sure = f"{100 * findings.results.rule.confidence:g} %"
    return f"The {sure} confidence interval of the change is {interval} %, from {boots}{reason}."


def _elsewhere(findings: Findings, result: Result, kernel: int) -> str:
    """How large the change of the same kernel is over the sweep."""
    every = findings.results.of(result.collector, result.metric)
    found = [one for result in every if (one := delta(result.changes[kernel])) and one.base > 0]
    if len(found) < 2:
        return ""
    known = sorted(found, key=lambda one: one.other / one.base)
    points = f"{len(known)} points of the sweep"
    return f"Over the {points}, the change ranges from {known[0]} to {known[-1]}."


def _last(findings: Findings, result: Result, kernel: int) -> str:
    """What became of it: the last kernel of a ladder."""
    change = result.changes[-1]
    if change is None or kernel == len(result.changes) - 1:
        return ""
    last = _named(findings.results.kernels[-1])
    return f"On the last kernel, {last}, the change is {delta(change)}, {judged(change)}."


def _profiles(findings: Findings, kernel: Kernel, result: Result) -> Iterator[str]:
    """What profiles say of the kernel: which functions, and other metrics."""
    for comparison in findings.comparisons:
        if kernel.label not in comparison.labels:
            continue
        index = comparison.labels.index(kernel.label)
        own = comparison.runs[0].collector, comparison.metric.name
        if own == (result.collector, result.metric.name):
            yield _largest(comparison, index)
        else:
            yield answers.answers(comparison)[index - 1].sentence


def _largest(comparison: Comparison, kernel: int) -> str:
    found = answers.answers(comparison)[kernel - 1].largest
    if found is None:
        return ""
    if found.part > 1:
        return f"Functions changed in both directions; {found.names} changed most in this one."
    verb = "account" if len(found.functions) > 1 else "accounts"
    return f"{found.names} alone {verb} for {100 * found.part:.0f} % of it."


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
