"""What every report says first: the answer in one sentence, and what it rests on."""

import shlex

import numpy as np

from profdiff.comparison import Comparison, Side
from profdiff.reports import units

_NAMED = 3


def answers(comparison: Comparison, side: Side | None = None) -> list[str]:
    """One sentence for each kernel but the base: how much more it executes, and where."""
    totals = comparison.totals(side)
    base = comparison.labels[0]
    where = {"kernel": " in the kernel", "user": " in user space", None: ""}[side]
    sentences = []
    for index, label in list(enumerate(comparison.labels))[1:]:
        delta = int(totals[index] - totals[0])
        if delta == 0:
            sentence = f"{label} executes exactly as many instructions{where} as {base}"
        elif totals[0] == 0:
            sentence = f"{label} executes {totals[index]:,} instructions{where}, {base} none"
        else:
            sentence = (
                f"{label} executes {totals[index] / totals[0]:.3f} times the instructions of "
                f"{base}{where} in this workload: {delta:+,} ({units.change(*totals[[0, index]])})"
            )
        sentences.append(f"{sentence}{_where(comparison, index, delta, side)}.")
    return sentences


def _where(comparison: Comparison, index: int, delta: int, side: Side | None) -> str:
    """The functions with the largest deltas in the direction of the whole, and their part of it."""
    if delta == 0:
        return ""
    rows = comparison.rows(side)
    deltas = comparison.deltas()[rows, index] * (1 if delta > 0 else -1)
    largest = [i for i in np.argsort(-deltas, kind="stable")[:_NAMED] if deltas[i] > 0]
    if not largest:
        return ""
    names = [comparison.functions[rows[i]].name for i in largest]
    part = sum(int(deltas[i]) for i in largest) / abs(delta)
    return f"; {units.printable(', '.join(names))} alone make {100 * part:.0f} % of that"


def workload(comparison: Comparison) -> str:
    """The workload, its ops, and what of it was measured."""
    described = comparison.manifest.workload
    windows = {(run.window.kind, run.window.count) for run in comparison.runs if run.window}
    window = " or ".join(
        f"{number} marked window{'s' if number != 1 else ''}"
        if kind == "marks"
        else "whole command"
        for kind, number in sorted(windows)
    )
    ops = f"{described.ops:,} ops; " if described.ops else ""
    return f"{units.printable(shlex.join(described.argv))} ({ops}{window})"


def evidence(comparison: Comparison) -> list[str]:
    """How the numbers came about, and what they do not show; one line each."""
    guest = comparison.manifest.guest
    qemus = sorted({run.qemu.version.removeprefix("QEMU emulator ") for run in comparison.runs})
    lines = [
        "instructions, exact: every one between the marks, whole guest, counted by QEMU TCG "
        f"({', '.join(map(units.printable, qemus))}; {guest.cpus} vCPU, {guest.memory} MiB)"
    ]
    lines += _repetition_lines(comparison)
    for label, visible in zip(comparison.labels, comparison.inlines_visible, strict=True):
        if not visible:
            lines.append(f"{label}: no debug ELF, so inlined functions are not visible")
    if not all(comparison.inlines_visible) and any(comparison.inlines_visible):
        lines.append(
            "kernels with and without a debug ELF do not compare function by function: inlined "
            "functions count as their callers where they are not visible"
        )
    for run in comparison.failed:
        lines.append(f"failed run {run.id}: {units.printable(run.failure.message)}")  # type: ignore[union-attr]
    lines += [f"{label}: no run gave a result" for label in comparison.without_result]
    return lines


def _repetition_lines(comparison: Comparison) -> list[str]:
    lines = []
    for label, repetitions in zip(comparison.labels, comparison.repetitions, strict=True):
        if repetitions.runs == 1:
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
    if not comparison.manifest.verify and all(r.runs == 1 for r in comparison.repetitions):
        lines.append("one run each: record with --verify to see whether they reproduce")
    return lines
