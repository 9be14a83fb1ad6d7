"""What maintainers ask of a performance report, and what of it a session holds.

The points are those on which threads on the lists were decided. A point is done where the session
shows it; what it cannot show is missing, however true it may be.
"""

from collections.abc import Callable
from dataclasses import dataclass

from profdiff import points
from profdiff.findings import Findings
from profdiff.mail import measured
from profdiff.mail.letter import Item
from profdiff.mail.reproducer import Reproducer

_STATE = ("processor", "transparent_hugepage", "numa_balancing", "microcode", "swap")


@dataclass(frozen=True)
class Evidence:
    """What the points are judged by. ``culprit``: the commit that bisection found, if it was
    given."""

    findings: Findings
    real_use: str | None
    culprit: str | None
    reproducer: Reproducer | None

    @property
    def labels(self) -> list[str]:
        """Of the kernels with a result, the base's first."""
        return [kernel.label for kernel in self.findings.kernels]


Verdict = tuple[bool, str]


def items(evidence: Evidence) -> list[Item]:
    """All points, in the order in which readers ask for them."""
    return [Item(text, *judge(evidence)) for text, judge in POINTS]


def _plain_sentence(evidence: Evidence) -> Verdict:
    known = [kernel for kernel in evidence.findings.kernels if kernel.release]
    if len(known) < len(evidence.labels):
        return False, "the release of a kernel is unknown"
    if not measured.architecture(evidence.findings):
        return False, "the architecture is unknown"
    return True, f"{known[0].release} to {known[-1].release}"


def _real_use(evidence: Evidence) -> Verdict:
    if evidence.real_use:
        return True, "said above"
    return False, "the workload is synthetic, and no real user of the path is known"


def _bisection(evidence: Evidence) -> Verdict:
    reverts = [label for label in evidence.labels if "revert" in label.lower()]
    lacking = [] if evidence.culprit else ["a bisection to one commit"]
    lacking += [] if reverts else ["a column with that commit reverted"]
    if lacking:
        return False, " and ".join(lacking)
    return True, f"{evidence.culprit}; {', '.join(reverts)}"


def _sweep(evidence: Evidence) -> Verdict:
    manifest = evidence.findings.manifest
    swept = points.varied(manifest)
    if not swept:
        return False, "one set of parameters was measured, no range of sizes"
    return True, f"{len(points.settings(manifest))} settings of {', '.join(swept)}"


def _microarchitectures(evidence: Evidence) -> Verdict:
    if measured.emulated(evidence.findings):
        return False, "an emulator has none"
    machines = evidence.findings.facts.machines.values()
    names = sorted({own["processor"] for own in machines if own.get("processor")})
    return len(names) > 1, ", ".join(names) if len(names) > 1 else "one processor, or unknown ones"


def _series(evidence: Evidence) -> Verdict:
    fewest = measured.fewest_runs(evidence.findings)
    if len(evidence.labels) < 3:
        return False, "fewer than three kernels, no patch of a series on its own"
    if fewest < 2:
        return False, "a kernel has one run, and so no spread"
    return True, f"{len(evidence.labels)} kernels, {fewest} runs or more of each"


def _other_case(evidence: Evidence) -> Verdict:
    return False, "only this workload was measured, not one that the change could help or hurt"


def _hot_functions(evidence: Evidence) -> Verdict:
    comparisons = evidence.findings.comparisons
    if "instructions" not in [one.metric.name for one in comparisons]:
        return False, "instructions were not counted"
    if not all(comparisons[0].inlines_visible):
        return False, "functions are shown, inlined ones not (a kernel has no debug ELF)"
    return True, "in the table, inlined ones too"


def _code_layout(evidence: Evidence) -> Verdict:
    used = sorted({one.compiler or "an unknown compiler" for one in evidence.findings.kernels})
    return False, f"symbol sizes and disassembly per compiler; used was {', '.join(used)}"


def _same_state(evidence: Evidence) -> Verdict:
    state = evidence.findings.state
    if state.differences:
        return False, f"what differs is said above ({len(state.differences)})"
    unknown = state.unknown or ([] if state.equal else ["state"])
    if unknown:
        return False, f"not known of the workload: {', '.join(unknown)}"
    return True, f"nothing differs of what was compared ({len(state.equal)})"


def _reproducer(evidence: Evidence) -> Verdict:
    if evidence.reproducer is None:
        return False, "the workload's source"
    if evidence.reproducer.text is None:
        return False, "the source is too long for this mail: link it"
    return True, "its source and the command are above"


def _own_tree(evidence: Evidence) -> Verdict:
    return False, "a retest on the maintainer's tree"


def _bare_metal(evidence: Evidence) -> Verdict:
    facts = evidence.findings.facts
    machines = [facts.machines.get(label, {}) for label in evidence.labels]
    known = all(own.get("processor") and not own.get("hypervisor") for own in machines)
    if known and not measured.emulated(evidence.findings):
        return True, machines[0]["processor"]
    return False, "an emulator or a virtual machine, or a machine that is not known"


def _state(evidence: Evidence) -> Verdict:
    facts, labels = evidence.findings.facts, evidence.labels
    lacking = [] if set(labels) <= set(facts.configs) else ["config"]
    lacking += [] if set(labels) <= facts.command_lines.keys() else ["command line"]
    own = facts.machines.get(labels[0], {})
    lacking += [name.replace("_", " ") for name in _STATE if not own.get(name)]
    lacking += [] if any(name.startswith("mitigation ") for name in own) else ["mitigations"]
    return not lacking, ", ".join(lacking) or "said above, where it differs"


def _repetitions(evidence: Evidence) -> Verdict:
    fewest = measured.fewest_runs(evidence.findings)
    if fewest < 2:
        return False, "a kernel has one run only"
    failed = sum(run.failure is not None for run in evidence.findings.manifest.runs)
    return True, f"{fewest} runs or more of each kernel, each shown unrounded; {failed} failed"


def _work(evidence: Evidence) -> Verdict:
    ops = evidence.findings.ops
    return bool(ops), f"counts per op, {ops:,} ops" if ops else "how many ops it was is not known"


# Name and judge.
POINTS: list[tuple[str, Callable[[Evidence], Verdict]]] = [
    ("What, by how much, where", _plain_sentence),
    ("A real user", _real_use),
    ("Bisection and revert", _bisection),
    ("Sweep over sizes", _sweep),
    ("Several microarchitectures", _microarchitectures),
    ("Every patch, with its spread", _series),
    ("The case that it could hurt", _other_case),
    ("Hot functions, their instructions", _hot_functions),
    ("Code layout", _code_layout),
    ("Same work in the same state", _same_state),
    ("Reproducer", _reproducer),
    ("Maintainer's tree", _own_tree),
    ("Bare metal", _bare_metal),
    ("State of the machine", _state),
    ("Repetitions", _repetitions),
    ("Work per op", _work),
]
