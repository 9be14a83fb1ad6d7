"""The section that says what was measured and how, before any number is shown."""

from collections.abc import Sequence
from itertools import pairwise

from profdiff.comparison import Comparison
from profdiff.mail.letter import Notes, Part, Prose, Section, Table
from profdiff.manifest import Run
from profdiff.reports import summary, units
from profdiff.reports.columns import Columns
from profdiff.session import Session

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


def section(session: Session, comparisons: Sequence[Comparison], real_use: str | None) -> Section:
    """Workload, kernels, machine, how it was counted, runs, and what else differs."""
    first = comparisons[0]
    parts: list[Part] = [
        Prose(f"Workload: {summary.workload(first)}. {_use(real_use)}"),
        Notes(_kernels(first)),
        Notes([*_how(comparisons), *_machines(first)]),
        Notes(_runs(comparisons)),
        _totals(comparisons),
        Notes([f"Differs: {line}" for line in first.facts.summaries(first.labels)]),
    ]
    return Section("What was measured", [*parts, *_config(first)])


def emulated(comparison: Comparison) -> bool:
    """Whether an emulator or virtual machine of profdiff's own ran the kernels."""
    return any(run.qemu for run in comparison.runs)


def architecture(comparison: Comparison) -> str:
    """What the kernels ran on: ``x86_64``; "" if that is not known."""
    for machine in comparison.facts.machines.values():
        if machine.get("architecture"):
            return units.printable(machine["architecture"])
    for run in comparison.runs:
        if run.qemu and run.qemu.arguments:
            _, found, name = run.qemu.arguments[0].rpartition("qemu-system-")
            if found and name.isidentifier():
                return name
    return ""


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


def _kernels(comparison: Comparison) -> list[str]:
    lines = []
    for index, kernel in enumerate(comparison.kernels):
        facts = [
            f"Linux {kernel.release}" if kernel.release else "release unknown",
            f"build id {kernel.build_id}" if kernel.build_id else "no build id",
            kernel.compiler or "compiler unknown",
            *(["the base"] if index == 0 else []),
        ]
        lines.append(f"{kernel.label}: {', '.join(facts)}")
    return lines


def _how(comparisons: Sequence[Comparison]) -> list[str]:
    lines = summary.evidence(comparisons)
    if any(emulated(one) and one.metric.exact for one in comparisons):
        lines.append(
            "These are instruction counts from an emulator: they say which code is executed how "
            "often, and nothing of time, cycles or caches on hardware."
        )
    elif any(map(emulated, comparisons)):
        lines.append("The kernels ran under an emulator: nothing here is a timing of hardware.")
    return lines


def _machines(comparison: Comparison) -> list[str]:
    """The base's machine; what differs from it is said with the differences."""
    known = comparison.facts.machines.get(comparison.labels[0], {})
    told = [f"{said} {known[name]}" for name, said in _MACHINE.items() if known.get(name)]
    return [f"machine: {', '.join(told)}"] if told else []


def _runs(comparisons: Sequence[Comparison]) -> list[str]:
    """How many runs, in which order, and which failed."""
    by_id = {run.id: run for one in comparisons for run in (*one.runs, *one.failed)}
    runs = order(list(by_id.values()))
    failed = [run.id for run in runs if run.failure]
    named = ", ".join(run.kernel + ("!" if run.failure else "") for run in runs[:_NAMED_RUNS])
    more = f" and {len(runs) - _NAMED_RUNS:,} more" if len(runs) > _NAMED_RUNS else ""
    boots = ", each in a boot of its own" if all(run.qemu for run in runs) else ""
    how = "interleaved" if interleaved(runs) else "not interleaved"
    lines = [f"{len(runs):,} runs{boots}, in this order ({how}): {named}{more}"]
    lines.append(f"failed runs: {len(failed):,}" + (" (! above)" if failed else ""))
    return lines


def _totals(comparisons: Sequence[Comparison]) -> Table:
    """Every run's whole, unrounded."""
    rows = []
    for comparison in comparisons:
        totals = comparison.run_counts.sum(axis=0)
        for run, total in zip(comparison.runs, totals.tolist(), strict=True):
            rows.append(([f"{total:,}", comparison.metric.title], units.printable(run.id)))
    head, *lines = Columns((["total", "metric"], "run"), rows, [], _WIDTH).lines()
    return Table([head], lines[: len(rows)])


def _config(comparison: Comparison) -> list[Part]:
    """The options that can matter and differ, all of them."""
    labels = comparison.labels
    rows = [
        ([one.values.get(label) or "absent" for label in labels], one.option)
        for one in comparison.facts.config
        if one.relevant
    ]
    if not rows:
        return []
    printed = [([units.printable(cell) for cell in cells], name) for cells, name in rows]
    head, *lines = Columns((labels, "config option"), printed, [], _WIDTH).lines()
    return [Table([head], lines[: len(rows)])]
