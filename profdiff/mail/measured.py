"""The section that says what was measured and how, before any number is shown."""

from collections.abc import Sequence
from itertools import pairwise

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.mail.letter import Notes, Part, Prose, Section, Table
from profdiff.reports import state_lines, summary
from profdiff.reports.columns import Columns
from profdiff.session.manifest import Run
from profdiff.session.state import State

_WIDTH = 100
_BUILD_ID = 12
_FEW = 6
# What decides most about a machine (evidence.md's state: processor, THP, NUMA balancing ...), as
# environment.sh names it, and as people do.
_MACHINE = {
    "processor": "processor",
    "cpus": "CPUs",
    "hypervisor": "virtual machine",
    "governor": "governor",
    "smt": "SMT",
    "transparent_hugepage": "THP",
    "numa_balancing": "NUMA balancing",
}


def section(findings: Findings, real_use: str | None) -> Section:
    """Workload, kernels, machine, how it was counted, state, failed runs, and what else differs."""
    said = summary.workload(findings.manifest, findings.setting)
    parts: list[Part] = [
        Prose(f"Workload: {said}. {_use(real_use)}"),
        Notes(_kernels(findings)),
        Notes([*_how(findings), *_machines(findings), *_order(findings), *_failed(findings)]),
        Notes([*_same_state(findings.state), *_differs(findings)]),
    ]
    return Section("What was measured", [*parts, *_config(findings)])


def state_differences(findings: Findings) -> list[str]:
    """What of the kernels' state differs: who reads the result must know it before."""
    lines = state_lines.lines(State(findings.state.differences))
    more = len(lines) - _FEW
    return lines[:_FEW] + ([f"{more:,} more differences of state"] if more > 0 else [])


def guests(findings: Findings) -> bool:
    """Whether guests of profdiff's own ran the kernels."""
    return any(run.qemu for run in _finished(findings))


def emulated(findings: Findings) -> bool:
    """Whether guests ran on an emulator, whose time is none."""
    return any(run.qemu and run.qemu.accelerator != "kvm" for run in _finished(findings))


def where(findings: Findings) -> str:
    """On what the kernels ran, for a sentence: ``x86_64 under an emulator``."""
    name = architecture(findings) or "an unknown architecture"
    if emulated(findings):
        return f"{name} under an emulator"
    return f"{name} in a virtual machine" if guests(findings) else name


def architecture(findings: Findings) -> str:
    """What the kernels ran on: ``x86_64``; "" if that is not known."""
    for machine in findings.facts.machines.values():
        if machine.get("architecture"):
            return units.printable(machine["architecture"])
    for run in findings.manifest.runs:
        if run.qemu and run.qemu.architecture:
            return units.printable(run.qemu.architecture)
    return ""


def interleaved(runs: Sequence[Run]) -> bool:
    """Whether no kernel's runs were over before another's began."""
    labels = [run.kernel for run in sorted(runs, key=lambda run: run.started)]
    blocks = sum(a != b for a, b in pairwise(labels)) + 1
    return len(set(labels)) > 1 and blocks > len(set(labels))


def totals(findings: Findings) -> Table:
    """Every recording's whole, unrounded, where nothing else tells it."""
    rows = []
    for comparison in findings.comparisons:
        sums = comparison.run_counts.sum(axis=0)
        for run, total in zip(comparison.runs, sums.tolist(), strict=True):
            rows.append(([f"{total:,}", comparison.metric.title], units.printable(run.id)))
    head, *lines = Columns((["total", "metric"], "recording"), rows, [], _WIDTH).lines()
    return Table([head], lines[: len(rows)])


def _finished(findings: Findings) -> list[Run]:
    return [run for run in findings.manifest.runs if not run.failure]


def _use(real_use: str | None) -> str:
    if real_use:
        return f"Its real use: {real_use}"
    return "It is synthetic: no real user of it is known."


def _kernels(findings: Findings) -> list[str]:
    kernels = findings.kernels
    compilers = list(dict.fromkeys(kernel.compiler or "" for kernel in kernels))
    lines = []
    for index, kernel in enumerate(kernels):
        facts = [
            f"Linux {kernel.release}" if kernel.release else "release unknown",
            f"build id {kernel.build_id[:_BUILD_ID]}" if kernel.build_id else "no build id",
            *([kernel.compiler or "compiler unknown"] if len(compilers) > 1 else []),
            *(["the base"] if index == 0 and len(kernels) > 1 else []),
        ]
        lines.append(f"{kernel.label}: {', '.join(facts)}")
    if len(compilers) == 1:
        lines.append(f"compiler: {compilers[0] or 'unknown'}")
    return lines


def _how(findings: Findings) -> list[str]:
    comparisons = findings.comparisons
    lines = [line for line in summary.evidence(comparisons) if line != summary.ONE_RUN]
    lines += _timed(findings)
    if emulated(findings):
        lines.append(
            "An emulator's counts say which code is executed how often, and nothing of time, "
            "cycles or caches on hardware."
        )
    return lines


def _timed(findings: Findings) -> list[str]:
    """How timed runs ran, which no comparison tells of."""
    runs = [run for run in _finished(findings) if run.collector == "timed"]
    if not runs:
        return []
    inside = findings.manifest.boot_runs
    times = f", {inside} executions in each boot" if inside > 1 else ""
    guest, qemu = findings.manifest.guest, runs[0].qemu
    machine = ""
    # Of guests that count or sample it was said with them.
    if guest and qemu and not findings.comparisons:
        version = units.printable(qemu.version.removeprefix("QEMU emulator "))
        how = (qemu.accelerator or "tcg").upper()
        machine = f", QEMU {how} ({version}; {findings.setting.cpus} vCPU, {guest.memory} MiB)"
    return [f"timed: the command alone, not profiled{times}{machine}"]


def _machines(findings: Findings) -> list[str]:
    """The base's machine; what differs from it is said with the differences."""
    known = findings.facts.machines.get(findings.kernels[0].label, {})
    told = [f"{said} {known[name]}" for name, said in _MACHINE.items() if known.get(name)]
    lines = [f"machine: {', '.join(told)}"] if told else []
    line = findings.facts.command_lines.get(findings.kernels[0].label)
    return lines + ([f"kernel's command line: {line}"] if line else [])


def _order(findings: Findings) -> list[str]:
    """Where runs were meant to be interleaved, and were not."""
    if not findings.evidence.repeated:
        return []
    found = []
    for collector in findings.manifest.collectors:
        runs = [run for run in _finished(findings) if run.collector == collector]
        if len({run.kernel for run in runs}) > 1 and not interleaved(runs):
            found.append(
                f"{collector} runs were NOT interleaved: one kernel's were over before another's "
                "began"
            )
    return found


def _failed(findings: Findings) -> list[str]:
    """The failed runs that no comparison names."""
    named = {run.id for comparison in findings.comparisons for run in comparison.failed}
    failed = [run for run in findings.manifest.runs if run.failure and run.id not in named]
    lines = [f"failed run {run.id}: {run.failure.message}" for run in failed[:_FEW] if run.failure]
    more = len(failed) - _FEW
    return lines + ([f"{more:,} more failed runs"] if more > 0 else [])


def _same_state(state: State) -> list[str]:
    return state_lines.lines(State([], state.equal, state.unknown))


def _differs(findings: Findings) -> list[str]:
    labels = [kernel.label for kernel in findings.kernels]
    return [f"differs: {line}" for line in findings.facts.summaries(labels, 0)]


def _config(findings: Findings) -> list[Part]:
    """The options that can matter and differ, all of them."""
    labels = [kernel.label for kernel in findings.kernels]
    rows = [
        ([one.values.get(label) or "absent" for label in labels], one.option)
        for one in findings.facts.config
        if one.relevant
    ]
    if not rows:
        return []
    printed = [([units.printable(cell) for cell in cells], name) for cells, name in rows]
    head, *lines = Columns((labels, "config option"), printed, [], _WIDTH).lines()
    return [Table([head], lines[: len(rows)])]
