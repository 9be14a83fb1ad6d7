"""What maintainers ask of a performance report, and what of it a session holds.

The points are those on which threads on the lists were decided. A point is done where the session
shows it; what it cannot show is missing, however true it may be.
"""

from collections.abc import Callable
from dataclasses import dataclass

from profdiff.evidence.findings import Findings
from profdiff.evidence.measurements import is_time
from profdiff.mail import measured
from profdiff.mail.letter import Item
from profdiff.mail.reproducer import Reproducer
from profdiff.reports import state_lines
from profdiff.session import points

_NAMED = 3
# Fewer values of a size are no sweep.
_SWEPT = 3
# What a report must say of a machine, as environment.sh names it; and of the state of its memory,
# with what it is called where a guest told it.
_MACHINE = ("processor", "microcode", "numa_balancing")
_STATE = {"transparent_hugepage": "transparent_hugepage/enabled", "swap": "swap"}


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
        return False, "the release of a kernel"
    if not measured.architecture(evidence.findings):
        return False, "the architecture"
    return True, f"{known[0].release} to {known[-1].release}"


def _real_use(evidence: Evidence) -> Verdict:
    return bool(evidence.real_use), "said above" if evidence.real_use else "none is known"


def _bisection(evidence: Evidence) -> Verdict:
    reverts = [label for label in evidence.labels if "revert" in label.lower()]
    lacking = [] if evidence.culprit else ["the culprit"]
    lacking += [] if reverts else ["a kernel with it reverted"]
    if lacking:
        return False, " and ".join(lacking)
    return True, f"{evidence.culprit}; {', '.join(reverts)}"


def _sweep(evidence: Evidence) -> Verdict:
    findings = evidence.findings
    known = points.settings(findings.manifest)
    complete = [one for one in known if _fewest_boots(findings, one)]
    told, wide = [], False
    for name in findings.evidence.swept:
        values = list(dict.fromkeys(points.value_of(one, name) for one in complete))
        wide = wide or (name != "vCPUs" and len(values) >= _SWEPT)
        told += [f"{name} {values[0]} to {values[-1]}, {len(values)} values"] if values else []
    return wide, "; ".join(told) or "one size"


def _microarchitectures(evidence: Evidence) -> Verdict:
    if measured.emulated(evidence.findings):
        return False, "an emulator has none"
    machines = evidence.findings.facts.machines.values()
    names = sorted({own["processor"] for own in machines if own.get("processor")})
    return len(names) > 1, ", ".join(names) or "the processor is not known"


def _series(evidence: Evidence) -> Verdict:
    findings = evidence.findings
    fewest = _fewest_boots(findings, findings.setting)
    told = f"{_number(len(evidence.labels), 'kernel')}, {_number(fewest, _what(findings))} of each"
    return len(evidence.labels) > 2 and fewest > 1, told


def _other_case(evidence: Evidence) -> Verdict:
    return False, "only this workload was measured"


def _hot_functions(evidence: Evidence) -> Verdict:
    comparisons = evidence.findings.comparisons
    if "instructions" not in [one.metric.name for one in comparisons]:
        return False, "instructions were not counted"
    if not all(comparisons[0].inlines_visible):
        return False, "inlined ones (a kernel has no debug ELF)"
    return True, "in the table, inlined ones too"


def _code_layout(evidence: Evidence) -> Verdict:
    return False, "symbol sizes and disassembly, with another compiler too"


def _same_state(evidence: Evidence) -> Verdict:
    state = evidence.findings.state
    if state.differences:
        named = [state_lines.name(one.what) for one in state.differences[:_NAMED]]
        more = len(state.differences) - _NAMED
        return False, f"{', '.join(named)}{f' and {more} more' if more > 0 else ''} differ"
    unknown = state.unknown or ([] if state.equal else ["state"])
    if unknown:
        return False, f"not known: {', '.join(unknown)}"
    return True, f"{len(state.equal)} things compared, all equal (above)"


def _reproducer(evidence: Evidence) -> Verdict:
    if evidence.reproducer is None:
        return False, "the workload's source"
    if evidence.reproducer.text is None:
        return False, "too long for this mail: link it"
    return True, "source and command are above"


def _own_tree(evidence: Evidence) -> Verdict:
    return False, "not retested there"


def _bare_metal(evidence: Evidence) -> Verdict:
    if measured.emulated(evidence.findings):
        return False, "an emulator"
    facts = evidence.findings.facts
    machines = [facts.machines.get(label, {}) for label in evidence.labels]
    if measured.guests(evidence.findings) or any(own.get("hypervisor") for own in machines):
        return False, "a virtual machine"
    if not all(own.get("processor") for own in machines):
        return False, "the machine is not known"
    return True, machines[0]["processor"]


def _state(evidence: Evidence) -> Verdict:
    findings = evidence.findings
    facts, labels = findings.facts, evidence.labels
    lacking = [] if set(labels) <= set(facts.configs) else ["config"]
    lacking += [] if set(labels) <= facts.command_lines.keys() else ["command line"]
    own = facts.machines.get(labels[0], {})
    for name in () if measured.emulated(findings) else _MACHINE:
        lacking += [] if own.get(name) else [name.replace("_", " ")]
    compared = {*findings.state.equal, *(one.what for one in findings.state.differences)}
    for name, member in _STATE.items():
        if not own.get(name) and not any(member in one for one in compared):
            lacking.append(name.replace("_", " "))
    mitigations = any(name.startswith("mitigation ") for name in own) or all(
        "mitigations=" in facts.command_lines.get(label, "") for label in labels
    )
    lacking += [] if mitigations else ["mitigations"]
    return not lacking, ", ".join(lacking) or "said above"


def _repetitions(evidence: Evidence) -> Verdict:
    findings = evidence.findings
    fewest = _fewest_boots(findings, findings.setting)
    failed = sum(run.failure is not None for run in findings.manifest.runs)
    told = f"{_number(fewest, _what(findings))} of each kernel, {failed} failed"
    changes = [one for result in findings.evidence.at(findings.setting) for one in result.changes]
    weak = [
        one.smallest_p
        for one in changes
        if one and one.verdict != "exact" and one.smallest_p > findings.evidence.rule.alpha
    ]
    if weak:
        told += f"; p cannot be below {max(weak):.2g}"
    return fewest > 1 and not weak, told


def _work(evidence: Evidence) -> Verdict:
    findings = evidence.findings
    if findings.ops:
        return True, f"{findings.ops:,} ops, counts per op"
    results = findings.evidence.at(findings.setting)
    own = [one.metric for one in results if is_time(one.metric) and "/" in one.metric.unit]
    told = ", ".join(f"{metric.name} in {metric.unit}" for metric in own[:_NAMED])
    return bool(own), told or "the number of ops"


def _noise(evidence: Evidence) -> Verdict:
    findings = evidence.findings
    floors = [one for one in findings.evidence.at(findings.setting) if one.noise]
    if not floors:
        return False, "the base was not run against itself"
    return True, f"{_number(len(floors), 'metric')}, above"


def _fewest_boots(findings: Findings, setting: points.Setting) -> int:
    """Finished runs at a setting, of the kernel that has fewest."""
    results = findings.evidence.at(setting)
    if results:
        return min(len(cell.boots) for one in results for cell in one.cells)
    if setting == findings.setting and findings.comparisons:
        return min(one.runs for one in findings.comparisons[0].repetitions)
    return 0


def _what(findings: Findings) -> str:
    return "boot" if findings.evidence.results else "run"


def _number(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


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
    ("Noise floor (A/A)", _noise),
    ("Work per op", _work),
]
