"""What maintainers ask of a performance report, and what of it a session holds.

The items are those on which threads on the lists were decided. An item is done where the session
shows it; what it cannot show is missing, however true it may be.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Literal

import msgspec

from profdiff.base import guest_clock, units
from profdiff.evidence.findings import Findings
from profdiff.evidence.results import is_time
from profdiff.session.points import Setting
from profdiff.session.state import MITIGATION
from profdiff.views.bisection import cited
from profdiff.views.kernels import state
from profdiff.views.kernels.state import Machine, machine
from profdiff.views.record import Record

_NAMED = 3
# Fewer values of a size are not a sweep.
_SWEPT = 3
# What a report must say of a machine, as environment.sh names it; and of the state of its memory,
# with what it is called where a guest told it.
_MACHINE = ("processor", "microcode", "numa_balancing")
_STATE = {"transparent_hugepage": "transparent_hugepage/enabled", "swap": "swap"}


class Item(Record, frozen=True):
    """``note``: what is known of it, or what is missing."""

    text: str
    done: bool
    note: str


class Grounds(msgspec.Struct, frozen=True, dict=True):
    """What the items are judged by. ``culprit``: the commit that bisection found, if it was given;
    ``source``: whether the workload's stands in the mail."""

    findings: Findings
    real_use: str | None = None
    culprit: str | None = None
    source: Literal["included", "too long"] | None = None

    @property
    def labels(self) -> list[str]:
        """The labels of the kernels with a result, the base's first."""
        return [kernel.label for kernel in self.findings.kernels]

    @cached_property
    def machine(self) -> Machine:
        """What the kernels ran on."""
        return machine(self.findings)


_Judged = tuple[bool, str]


def items(known: Grounds) -> list[Item]:
    """All items, in the order in which readers ask for them."""
    found = []
    for text, judge in ITEMS:
        done, note = (False, judge) if isinstance(judge, str) else judge(known)
        found.append(Item(text=text, done=done, note=note))
    return found


def _plain_sentence(known: Grounds) -> _Judged:
    if len(known.labels) < 2:
        return False, "one kernel alone"
    told = [kernel for kernel in known.findings.kernels if kernel.release]
    if len(told) < len(known.labels):
        return False, "the release of a kernel is unknown"
    if not known.machine.architecture:
        return False, "the architecture is unknown"
    return True, f"{told[0].release} to {told[-1].release}"


def _real_use(known: Grounds) -> _Judged:
    return bool(known.real_use), known.real_use or "none known"


def _bisection(known: Grounds) -> _Judged:
    found = known.findings.manifest.bisection
    if found and not found.candidates and found.revert in ("confirmed", "partly"):
        return True, f"{cited(found.culprit)}; the revert on top: {found.revert}"
    reverts = [label for label in known.labels if "revert" in label.lower()]
    lacking = [] if known.culprit else ["the culprit"]
    lacking += [] if reverts else ["a kernel with it reverted"]
    if lacking:
        return False, f"missing: {' and '.join(lacking)}"
    return True, f"{known.culprit}; {', '.join(reverts)}"


def _sweep(known: Grounds) -> _Judged:
    findings = known.findings
    complete = [
        setting for setting in findings.results.settings if _fewest_boots(findings, setting)
    ]
    told, wide = [], False
    for name in findings.results.swept:
        values = list(dict.fromkeys(one.value(name) for one in complete))
        wide = wide or (name != "vCPUs" and len(values) >= _SWEPT)
        told += [f"{name} {values[0]} to {values[-1]}, {len(values)} values"] if values else []
    return wide, "; ".join(told) or "one size"


def _microarchitectures(known: Grounds) -> _Judged:
    if known.machine.kind == "emulator":
        return False, "an emulator has none"
    machines = known.findings.facts.machines.values()
    names = sorted({own["processor"] for own in machines if own.get("processor")})
    return len(names) > 1, ", ".join(names) or "processor unknown"


def _series(known: Grounds) -> _Judged:
    findings = known.findings
    fewest = _fewest_boots(findings, findings.setting)
    told = f"{units.counted(len(known.labels), 'kernel')}, "
    told += f"{units.counted(fewest, _what(findings))} of each"
    return len(known.labels) > 2 and fewest > 1, told


def _hot_functions(known: Grounds) -> _Judged:
    comparisons = known.findings.comparisons
    if "instructions" not in [comparison.metric.name for comparison in comparisons]:
        return False, "instructions were not counted"
    if not all(comparisons[0].inlines_visible):
        return False, "no inlined functions (a kernel has no debug ELF)"
    return True, "in the table, inlined functions included"


def _code_layout(known: Grounds) -> _Judged:
    if not known.findings.comparisons:
        return False, "no functions were recorded"
    lacking = [kernel.label for kernel in known.findings.kernels if not kernel.code]
    if lacking:
        return False, f"the session keeps no code of {', '.join(lacking)}"
    return True, "sizes and disassembly as executed: profdiff annotate FUNCTION"


def _same_state(known: Grounds) -> _Judged:
    found = known.findings.state
    if found.differences:
        named = [state.name(what) for what in found.differences]
        return False, f"{units.few(named, _NAMED)} differ"
    if found.shifts:
        return False, f"{state.name(found.shifts[0].name)} changes along the sweep"
    if absent := sum(bool(point.absent) for point in found.points):
        return False, f"not compared at {units.counted(absent, 'point')}"
    unknown = found.unknown or ([] if found.equal else ["state"])
    if unknown:
        return False, f"not known: {', '.join(unknown)}"
    if found.shifts:
        return False, f"{state.name(found.shifts[0].name)} changes along the sweep"
    lacking = [one for one in found.points if one.verdict != "same"]
    if lacking:
        return False, f"not compared in full at {len(lacking):,} of {len(found.points):,} points"
    at = f" at {len(found.points):,} points" if len(found.points) > 1 else ""
    return True, f"{units.counted(len(found.equal), 'fact')} compared{at}, all equal"


def _reproducer(known: Grounds) -> _Judged:
    if known.source == "included":
        return True, "source and command are in the mail"
    told = "too long for a mail: link it" if known.source else "its source is not in the mail"
    return False, told


def _bare_metal(known: Grounds) -> _Judged:
    if known.machine.kind == "emulator":
        return False, "an emulator"
    facts, kind = known.findings.facts, known.machine.kind
    machines = [facts.machines.get(label, {}) for label in known.labels]
    if kind == "virtual machine" or any(own.get("hypervisor") for own in machines):
        return False, "a virtual machine"
    if not all(own.get("processor") for own in machines):
        return False, "machine unknown"
    return True, machines[0]["processor"]


def _state(known: Grounds) -> _Judged:
    findings = known.findings
    facts, labels = findings.facts, known.labels
    lacking = [] if set(labels) <= set(facts.configs) else ["config"]
    lacking += [] if set(labels) <= facts.command_lines.keys() else ["command line"]
    own = facts.machines.get(labels[0], {})
    for name in () if known.machine.kind == "emulator" else _MACHINE:
        lacking += [] if own.get(name) else [name.replace("_", " ")]
    compared = {*findings.state.equal, *findings.state.differences}
    for name, member in _STATE.items():
        if not own.get(name) and not any(member in one for one in compared):
            lacking.append(name.replace("_", " "))
    mitigations = any(name.startswith(MITIGATION) for name in compared) or all(
        "mitigations=" in facts.command_lines.get(label, "") for label in labels
    )
    lacking += [] if mitigations else ["mitigations"]
    told = f"missing: {', '.join(lacking)}" if lacking else "config, command line, THP and more"
    return not lacking, told


def _repetitions(known: Grounds) -> _Judged:
    findings = known.findings
    fewest = _fewest_boots(findings, findings.setting)
    failed = sum(run.failure is not None for run in findings.manifest.runs)
    told = f"{units.counted(fewest, _what(findings))} of each kernel, {failed} failed"
    changes = [
        change for result in findings.results.at(findings.setting) for change in result.changes
    ]
    weak = [
        change.smallest_p
        for change in changes
        if change and not change.counted and change.smallest_p > findings.results.rule.alpha
    ]
    if weak:
        told += f"; p cannot be below {max(weak):.2g}"
    return fewest > 1 and not weak, told


def _work(known: Grounds) -> _Judged:
    findings = known.findings
    if ops := findings.setting.ops:
        return True, f"{units.counted(ops, 'op')}, counts per op"
    results = findings.results.at(findings.setting)
    own = [result.metric for result in results if "/" in result.metric.unit]
    own = [
        metric
        for metric in own
        if is_time(metric) or guest_clock.is_instructions(metric) or metric.kind.per_op
    ]
    told = ", ".join(f"{metric.name} in {metric.unit}" for metric in own[:_NAMED])
    return bool(own), told or "the number of ops is unknown"


def _noise(known: Grounds) -> _Judged:
    findings = known.findings
    floors = [one for one in findings.results.at(findings.setting) if one.noise is not None]
    if not floors:
        return False, "the base was not run against itself"
    return True, units.counted(len(floors), "metric")


def _fewest_boots(findings: Findings, setting: Setting) -> int:
    """Finished runs at a setting, of the kernel that has fewest."""
    results = findings.results.at(setting)
    if results:
        return min(len(cell.boots) for result in results for cell in result.cells)
    if setting == findings.setting and findings.comparisons:
        return min(repetition.runs for repetition in findings.comparisons[0].repetitions)
    return 0


def _what(findings: Findings) -> str:
    return "boot" if findings.results.every else "run"


# Each with what judges it, or what no session can show.
ITEMS: list[tuple[str, Callable[[Grounds], _Judged] | str]] = [
    ("What changed, by how much, where", _plain_sentence),
    ("A real user", _real_use),
    ("Bisection and revert", _bisection),
    ("Sweep over sizes", _sweep),
    ("Several microarchitectures", _microarchitectures),
    ("Every patch, with spread", _series),
    ("A case that it could hurt", "only this workload was measured"),
    ("Hot functions and their instructions", _hot_functions),
    ("Code layout", _code_layout),
    ("Same work in the same state", _same_state),
    ("Reproducer", _reproducer),
    ("Maintainer's tree", "not retested there"),
    ("Bare metal", _bare_metal),
    ("Machine state", _state),
    ("Repetitions", _repetitions),
    ("Noise floor (A/A)", _noise),
    ("Work per op", _work),
]
