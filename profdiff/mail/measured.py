"""The section that says what was measured and how, before any number is shown."""

from collections.abc import Sequence
from itertools import pairwise

from profdiff.comparison import Comparison
from profdiff.findings import Findings
from profdiff.mail.letter import Notes, Part, Prose, Section, Table
from profdiff.manifest import Run
from profdiff.reports import evidence_text, state_lines, summary, units
from profdiff.reports.columns import Columns

_NAMED_RUNS = 24
_WIDTH = 100
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
    """Workload, state, kernels, machine, how it was counted, runs, and what else differs."""
    labels = [kernel.label for kernel in findings.kernels]
    workload = summary.workload(findings.manifest, findings.setting)
    parts: list[Part] = [
        Prose(f"Workload: {workload}. {_use(real_use)}"),
        Notes(state_lines.lines(findings.state)),
        Notes(_kernels(findings)),
        Notes([*_how(findings), *_machines(findings)]),
        Notes(_runs(findings)),
        _totals(findings.comparisons),
        Notes([f"Differs: {line}" for line in findings.facts.summaries(labels)]),
    ]
    return Section("What was measured", [*parts, *_config(findings)])


def emulated(findings: Findings) -> bool:
    """Whether an emulator or virtual machine of profdiff's own ran the kernels."""
    return any(run.qemu for run in findings.manifest.runs)


def architecture(findings: Findings) -> str:
    """What the kernels ran on: ``x86_64``; "" if that is not known."""
    for machine in findings.facts.machines.values():
        if machine.get("architecture"):
            return units.printable(machine["architecture"])
    for run in findings.manifest.runs:
        if run.qemu and run.qemu.arguments:
            _, found, name = run.qemu.arguments[0].rpartition("qemu-system-")
            if found and name.isidentifier():
                return name
    return ""


def fewest_runs(findings: Findings) -> int:
    """Finished runs at the setting, of the kernel and collector that has fewest."""
    counts = {
        (kernel.label, collector): 0
        for kernel in findings.kernels
        for collector in findings.manifest.collectors
    }
    for run in findings.manifest.runs:
        key = (run.kernel, run.collector)
        if run.point == findings.setting.point and run.failure is None and key in counts:
            counts[key] += 1
    return min(counts.values())


def order(runs: Sequence[Run]) -> list[Run]:
    """Runs in the order in which they started."""
    return sorted(runs, key=lambda run: run.started)


def interleaved(runs: Sequence[Run]) -> bool:
    """Whether no kernel's runs were over before another's began."""
    labels = [run.kernel for run in order(runs)]
    blocks = sum(a != b for a, b in pairwise(labels)) + 1
    return len(set(labels)) > 1 and blocks > len(set(labels))


def _use(real_use: str | None) -> str:
    if real_use:
        return f"Its real use: {real_use}"
    return "Take it for synthetic: nothing is known that people use and that runs like this."


def _kernels(findings: Findings) -> list[str]:
    lines = []
    for index, kernel in enumerate(findings.kernels):
        facts = [
            f"Linux {kernel.release}" if kernel.release else "release unknown",
            f"build id {kernel.build_id}" if kernel.build_id else "no build id",
            kernel.compiler or "compiler unknown",
            *(["the base"] if index == 0 else []),
        ]
        lines.append(f"{kernel.label}: {', '.join(facts)}")
    return lines


def _how(findings: Findings) -> list[str]:
    lines = summary.evidence(findings.comparisons)
    if evidence_text.worth_showing(findings.evidence):
        lines += evidence_text.notes(findings.evidence)
    if emulated(findings):
        lines.append(
            "These are instruction counts from an emulator: they say which code is executed how "
            "often, and nothing of time, cycles or caches on hardware."
        )
    return lines


def _machines(findings: Findings) -> list[str]:
    """The base's machine; what differs from it is said with the differences."""
    known = findings.facts.machines.get(findings.kernels[0].label, {})
    told = [f"{said} {known[name]}" for name, said in _MACHINE.items() if known.get(name)]
    return [f"machine: {', '.join(told)}"] if told else []


def _runs(findings: Findings) -> list[str]:
    """How many runs, in which order, and which failed."""
    runs = order(findings.manifest.runs)
    failed = sum(run.failure is not None for run in runs)
    named = ", ".join(run.kernel + ("!" if run.failure else "") for run in runs[:_NAMED_RUNS])
    more = f" and {len(runs) - _NAMED_RUNS:,} more" if len(runs) > _NAMED_RUNS else ""
    boots = ", each in a boot of its own" if all(run.qemu for run in runs) else ""
    how = "interleaved" if interleaved(runs) else "not interleaved"
    lines = [f"{len(runs):,} runs{boots}, in this order ({how}): {named}{more}"]
    lines.append(f"failed runs: {failed:,}" + (" (!)" if failed else ""))
    return lines


def _totals(comparisons: Sequence[Comparison]) -> Table:
    """Every run's whole, unrounded."""
    rows = []
    for comparison in comparisons:
        totals = comparison.run_counts.sum(axis=0)
        for run, total in zip(comparison.runs, totals.tolist(), strict=True):
            rows.append(([f"{total:,}", comparison.metric.title], units.printable(run.id)))
    if not rows:
        return Table([], [])
    head, *lines = Columns((["total", "metric"], "run"), rows, [], _WIDTH).lines()
    return Table([head], lines[: len(rows)])


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
