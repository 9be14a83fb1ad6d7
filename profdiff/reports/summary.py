"""What every report says first: the answer in one sentence, and what it rests on."""

import shlex
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from profdiff.base import units
from profdiff.profile.comparison import Comparison, Side
from profdiff.session import points
from profdiff.session.manifest import Manifest, Sampling

_NAMED = 3
# A stranger's command line may have any digits, and any number of them.
# Said to who recorded, not to who reads a mail.
ONE_RUN = "one run each: record with --verify to see whether they reproduce"


def answers(comparison: Comparison, side: Side | None = None) -> list[str]:
    """One sentence for each kernel but the base: how much more it costs, and where."""
    totals = comparison.totals(side)
    base = comparison.labels[0]
    metric = comparison.metric
    # Instructions are executed; cycles and nanoseconds are taken.
    verb, what = ("executes", metric.name) if metric.exact else ("takes", metric.title)
    where = {"kernel": " in the kernel", "user": " in user space", None: ""}[side]
    sentences = []
    for index, label in list(enumerate(comparison.labels))[1:]:
        delta = int(totals[index] - totals[0])
        if delta == 0:
            sentence = f"{label} {verb} exactly as many {what}{where} as {base}"
        elif totals[0] == 0:
            sentence = f"{label} {verb} {totals[index]:,} {what}{where}, {base} none"
        else:
            sentence = (
                f"{label} {verb} {totals[index] / totals[0]:.3f} times the {what} of "
                f"{base}{where} in this workload: {delta:+,} ({units.change(*totals[[0, index]])})"
            )
        sentences.append(f"{sentence}{_where(comparison, index, side)}.")
    return sentences


def _where(comparison: Comparison, index: int, side: Side | None) -> str:
    found = largest(comparison, index, side)
    if found is None:
        return ""
    names, part = found
    if part > 1:
        return f"; {names} alone change by {part:.1f} times that, others the other way"
    return f"; {names} alone make {100 * part:.0f} % of that"


def largest(
    comparison: Comparison, index: int, side: Side | None = None
) -> tuple[str, float] | None:
    """The functions with the largest deltas in the direction of the whole, and their part of it:
    above 1 where others go the other way. None where there are none."""
    totals = comparison.totals(side)
    delta = int(totals[index] - totals[0])
    rows = comparison.rows(side)
    deltas = comparison.deltas()[rows, index] * (1 if delta > 0 else -1)
    most = [i for i in np.argsort(-deltas, kind="stable")[:_NAMED] if deltas[i] > 0]
    if not delta or not most:
        return None
    names = [comparison.functions[rows[i]].name for i in most]
    return units.printable(", ".join(names)), sum(int(deltas[i]) for i in most) / abs(delta)


def workload(manifest: Manifest, setting: points.Setting) -> str:
    """The workload, its ops, and what of it was measured."""
    windows = {
        (run.window.kind, run.window.count)
        for run in manifest.runs
        if run.window and not run.failure and run.point == setting.point
        if run.collector != "timed"
    }
    window = " or ".join(
        f"{number} marked window{'s' if number != 1 else ''}"
        if kind == "marks"
        else "whole command"
        for kind, number in sorted(windows)
    )
    facts = [f"{setting.ops:,} ops"] if setting.ops else []
    if difference := manifest.difference:
        facts.append(
            f"{difference.parameter} {difference.long:,} minus {difference.parameter} "
            f"{difference.short:,}"
        )
    facts += [at] if (at := points.title(points.varied(manifest), setting)) else []
    facts += [window] if window else []
    at_hand = manifest.points[setting.point].parameters
    argv = [points.substitute(word, at_hand) for word in manifest.workload.argv]
    command = units.printable(shlex.join(argv)) or "unknown"
    return f"{command} ({'; '.join(facts)})" if facts else command


def evidence(comparisons: Sequence[Comparison]) -> list[str]:
    """How the numbers came about, and what they do not show; one line each."""
    lines: list[str] = []
    for _, members in groupby(comparisons, key=lambda comparison: comparison.runs[0].collector):
        group = list(members)
        lines += [_exactly(group[0])] if group[0].metric.exact else _sampled(group)
        lines += _repetition_lines(group[0])
        lines += [units.printable(remark) for remark in group[0].remarks]
        lines += _inlines_lines(group[0])
        for run in group[0].failed:
            lines.append(f"failed run {run.id}: {units.printable(run.failure.message)}")  # type: ignore[union-attr]
        lines += [f"{label}: no run gave a result" for label in group[0].without_result]
    return list(dict.fromkeys(lines))


def _exactly(comparison: Comparison) -> str:
    versions = {run.qemu.version for run in comparison.runs if run.qemu}
    qemus = sorted(version.removeprefix("QEMU emulator ") for version in versions)
    guest = comparison.manifest.guest
    machine = f"; {comparison.setting.cpus} vCPU, {guest.memory} MiB" if guest else ""
    return (
        "instructions, exact: every one between the marks, whole guest, counted by QEMU TCG "
        f"({', '.join(map(units.printable, qemus))}{machine})"
    )


def _sampled(group: list[Comparison]) -> list[str]:
    """What was sampled how, in which order of trust."""
    runs = group[0].runs
    told = [run.sampling for run in runs if run.sampling]
    names = " and ".join(comparison.metric.title for comparison in group)
    versions = sorted({one.version for one in told if one.version})
    rates = {_rate(one) for one in told}
    how = f", {' or '.join(sorted(rates))}" if rates and "" not in rates else ""
    by = f" by perf {', '.join(map(units.printable, versions))}" if versions else ""
    where = ", in a guest under QEMU: no timings" if runs[0].qemu else ""
    what = ", whole command" if any(run.window for run in runs) else ""
    lines = [f"{names}, sampled{by}{how}{what}{where}"]
    fallbacks = {one.fallback for one in told if one.fallback}
    lines += [f"NOT what was asked for: {units.printable(reason)}" for reason in sorted(fallbacks)]
    if any(one.virtual_time for one in told):
        lines.append(
            "cycles is QEMU's virtual time (1 GHz, one instruction each nanosecond), not what a "
            "processor takes"
        )
    return lines


def _rate(sampling: Sampling) -> str:
    """How often samples were taken; "" if that is not known."""
    if sampling.period:
        return f"one sample every {sampling.period:,}"
    return f"{sampling.frequency:,} samples a second" if sampling.frequency else ""


def _inlines_lines(comparison: Comparison) -> list[str]:
    lines = []
    for label, visible in zip(comparison.labels, comparison.inlines_visible, strict=True):
        if not visible:
            lines.append(f"{label}: no debug ELF, so inlined functions are not visible")
    if not all(comparison.inlines_visible) and any(comparison.inlines_visible):
        lines.append(
            "kernels with and without a debug ELF do not compare function by function: inlined "
            "functions count as their callers where they are not visible"
        )
    return lines


def _repetition_lines(comparison: Comparison) -> list[str]:
    lines = []
    for label, repetitions in zip(comparison.labels, comparison.repetitions, strict=True):
        if repetitions.runs == 1:
            continue
        if not comparison.metric.exact:
            lines.append(
                f"{label}: {repetitions.runs} runs of {repetitions.lowest:,} to "
                f"{repetitions.highest:,} {comparison.metric.title}; shown is the one with the "
                "median total"
            )
            continue
        if comparison.manifest.order.vary:
            lines.append(
                f"{label}: {repetitions.runs} boots, varied on purpose, of {repetitions.lowest:,} "
                f"to {repetitions.highest:,} instructions; shown is the run with the median total"
            )
            continue
        if repetitions.identical:
            lines.append(f"{label}: reproduced bit for bit ({repetitions.runs} runs)")
            continue
        lines.append(
            f"{label}: NOT reproduced: {repetitions.runs} runs of {repetitions.lowest:,} to "
            f"{repetitions.highest:,} instructions; shown is the run with the median total"
        )
        lines += [
            f"{label}: {units.printable(function.name)} differs, {low:,} to {high:,}"
            for function, low, high in repetitions.differing[:_NAMED]
        ]
        more = len(repetitions.differing) - _NAMED
        if more > 0:
            verb = "function differs" if more == 1 else "functions differ"
            lines.append(f"{label}: {more:,} more {verb}")
        lines += [
            f"{label}: unresolved: {reason} ({'kernel' if in_kernel else 'user'}) differs, "
            f"{low:,} to {high:,}"
            for reason, in_kernel, low, high in repetitions.unresolved
        ]
        if not repetitions.differing and not repetitions.unresolved:
            lines.append(f"{label}: every function's count is equal; addresses within them differ")
    if not comparison.metric.exact:
        return lines
    if not comparison.manifest.verify and all(r.runs == 1 for r in comparison.repetitions):
        lines.append(ONE_RUN)
    return lines
