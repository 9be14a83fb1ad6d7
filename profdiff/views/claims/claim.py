"""What is claimed first: what costs more, by how much, on which kernel than on which."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from profdiff.base import guest_clock, units
from profdiff.base.metric import TIMED, Metric
from profdiff.collectors import registry
from profdiff.collectors.workload.sides import PROGRAM
from profdiff.evidence.findings import Findings
from profdiff.evidence.iterations import Iterated
from profdiff.evidence.largest_change import LargestChange, largest_change
from profdiff.evidence.results import Result, is_time
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.evidence.statistics.samples import Sampled
from profdiff.profile.comparison import Comparison
from profdiff.session.bisection import CULPRIT, REVERT
from profdiff.session.manifest import Kernel
from profdiff.topics.events.shapes import sentence as changed_event
from profdiff.views.bisection import cited
from profdiff.views.claims import answers
from profdiff.views.claims.answers import subsystem
from profdiff.views.kernels.state import machine
from profdiff.views.record import Record
from profdiff.views.results import result as results_result
from profdiff.views.results.result import bounds, delta, judged, number, seen, state

_MAX_SUBJECT, _MAX_NAME = 150, 40
_HEADLINES = 2
_DIGITS = 12


class Claim(Record, frozen=True):
    """``sentence`` is one plain sentence; ``more``: what a reader must know with it."""

    subject: str
    sentence: str
    more: Sequence[str] = ()


class Words(NamedTuple):
    """``work {verb} 5% {more} {noun}``, ``work {verb} {same}: {lead} 21 instead of 20 {unit}``."""

    verb: str
    noun: str
    same: str
    unit: str
    more: str = "more"
    less: str = "fewer"
    lead: str = ""

    def amount(self, base: float, other: float) -> str:
        """By how much ``other`` is more or less than ``base``."""
        if base == other:
            return f"exactly {self.same}"
        word = self.more if other > base else self.less
        part = f"{units.percent(abs(other / base - 1), ',.1f')} " if base > 0 else ""
        return f"{part}{word} {self.noun}"

    def values(self, base: float, other: float, *, per_op: bool = False) -> str:
        """Both values, and what they are."""
        unit = guest_clock.per_op(self.unit) if per_op else self.unit
        both = f"{number(other)} {unit} on both"
        differ = f"{number(other)} instead of {number(base)} {unit}"
        words = f"{self.lead} {both if base == other else differ}"
        return words.strip()


def _counted(metric: Metric) -> Words:
    """The words for a profile: instructions are executed; cycles and nanoseconds are taken."""
    noun, unit, verb = units.printable(metric.name), units.printable(metric.unit), metric.kind.verb
    if unit in ("", noun):
        return Words(verb, noun, f"as many {noun}", noun)
    return Words(verb, noun, f"as much {noun}", unit, less="less")


def _words(result: Result) -> Words:
    """The words for a result. An emulated clock counts instructions: never called time."""
    if registry.collector(result.collector).profiles:
        return _counted(result.metric)
    name, unit = units.printable(result.metric.name), units.printable(result.metric.unit)
    if guest_clock.is_instructions(result.metric):
        noun = "instructions on an emulated clock"
        return Words("executes", noun, f"as many {noun}", unit, lead=name)
    if is_time(result.metric):
        return Words("takes", "time", "the same time", unit, less="less", lead=name)
    noun = name
    if result.virtual:
        noun = f"{name} on an emulated clock"
    elif result.deterministic:
        noun = f"{name} in an emulated guest"
    return Words("has", noun, f"the same {noun}", unit, "higher", "lower")


def claim(findings: Findings) -> Claim:
    """The claim about the largest change at the setting; of recordings that exist, about the kernel
    that costs most."""
    if found := largest_change(findings.results, findings.setting):
        return _of_result(findings, found)
    if findings.comparisons:
        return _of_counts(findings)
    name = workload_name(findings)
    return Claim(
        subject=f"{name}: measured, nothing to compare",
        sentence=f"{name} was measured{_where(findings)}. No second kernel has a result, so "
        "nothing can be compared.",
    )


def headlines(findings: Findings) -> list[str]:
    """A sentence for each metric that timed runs measured at the setting and each kernel but the
    base; what the workload says of itself comes before the time of the whole command. A time with
    start-up in it is left out where counts have none."""
    results = findings.results
    timed = [
        one
        for one in results.at(findings.setting)
        if not registry.collector(one.collector).profiles and not one.of_whole
    ]
    whole = [one for one in timed if not one.metric.kind.of_parts]
    # Functions are the subject only where nothing else was recorded; then, how long they take.
    parts = [one for one in timed if guest_clock.has_time(one.metric.unit) or one.virtual]
    timed = whole if whole or findings.comparisons else parts
    times = [one for one in timed if one.metric.kind == TIMED or one.is_wall_time]
    timed = times or timed
    timed.sort(key=lambda one: one.is_wall_time)
    # The whole command on an emulated clock is what exact counts and the workload say better.
    said = [one for one in timed if not (one.virtual and one.is_wall_time)]
    timed = said if said or findings.comparisons else timed
    base, *others = results.labels
    return [
        _headline(findings, result, (base, label), change)
        for result in timed[:_HEADLINES]
        for label, change in zip(others, result.changes[1:], strict=True)
        if change is not None
    ]


def _headline(findings: Findings, result: Result, labels: tuple[str, str], change: Estimate) -> str:
    words, at = _words(result), findings.setting.title
    amount, joined = _amount(words, change)
    sentence = f"{labels[1]} {words.verb} {amount} {joined} {labels[0]}"
    if change.verdict is Verdict.UNSURE:
        sentence = f"It is not certain that {sentence}"
    values = words.values(*change.medians, per_op=result.per_op)
    sure = _interval(findings, change)
    return f"{sentence}{f' at {at}' if at else ''}: {values}{f' ({sure})' if sure else ''}."


def _of_result(findings: Findings, found: LargestChange) -> Claim:
    result, change = found.result, found.change
    kernel, words = findings.results.kernels[found.kernel], _words(result)
    kernels = findings.results.kernels[0], kernel
    subject, sentence = _compared(findings, words, _amount(words, change), kernels)
    if change.verdict is Verdict.DEPENDS:
        subject, sentence = _depending(findings, words, change, kernels)
    if change.alone:
        subject = f"{subject} (seen in one state)"
    if change.verdict is Verdict.UNSURE:
        subject, sentence = _unsure(subject, sentence)
    if change.verdict is Verdict.UNCHANGED:
        sentence += f", to within {units.percent(findings.results.rule.relevance, 'g')}"
    at = f" at {result.setting.title}" if result.setting.title else ""
    values = words.values(*change.medians, per_op=result.per_op)
    if change.verdict is Verdict.DEPENDS:
        values = f"in {state(result)}, {values}"
    if iterated := Iterated.of(change):
        subject = f"{subject} ({iterated.briefly})"
        values = f"{values}, but {iterated.told}"
    more = [
        _sure(findings, kernel.label, change),
        "" if change.verdict is Verdict.DEPENDS else _profiles(findings, kernel, result),
        changed_event(findings, kernel.label),
        _last(findings, result, found.kernel),
    ]
    return Claim(
        subject=subject_of(findings, kernel.label, subject),
        sentence=f"{sentence}{at}{_where(findings)}: {values}.",
        more=list(filter(None, more)),
    )


def _of_counts(findings: Findings) -> Claim:
    """The claim about recordings whose counts alone are known."""
    comparison, name, where = findings.comparisons[0], workload_name(findings), _where(findings)
    words = _counted(comparison.metric)
    totals, kernels = comparison.totals().tolist(), comparison.kernels
    if len(totals) == 1:
        count, named = f"{totals[0]:,} {words.noun}", _named(kernels[0])
        return Claim(
            subject=f"{name}: {count} on {named}",
            sentence=f"{name} {words.verb} {count} on {named}{where}.",
        )
    base, *others = totals
    other = max(others)
    most = 1 + others.index(other)
    how = words.amount(base, other), "as" if base == other else "than"
    subject, sentence = _compared(findings, words, how, (kernels[0], kernels[most]))
    judged = findings.judged(comparison, kernels[most].label)
    if judged and judged[1].verdict is Verdict.UNSURE:
        subject, sentence = _unsure(subject, sentence)
    more = [
        answer.sentence
        for one in findings.comparisons
        for index, answer in enumerate(answers.answers(one), 1)
        if one is not comparison or index != most
    ]
    return Claim(
        subject=subject_of(findings, kernels[most].label, subject),
        sentence=f"{sentence}{where}: {words.values(base, other)}.",
        more=[*filter(None, [_by_chance(comparison, most), _largest(comparison, most)]), *more],
    )


def _unsure(subject: str, sentence: str) -> tuple[str, str]:
    return f"{subject} (unsure)", f"It is not certain that {sentence}"


def _by_chance(comparison: Comparison, kernel: int) -> str:
    """How sure a change of samples is as far as their number tells it; "" of exact counts."""
    if comparison.metric.exact or comparison.run_samples is None:
        return ""
    sampled = []
    for label in (comparison.labels[0], comparison.labels[kernel]):
        columns = [at for at, run in enumerate(comparison.runs) if run.kernel == label]
        weights = comparison.run_counts[:, columns].sum(axis=0).tolist()
        count = int(comparison.run_samples[:, columns].sum())
        sampled.append(Sampled(weights, count, len(columns)))
    base, other = sampled
    if not base.weight or not other.weight or not base.samples or not other.samples:
        return ""
    ratio = other.weight / base.weight
    error = ratio * math.hypot(base.error / base.weight, other.error / other.weight)
    told = (
        f"There are {base.samples:,} and {other.samples:,} samples: the standard error of the "
        f"change is {100 * error:.1f} percentage points"
    )
    if min(base.runs, other.runs) > 1:
        return f"{told}."
    return f"{told}, without what differs between boots, which one recording does not show."


def _amount(words: Words, change: Estimate) -> tuple[str, str]:
    """By how much, and how the base follows: ``5% more instructions``, ``than``."""
    base, other = change.medians
    if change.verdict is Verdict.UNCHANGED:
        return words.same, "as"
    return words.amount(base, other), "as" if base == other else "than"


def _compared(
    findings: Findings, words: Words, how: tuple[str, str], kernels: tuple[Kernel, Kernel]
) -> tuple[str, str]:
    """Subject and sentence without their ends; ``kernels``: the base and the other."""
    name, (amount, joined), (base, other) = workload_name(findings), how, kernels
    releases = [units.printable(kernel.release or "") for kernel in (other, base)]
    if not all(releases) or releases[0] == releases[1]:
        releases = [_named(other), _named(base)]
    subject = f"{name}: {amount} on {releases[0]} {joined} on {releases[1]}"
    bisected = findings.manifest.bisection
    if bisected and other.label == CULPRIT and not bisected.candidates:
        subject = f"{name}: {amount} since {cited(bisected.culprit)}"
    sentence = f"{name} {words.verb} {amount} on {_named(other)} {joined} on {_named(base)}"
    return subject, sentence


def _depending(
    findings: Findings, words: Words, change: Estimate, kernels: tuple[Kernel, Kernel]
) -> tuple[str, str]:
    """``_compared`` of a change that depends on state."""
    name, (base, other) = workload_name(findings), map(_named, kernels)
    word = words.more if change.median.high > -change.median.low else words.less
    either = change.median.low < 0 < change.median.high
    subject = f"{name}: {words.noun} on {other} against {base} depend on state"
    than = f"{word} {words.noun} on {other} than on {base}"
    if either:
        return subject, f"Whether {name} {words.verb} {than} depends on state"
    return subject, f"How many {than} {name} {words.verb} depends on state"


def subject_of(findings: Findings, label: str, text: str) -> str:
    """``text`` after the subsystem that changed on the kernel with a label, where a profile tells
    it."""
    for comparison in findings.comparisons:
        if label in comparison.labels:
            prefix = subsystem(comparison, comparison.labels.index(label))
            text = f"{prefix}: {text}" if prefix else text
            break
    return units.shorten(text, _MAX_SUBJECT)


def _sure(findings: Findings, label: str, change: Estimate) -> str:
    """How sure it is, where that is a question."""
    if change.states > 1 or change.alone:
        said = results_result.told(findings, label, change)
        return f"{said[0].upper()}{said[1:]}."
    if change.verdict is Verdict.EXACT:
        return ""
    boots = f"{change.boots[0]} and {change.boots[1]} boots"
    reason = f"; {change.verdict}: {change.reason}" if change.reason else ""
    interval = _interval(findings, change)
    if not interval:
        return f"This is based on {boots}{reason}."
    return f"The {interval}, from {boots}{reason}."


def _interval(findings: Findings, change: Estimate) -> str:
    """``95% confidence interval of the change is -0.2% to +1.5%``; "" where there is none."""
    interval = bounds(change)
    if interval is None or interval.exact:
        return ""
    sure = units.percent(findings.results.rule.confidence, "g")
    low, high = (units.percent(one, "+.1f") for one in (interval.low, interval.high))
    return f"{sure} confidence interval of the change is {low} to {high}"


def _last(findings: Findings, result: Result, kernel: int) -> str:
    """What became of it: the last kernel of a ladder."""
    change = result.changes[-1]
    if change is None or kernel == len(result.changes) - 1:
        return ""
    label, last = findings.results.labels[-1], _named(findings.results.kernels[-1])
    sure = (
        ""
        if change.verdict is Verdict.EXACT
        else f", {judged(change)}{f', {span} states' if (span := seen(change)) else ''}"
    )
    # A bisection's last kernel is none that anybody has: it is made to tell what a revert does.
    made = findings.manifest.bisection is not None and label == REVERT
    place = last if made else f"the last kernel, {last}"
    return f"On {place}, the change is {delta(change)}{sure}."


def _profiles(findings: Findings, kernel: Kernel, result: Result) -> str:
    """Which functions a profile of the kernel shows: the metric's own, or else the first."""
    found = [one for one in findings.comparisons if kernel.label in one.labels]
    for comparison in found:
        if (comparison.runs[0].collector, comparison.metric.name) == (
            result.collector,
            result.metric.name,
        ):
            return _largest(comparison, comparison.labels.index(kernel.label))
    return "".join(
        answers.answers(one)[one.labels.index(kernel.label) - 1].sentence for one in found[:1]
    )


def _largest(comparison: Comparison, kernel: int) -> str:
    where = answers.answers(comparison)[kernel - 1].where("it")
    return f"{where}." if where else ""


def _where(findings: Findings) -> str:
    """``, on x86_64 under an emulator``; "" where nothing is known."""
    found = machine(findings)
    return f", {'on ' if found.architecture else ''}{found}" if str(found) else ""


def workload_name(findings: Findings) -> str:
    """What the workload is called in a sentence."""
    workload = findings.manifest.workload
    path = Path(workload.argv[0] if workload.argv else "")
    name = path.stem if workload.kind == "source" else path.name
    if name == PROGRAM:
        name = name.strip("{}")
    if workload.replay and len(workload.argv) > 1:
        name = f"replay of {Path(workload.argv[1]).stem}"
    if workload.kind == "imported":
        # Its command is perf's own.
        name = workload.program
    return units.shorten(units.printable(name), _MAX_NAME) or "The workload"


def _named(kernel: Kernel) -> str:
    """A kernel's release, or which revision profdiff built it from, since those of a series have
    one release; and its label where that says more."""
    if kernel.source and kernel.source.described:
        told = units.printable(kernel.source.described)
        if kernel.source.reverted:
            gone = ", ".join(one[:_DIGITS] for one in kernel.source.reverted)
            told = f"{told} with {gone} reverted"
        return told if kernel.label == told else f"{told} ({kernel.label})"
    if not kernel.release:
        return f"kernel {kernel.label}"
    release = f"Linux {units.printable(kernel.release)}"
    return release if kernel.label.removeprefix("v") in release else f"{release} ({kernel.label})"
