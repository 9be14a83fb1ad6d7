"""The section that says what was measured and how, before any number is shown."""

from collections.abc import Iterator

from profdiff.base import units
from profdiff.collectors import registry
from profdiff.evidence.findings import Findings
from profdiff.mail.letter import Notes, Part, Prose, Section, Table
from profdiff.reports.table import Column, draw
from profdiff.views import facts, machine, recording, state
from profdiff.views.machine import Machine

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
    said = recording.workload(findings.manifest, findings.setting).description
    labels = [kernel.label for kernel in findings.kernels]
    synthetic = "The workload is synthetic: no real user of it is known."
    use = f"Real use: {real_use}" if real_use else synthetic
    same = [one.text for one in state.lines(findings.state) if one.kind != "differs"]
    differs = [f"differences: {line}" for line in facts.summaries(findings.facts, labels, 0)]
    parts: list[Part] = [
        Prose(f"Workload: {said}. {use}"),
        Notes(_kernels(findings)),
        Notes([*_how(findings), *_machines(findings), *_order(findings), *_failed(findings)]),
        Notes([*same, *differs]),
    ]
    return Section("What was measured", [*parts, *_config(findings, labels)])


def state_differences(findings: Findings) -> list[str]:
    """What of the kernels' state differs: who reads the result must know it before."""
    lines = [one.text for one in state.lines(findings.state) if one.kind == "differs"]
    more = len(lines) - _FEW
    return lines[:_FEW] + ([f"{more:,} more state differences"] if more > 0 else [])


def _kernels(findings: Findings) -> list[str]:
    kernels = findings.kernels
    compilers = list(dict.fromkeys(kernel.compiler or "unknown" for kernel in kernels))
    lines = []
    for index, kernel in enumerate(kernels):
        known = [
            f"Linux {kernel.release}" if kernel.release else "release unknown",
            f"build id {kernel.build_id[:_BUILD_ID]}" if kernel.build_id else "no build id",
            *([kernel.compiler or "compiler unknown"] if len(compilers) > 1 else []),
            *(["the base"] if index == 0 and len(kernels) > 1 else []),
        ]
        lines.append(f"{kernel.label}: {', '.join(known)}")
    return lines if len(compilers) > 1 else [*lines, f"compiler: {compilers[0]}"]


def _how(findings: Findings) -> list[str]:
    where = machine.machine(findings)
    found = recording.remarks(findings.comparisons)
    lines = [one.text for one in found if one.kind != "advice"]
    lines += _without_profile(findings, where)
    if where.kind == "emulator":
        lines.append(
            "Counts from an emulator show how often code executes. They say nothing about time, "
            "cycles or caches on hardware."
        )
    return lines


def _without_profile(findings: Findings, where: Machine) -> Iterator[str]:
    """How those runs ran that no comparison tells of."""
    inside = findings.manifest.boot_runs
    times = f", {inside} executions in each boot" if inside > 1 else ""
    for name in findings.manifest.collectors:
        runs = [run for run in machine.finished_runs(findings) if run.collector == name]
        if not runs or registry.collector(name).profiles:
            continue
        guest, qemu, told = findings.manifest.guest, runs[0].qemu, ""
        # Of guests that count or sample it was said with them.
        if guest and qemu and not findings.comparisons:
            version = units.printable(qemu.version.removeprefix("QEMU emulator "))
            how = "TCG" if where.kind == "emulator" else "KVM"
            told = f", QEMU {how} ({version}; {findings.setting.cpus} vCPU, {guest.memory} MiB)"
        yield f"{name}: {registry.collector(name).how}{times}{told}"


def _machines(findings: Findings) -> list[str]:
    """The base's machine; what differs from it is said with the differences."""
    known = findings.facts.machines.get(findings.kernels[0].label, {})
    told = [f"{said} {known[name]}" for name, said in _MACHINE.items() if known.get(name)]
    lines = [f"machine: {', '.join(told)}"] if told else []
    line = findings.facts.command_lines.get(findings.kernels[0].label)
    return lines + ([f"kernel command line: {line}"] if line else [])


def _order(findings: Findings) -> list[str]:
    return [
        f"{collector} runs were NOT interleaved: all runs of one kernel finished before those of "
        "another began"
        for collector in machine.in_blocks(findings)
    ]


def _failed(findings: Findings) -> list[str]:
    """The failed runs that no comparison names."""
    named = {run.id for comparison in findings.comparisons for run in comparison.failed}
    failed = [run for run in findings.manifest.runs if run.failure and run.id not in named]
    lines = [f"failed run {run.id}: {run.failure.message}" for run in failed[:_FEW] if run.failure]
    more = len(failed) - _FEW
    return lines + ([f"{more:,} more failed runs"] if more > 0 else [])


def _config(findings: Findings, labels: list[str]) -> list[Part]:
    """The options that can matter and differ, all of them."""
    rows = [
        [*(one.values.get(label) or "absent" for label in labels), one.option]
        for one in findings.facts.config
        if one.relevant
    ]
    if not rows:
        return []
    columns = [*map(Column, labels), Column("config option", name=True)]
    return [Table(one.head, one.body) for one in draw("", columns, rows, _WIDTH)]
