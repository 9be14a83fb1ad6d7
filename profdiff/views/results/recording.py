"""How a session was recorded: what heads every report, kernel, workload and lengths, and what a
reader must know of it."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Annotated

from msgspec import Meta

from profdiff.base import units
from profdiff.base.metric import INSTRUCTIONS
from profdiff.collectors import registry
from profdiff.collectors.records import DAMAGED
from profdiff.evidence.findings import Findings
from profdiff.evidence.iterations import Iterated, left_out
from profdiff.evidence.largest_change import LargestChange, largest_change
from profdiff.evidence.lengths import Lengths
from profdiff.evidence.outside_workload import of_comparison
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.profile.comparison import Comparison, Repetitions
from profdiff.session import inlines, points
from profdiff.session.bisection import CULPRIT
from profdiff.session.manifest import Manifest, Run
from profdiff.views.kernels.state import guest
from profdiff.views.record import Record, side
from profdiff.views.results import result
from profdiff.views.results.notes import lengths
from profdiff.views.results.result import Kind, Remark

# Where profdiff's own suites lie, in a checkout as in an installed package.
_OWN = ("profdiff", "suites")


def shown_command(argv: Sequence[str]) -> list[str]:
    """The words of a command. A program of profdiff's own suites has its name there
    (``mprotect.c``): where that lay when it was recorded says nothing to a reader."""
    words = list(argv)
    if words and PurePath(words[0]).parent.parts[-2:] == _OWN:
        words[0] = PurePath(words[0]).name
    return words


def command_line(argv: Sequence[str]) -> str:
    """The same for a shell; "unknown" where there is none."""
    return shlex.join(shown_command(argv)) or "unknown"


_NAMED = 3
# QEMU's version with that of its package; build ids and the version itself tell as much.
_PACKAGE = re.compile(r"\bversion (\d[\d.]*) \([^()]*\)")
# Published changes of time that were counted, and how many counts had their sign:
# docs/retrodiction.md.
PUBLISHED, AGREEING = 33, 22
TIME_SIGN = (
    f"in {AGREEING} of {PUBLISHED} published cases, time and instructions changed in the same "
    "direction"
)


_WINDOWS = {"command": "whole command", "boot": "from start_kernel() to init"}


class Workload(Record, frozen=True):
    """The command as it was given. ``description``: the command, its ops, and what of it was
    measured, in words."""

    argv: list[str]
    ops: Annotated[int, Meta(ge=1)] | None
    description: str


def workload(manifest: Manifest, setting: points.Setting) -> Workload:
    """The workload at a setting."""
    windows = {
        (run.window.kind, run.window.count)
        for run in manifest.runs
        if run.window and not run.failure and run.point == setting.point
        # In a varied state, a command's window rests once.
        if not run.state
        if registry.collector(run.collector).profiles
    }
    kinds = {kind for kind, _ in windows}
    named = dict(_WINDOWS)
    if until := manifest.options.get("boot_until"):
        named["boot"] = f"from start_kernel() to '{units.printable(str(until))}' on the console"
    window = " or ".join(
        units.counted(number, "marked window") if kind == "marks" else named[kind]
        for kind, number in sorted(windows)
    )
    copies = manifest.workload.copies
    facts = [f"{copies} copies"] if copies > 1 else []
    op = units.printable(manifest.workload.op)
    facts += (
        [f"{units.counted(setting.ops, 'op')}{f', each one {op}' if op else ''}"]
        if setting.ops
        else []
    )
    pair = points.lengths(manifest, setting)
    facts += [f"{name} {long} minus {name} {short}" for name, (short, long) in pair.items()]
    others = [f"{name} {setting.value(name)}" for name in setting.varied if name not in pair]
    facts += [", ".join(others)] if others else []
    # The difference of whole commands is none.
    facts += [window] if window and (setting.short is None or "command" not in kinds) else []
    at_hand = manifest.points[setting.point].parameters
    argv = [points.substitute(word, at_hand) for word in shown_command(manifest.workload.argv)]
    command = units.printable(shlex.join(argv)) or "unknown"
    if manifest.workload.replay and len(argv) > 1:
        command = f"replay of {units.printable(PurePath(argv[1]).stem)}"
    return Workload(
        argv=manifest.workload.argv,
        ops=setting.ops,
        description=f"{command} ({'; '.join(facts)})" if facts else command,
    )


def remarks(
    comparisons: Sequence[Comparison], pair: Lengths | None = None, *, brief: bool = False
) -> list[Remark]:
    """How the numbers came about, and what they do not show. ``pair``: what was subtracted.
    ``brief``: for a reader who knows what exact counts are; without the package of QEMU."""
    subtracted = lengths(pair)
    found: list[Remark] = []
    if subtracted:
        found += _all("caution", subtracted.cautions) + _all("how", subtracted.facts)
    if shard := next((one.manifest.shard for one in comparisons), ""):
        text = f"only shard {shard} of the runs; profdiff merge puts shards together"
        found.append(Remark(kind="caution", text=text))
    for one in comparisons[0].manifest.recordings if comparisons else ():
        text = f"{units.listed(one.kernels)}: recorded {one.created} in {one.name}"
        found.append(Remark(kind="how", text=units.printable(text)))
    if replay := next((one.manifest.workload.replay for one in comparisons), None):
        found.append(Remark(kind="how", text=units.printable(replay.told)))
    for _, members in groupby(comparisons, key=lambda comparison: comparison.runs[0].collector):
        group = list(members)
        first = group[0]
        found += _counted(first, brief) if first.metric.exact else _sampled(group)
        found += _all("repetition", _repeated(first))
        found += _all("recording", first.remarks)
        found += _all("inlines", _inlines(first))
        for run in first.failed:
            # Cautions say what is damaged.
            if run.failure is None or run.failure.kind == DAMAGED:
                continue
            message = run.failure.message
            found += _all("failure", [f"failed run {run.id}: {message}{_output(run)}"])
        found += _all(
            "failure", [f"{label}: no run gave a result" for label in first.without_result]
        )
    return list({remark.text: remark for remark in found}.values())


def _output(run: Run) -> str:
    """Where a failed run's output is; "" for a run that left nothing."""
    return f" (output and logs: {run.folder} of the session)" if run.folder else ""


def _all(
    kind: Kind,
    texts: Iterator[str] | Sequence[str],
) -> list[Remark]:
    return [Remark(kind=kind, text=units.printable(text)) for text in texts]


def _counted(comparison: Comparison, brief: bool) -> list[Remark]:
    versions = {run.qemu.version for run in comparison.runs if run.qemu}
    qemus = sorted(version.removeprefix("QEMU emulator ") for version in versions)
    if brief:
        qemus = sorted({_PACKAGE.sub(r"\1", version) for version in qemus})
    machine = guest(comparison.manifest, comparison.runs, comparison.setting.cpus)
    where = ", ".join(qemus) + (f"; {machine}" if machine else "")
    collector = registry.collector(comparison.runs[0].collector)
    how = (brief and collector.short_how) or collector.how
    exact = ", exact" if comparison.metric.deterministic else ""
    text = f"{comparison.metric.title}{exact}: {how} ({where})"
    found = _all("how", [text]) + _all("detail", _iterations(comparison))
    if comparison.metric.name == INSTRUCTIONS.name:
        found += _all("detail", [f"instructions are not time: {TIME_SIGN} (docs/retrodiction.md)"])
    return found + _beside(comparison)


def _beside(comparison: Comparison) -> list[Remark]:
    """What the counts leave out, which tables have a row for, or have in them."""
    if all(run.instructions is None for run in comparison.runs):
        return []
    told = of_comparison(comparison)
    if told is None:
        text = "interrupts and kernel threads are included: this recording cannot tell them apart"
        return _all("caution", [text])
    counted = ", ".join(f"{label} {count:,}" for label, count in told.items())
    text = f"excluded: interrupts and kernel threads outside the workload: {counted}"
    return _all("beside", [f"{text} {comparison.metric.title}"])


def _iterations(comparison: Comparison) -> Iterator[str]:
    """What the totals would be if repeated string instructions counted as QEMU executes them."""
    totals, found = comparison.totals().tolist(), []
    for number, label in enumerate(comparison.labels):
        extra = left_out(comparison, number)
        if extra is not None:
            found.append((label, totals[number], int(extra[comparison.picked[number]])))
    if any(iterations for _, _, iterations in found):
        each = ", ".join(f"{total + more:,} ({label})" for label, total, more in found)
        yield f"a rep instruction counts once; with each iteration counted: {each}"


def _sampled(group: list[Comparison]) -> list[Remark]:
    """What was sampled how, in which order of trust."""
    runs = group[0].runs
    names = " and ".join(comparison.metric.title for comparison in group)
    told = [run.sampling for run in runs if run.sampling]
    versions = sorted({one.version for one in told if one.version})
    rates = sorted(
        f"{number:,} samples a second" if a_second else f"one sample every {number:,}"
        for number, a_second in group[0].rates
    )
    how = f", {' or '.join(rates)}" if rates else ""
    by = f" by perf {', '.join(versions)}" if versions else ""
    where = ", in a guest under QEMU: these are not timings" if runs[0].qemu else ""
    what = ", whole command" if any(run.window for run in runs) else ""
    fallbacks = {one.fallback for one in told if one.fallback}
    cautions = [f"NOT what was asked for: {reason}" for reason in sorted(fallbacks)]
    if any(one.virtual_time for one in told):
        cautions.append(
            "cycles are QEMU's virtual time (1 GHz, one instruction per nanosecond), not processor "
            "cycles"
        )
    return _all("how", [f"{names}, sampled{by}{how}{what}{where}"]) + _all("caution", cautions)


def _inlines(comparison: Comparison) -> Iterator[str]:
    """Whose kernel shows none, if no kernel does. Where some do, cautions say it."""
    if inlines.VMLINUX not in inlines.folded(comparison.manifest.compared):
        pairs = zip(comparison.labels, comparison.inlines_visible, strict=True)
        if lacking := [label for label, known in pairs if not known]:
            yield f"{', '.join(lacking)}: no debug ELF, so inlined functions are not visible"


def _repeated(comparison: Comparison) -> Iterator[str]:
    """What several runs of each kernel tell; kernels that agree in all are named together."""
    pairs = list(zip(comparison.labels, comparison.repetitions, strict=True))
    same: dict[int, list[str]] = {}
    for label, one in pairs:
        if one.identical and comparison.metric.deterministic and not comparison.manifest.order.vary:
            same.setdefault(one.runs, []).append(label)
    for runs, labels in same.items():
        if runs > 1:
            yield f"reproduced bit for bit ({runs} runs): {', '.join(labels)}"
    for label, one in pairs:
        if one.runs > 1 and label not in same.get(one.runs, []):
            yield from _differing(comparison, label, one)


def _differing(comparison: Comparison, label: str, repetitions: Repetitions) -> Iterator[str]:
    """What several runs of a kernel tell that are not equal."""
    exact = comparison.metric.deterministic
    what = "instructions" if exact else comparison.metric.title
    low, high = repetitions.lowest, repetitions.highest
    spread = f"with {low:,} {what} each" if low == high else f"with {low:,} to {high:,} {what}"
    shown = "the report shows the run with the median total"
    if not exact:
        yield f"{label}: {repetitions.runs} runs {spread}; {shown}"
        return
    if comparison.manifest.order.vary:
        yield f"{label}: {repetitions.runs} boots, varied on purpose, {spread}; {shown}"
        return
    yield f"{label}: NOT reproduced: {repetitions.runs} runs {spread}; {shown}"
    for function, low, high in repetitions.differing[:_NAMED]:
        yield f"{label}: {function.name} differs, {low:,} to {high:,}"
    more = len(repetitions.differing) - _NAMED
    if more > 0:
        verb = "function differs" if more == 1 else "functions differ"
        yield f"{label}: {more:,} more {verb}"
    for reason, in_kernel, low, high in repetitions.unresolved:
        yield f"{label}: unresolved: {reason} ({side(in_kernel)}) differs, {low:,} to {high:,}"
    if not repetitions.differing and not repetitions.unresolved:
        yield (
            f"{label}: the counts of all functions are equal, but counts at addresses within them "
            "differ"
        )


_MOST, _LONGEST = 3, 24


def heading(findings: Findings) -> str:
    """``instructions per op: +5.9% on v6.18, +6.4% on v7.1, against v6.12, at n 4``: of the metric
    that says most, as the tables have it. With more than three kernels, it is the one that changed
    most and the last one. For a bisection, which commit is the culprit."""
    found = largest_change(findings.results, findings.setting)
    bisected = findings.manifest.bisection
    one_commit = bisected is not None and not bisected.candidates
    if bisected and one_commit and found and findings.results.labels[found.kernel] == CULPRIT:
        return f"{_metric(found)}: {_change(found.change)} since {bisected.culprit.commit[:12]}"
    if found:
        return _of_result(findings, found)
    if findings.comparisons and len(findings.comparisons[0].labels) > 1:
        return _of_counts(findings)
    return f"{_short(findings.kernels[0].label)}: measured, nothing to compare"


def _of_result(findings: Findings, found: LargestChange) -> str:
    base, *others = findings.results.labels
    changes = {
        label: _change(change)
        for label, change in zip(others, found.result.changes[1:], strict=True)
        if change is not None
    }
    largest = findings.results.labels[found.kernel]
    at = units.printable(found.result.setting.title)
    told = f"{_metric(found)}: {_listed(changes, largest)}, against {_short(base)}"
    return f"{told}, at {at}" if at else told


def _of_counts(findings: Findings) -> str:
    """The heading of recordings whose counts alone are known."""
    first = findings.comparisons[0]
    base, *others = first.totals().tolist()
    labels = first.labels[1:]
    changes = {}
    for label, other in zip(labels, others, strict=True):
        judged = findings.judged(first, label)
        changes[label] = _told(units.change(base, other), judged and judged[1].verdict)
    largest = labels[others.index(max(others))]
    name = units.printable(first.metric.title)
    return f"{name}: {_listed(changes, largest)}, against {_short(first.labels[0])}"


def _metric(found: LargestChange) -> str:
    """What is measured, without its unit, which the sentences have."""
    one = found.result
    name = units.printable(one.metric.name)
    profiled = registry.collector(one.collector).profiles
    return f"{name} per op" if one.per_op and profiled else name


def _listed(changes: dict[str, str], largest: str) -> str:
    shown = list(changes)
    if len(shown) > _MOST:
        shown = list(dict.fromkeys([largest, shown[-1]]))
    return ", ".join(f"{changes[label]} on {_short(label)}" for label in shown)


def _change(change: Estimate) -> str:
    if change.verdict is Verdict.DEPENDS:
        return "depends on state"
    told = str(result.delta(change))
    if iterated := Iterated.of(change):
        told = f"{told} ({iterated.briefly})"
    if change.alone:
        return f"{told} (seen in one state)"
    return _told(told, change.verdict)


def _told(change: str, verdict: Verdict | None) -> str:
    return f"{change} (unsure)" if verdict is Verdict.UNSURE else change


def _short(label: str) -> str:
    return units.shorten(units.printable(label), _LONGEST)
