"""What is claimed first: what costs more, by how much, on which kernel than on which."""

import math
from collections.abc import Sequence
from pathlib import Path

from profdiff.base import guest_clock, units
from profdiff.base.metric import TIMED
from profdiff.collectors import registry
from profdiff.collectors.workload.sides import PROGRAM
from profdiff.evidence.findings import Findings
from profdiff.evidence.iterations import Iterated
from profdiff.evidence.largest_change import LargestChange, largest_change
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.evidence.statistics.samples import Sampled
from profdiff.profile.comparison import Comparison
from profdiff.session.bisection import CULPRIT, REVERT
from profdiff.session.manifest import Kernel
from profdiff.topics.events.shapes import sentence as changed_event
from profdiff.views.bisection import cited
from profdiff.views.claims import answers
from profdiff.views.claims.answers import Words, counted_words, result_words, subsystem
from profdiff.views.kernels.state import machine
from profdiff.views.record import Record
from profdiff.views.results import result as results_result
from profdiff.views.results.result import bounds, delta, judged, seen, state

_MAX_SUBJECT, _MAX_NAME = 150, 40
_HEADLINES = 2
_DIGITS = 12
_OTHER = "other mappings, files and addresses"
_OTHER_BOOTS = "other random numbers and addresses (--vary-boots)"


class Claim(Record, frozen=True):
    """``sentence`` is one plain sentence; ``more``: what a reader must know with it."""

    subject: str
    sentence: str
    more: Sequence[str] = ()


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
    words, at = result_words(result), findings.setting.title
    amount, joined = _amount(words, change)
    sentence = f"{labels[1]} {words.verb} {amount} {joined} {labels[0]}"
    values = words.values(*change.medians, per_op=result.per_op)
    sure, doubts = _interval(findings, change), results_result.doubt(change)
    values = f"{values}{f' ({sure})' if sure else ''}{doubts}"
    return f"{sentence}{f' at {at}' if at else ''}: {values}."


def _of_result(findings: Findings, found: LargestChange) -> Claim:
    result, change = found.result, found.change
    kernel, words = findings.results.kernels[found.kernel], result_words(result)
    kernels = findings.results.kernels[0], kernel
    every = _swept(findings, found)
    how = _amount(words, change)
    if change.verdict is Verdict.DEPENDS:
        how = words.range(*_ends([change])), "than"
    swept = (words.range(*_ends(every)), "than") if every else how
    subject, sentence = _compared(findings, words, how, swept, kernels)
    if change.verdict is Verdict.DEPENDS:
        subject, sentence = (f"{text}, depending on state" for text in (subject, sentence))
    suffixes = ["(unsure)"] if change.verdict is Verdict.UNSURE else []
    suffixes += ["(seen in one state)"] if change.alone else []
    if change.verdict is Verdict.UNCHANGED:
        sentence += f", to within {units.percent(findings.results.rule.relevance, 'g')}"
    at = f" at {result.setting.title}" if result.setting.title else ""
    values = words.values(*change.medians, per_op=result.per_op)
    op = units.printable(findings.manifest.workload.op)
    values += f" (one {op})" if result.per_op and op else ""
    if change.verdict is Verdict.DEPENDS:
        values = f"in {state(result)}, {values}"
    if iterated := Iterated.of(change):
        suffixes += [] if every else [f"({iterated.briefly})"]
        values = f"{values}, but {iterated.told}"
    values += results_result.doubt(change)
    more = [
        _sure(findings, kernel.label, change),
        "" if change.verdict is Verdict.DEPENDS else _profiles(findings, kernel, result),
        changed_event(findings, kernel.label),
        _last(findings, result, found.kernel),
    ]
    return Claim(
        subject=subject_of(findings, kernel.label, subject, suffixes),
        sentence=f"{sentence}{at}{_where(findings)}: {values}.",
        more=list(filter(None, more)),
    )


def _of_counts(findings: Findings) -> Claim:
    """The claim about recordings whose counts alone are known."""
    comparison, name, where = findings.comparisons[0], workload_name(findings), _where(findings)
    words = counted_words(comparison.metric)
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
    subject, sentence = _compared(findings, words, how, how, (kernels[0], kernels[most]))
    judged = findings.judged(comparison, kernels[most].label)
    doubts = results_result.doubt(judged[1]) if judged else ""
    more = [
        answer.sentence
        for one in findings.comparisons
        for index, answer in enumerate(answers.answers(one), 1)
        if one is not comparison or index != most
    ]
    return Claim(
        subject=subject_of(findings, kernels[most].label, subject, ["(unsure)"] if doubts else []),
        sentence=f"{sentence}{where}: {words.values(base, other)}{doubts}.",
        more=[*filter(None, [_by_chance(comparison, most), _largest(comparison, most)]), *more],
    )


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
    return f"{told}, and differences between boots, which one recording does not show, come on top."


def _amount(words: Words, change: Estimate) -> tuple[str, str]:
    """By how much, and how the base follows: ``5% more instructions``, ``than``."""
    base, other = change.medians
    if change.verdict is Verdict.UNCHANGED:
        return words.same, "as"
    return words.amount(base, other), "as" if base == other else "than"


def _swept(findings: Findings, found: LargestChange) -> list[Estimate]:
    """The kernel's changes at all points of a sweep, those that are certain if that is; none where
    there is one point, or no relevant change."""
    results = findings.results
    if not results.swept or found.change.verdict is Verdict.UNCHANGED:
        return []
    every = results.of(found.result.collector, found.result.metric)
    changes = [one.changes[found.kernel] for one in every]
    doubted = found.change.verdict is Verdict.UNSURE
    known = [one for one in changes if one and one.medians[0] > 0]
    known = [one for one in known if doubted or one.verdict is not Verdict.UNSURE]
    return known if len(known) > 1 and found.change in known else []


def _ends(changes: Sequence[Estimate]) -> tuple[float, float]:
    """The lowest and the highest change, as fractions, over points and states."""
    ends: list[float] = []
    for one in changes:
        base, other = one.medians
        ends += [other / base - 1] if base > 0 else []
        if results_result.spans_states(one):
            ends += [one.median.low, one.median.high]
    return (min(ends), max(ends)) if ends else (math.nan, math.nan)


def _compared(
    findings: Findings,
    words: Words,
    how: tuple[str, str],
    swept: tuple[str, str],
    kernels: tuple[Kernel, Kernel],
) -> tuple[str, str]:
    """Subject and sentence without their ends. ``how``: the amount at the setting, and how the base
    follows; ``swept``: the same over all points; ``kernels``: the base and the other."""
    name, (base, other) = workload_name(findings), kernels
    amount, joined = swept
    releases = [units.printable(kernel.release or "") for kernel in (other, base)]
    subject = f"{name}: {amount} on {releases[0]} {joined} on {releases[1]}"
    if not all(releases) or any(kernel.source for kernel in kernels):
        subject = f"{name}: {amount} on {_named(other)} {joined} on {_named(base)}"
    elif releases[0] == releases[1]:
        labels = f"on {other.label} {joined} on {base.label}"
        subject = f"{name}: {amount} {labels} (Linux {releases[0]})"
    bisected = findings.manifest.bisection
    if bisected and other.label == CULPRIT and not bisected.candidates:
        subject = f"{name}: {amount} since {cited(bisected.culprit)}"
    amount, joined = how
    sentence = f"{name} {words.verb} {amount} on {_named(other)} {joined} on {_named(base)}"
    return subject, sentence


def subject_of(findings: Findings, label: str, text: str, suffixes: Sequence[str] = ()) -> str:
    """``text`` after the subsystem that changed on the kernel with a label, where a profile tells
    it, and before as many ``suffixes`` as there is room for."""
    for comparison in findings.comparisons:
        if label in comparison.labels:
            prefix = subsystem(comparison, comparison.labels.index(label))
            text = f"{prefix}: {text}" if prefix else text
            break
    text = units.shorten(text, _MAX_SUBJECT)
    for suffix in suffixes:
        text = f"{text} {suffix}" if len(f"{text} {suffix}") <= _MAX_SUBJECT else text
    return text


def _sure(findings: Findings, label: str, change: Estimate) -> str:
    """How sure it is, where that is a question."""
    manifest = findings.manifest
    booted = bool(manifest.options.get("boot")) or any(run.boot for run in manifest.runs)
    other = _OTHER_BOOTS if booted else _OTHER
    if change.alone:
        return f"This was seen in one state: {other} were not tried."
    if change.verdict is Verdict.DEPENDS:
        most = findings.differ.get(label)
        differ = f"; they differ most in {units.printable(most.name)}" if most else ""
        return f"{change.states:,} states were compared ({other}){differ}."
    if change.states > 1:
        span = units.changes(change.median.low, change.median.high)
        span = f": {span}" if results_result.spans_states(change) else ""
        return f"This was seen in {change.states:,} states ({other}){span}."
    if change.verdict is Verdict.EXACT:
        return ""
    boots = " and ".join(map(str, dict.fromkeys(change.boots)))
    reason = f"; {change.verdict}: {change.reason}" if change.reason else ""
    if change.verdict is Verdict.UNSURE:
        reason = ""
    interval = _interval(findings, change)
    if interval:
        return f"The {interval}, from {boots} boots of each{reason}."
    return f"This is from {boots} boots of each{reason}." if max(change.boots) > 1 else ""


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
    where = answers.answers(comparison)[kernel - 1].where
    return f"{where[0].upper()}{where[1:]}." if where else ""


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
