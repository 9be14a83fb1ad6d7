"""Where kernels ran, and whether they did the same work in the same state, in lines: above the
results, not below."""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from profdiff.base import units
from profdiff.collectors.architecture import named
from profdiff.collectors.records import NO_VARIANT
from profdiff.evidence.findings import Findings
from profdiff.session.manifest import Manifest, Run, replace
from profdiff.session.points import Setting
from profdiff.session.state import MITIGATION, SYSTEM_CALL, THP, PointState, Shift, State
from profdiff.views.record import Record


class Machine(Record, frozen=True):
    """``architecture``: "" if it is not known. ``kind``: guests of profdiff's own run on an
    ``emulator``, whose time is none, or in a ``virtual machine``."""

    architecture: str
    kind: Literal["emulator", "virtual machine", "machine"]

    def __str__(self) -> str:
        """For a sentence: ``arm64 under an emulator``; "" where nothing is known."""
        where = {"emulator": " under an emulator", "virtual machine": " in a virtual machine"}
        return f"{arch(self.architecture)}{where.get(self.kind, '')}".strip()


def arch(architecture: str) -> str:
    """An architecture's name as people type it, whatever it was called."""
    known = named(architecture)
    return known.arch if known else architecture


def guest_arch(runs: Iterable[Run]) -> str | None:
    """The architecture of guests; None where no run says it. All guests of a session have one."""
    names = (run.qemu.architecture for run in runs if run.qemu)
    return next((arch(name) for name in names if name), None)


def guest(manifest: Manifest, runs: Sequence[Run], cpus: int | None) -> str:
    """The machine that guests had: ``arm64 neoverse-n1, 2 vCPU, 512 MiB``, ``without`` features of
    its processor, ``restored`` if they did not boot for each run; "" without a guest."""
    described = manifest.guest
    if described is None:
        return ""
    told = " ".join(filter(None, [guest_arch(runs), described.cpu]))
    without = dict.fromkeys(one for run in runs if run.qemu for one in run.qemu.without)
    size = f"{cpus} vCPU, {described.memory} MiB"
    if without:
        size = f"without {' and '.join(without)}, {size}"
    if described.restored:
        size += ", restored"
    own = {one.label: one.variant for one in manifest.compared if one.variant != NO_VARIANT}
    for label, variant in own.items():
        if words := replace(variant, append="", program="").words:
            size += f"; {label} {' '.join(words)}"
    return units.printable(f"{told}, {size}" if told else size)


def machine(findings: Findings) -> Machine:
    """What the finished runs ran on."""
    emulators = [run.qemu for run in findings.manifest.runs if run.qemu]
    finished = [run.qemu for run in finished_runs(findings) if run.qemu]
    told = [own.get("architecture") for own in findings.facts.machines.values()]
    names = [
        *filter(None, told),
        *(emulator.architecture for emulator in emulators if emulator.architecture),
    ]
    emulated = any(one.accelerator != "kvm" for one in finished)
    # What QEMU's own processors call themselves, in recordings that others made in a guest.
    processors = [own.get("processor") or "" for own in findings.facts.machines.values()]
    emulated = emulated or any(processor.startswith("QEMU TCG") for processor in processors)
    return Machine(
        architecture=units.printable(names[0]) if names else "",
        kind="emulator" if emulated else "virtual machine" if finished else "machine",
    )


def finished_runs(findings: Findings) -> list[Run]:
    """Those with a result."""
    return [run for run in findings.manifest.runs if not run.failure]


def interleaved(runs: Sequence[Run]) -> bool:
    """Whether no kernel's runs were over before another's began."""
    labels = [run.kernel for run in sorted(runs, key=lambda run: run.started)]
    blocks = sum(a != b for a, b in pairwise(labels)) + 1
    return len(set(labels)) > 1 and blocks > len(set(labels))


def in_blocks(findings: Findings) -> list[str]:
    """The collectors whose runs were meant to be interleaved, and were not."""
    if not findings.results.repeated:
        return []
    found: list[str] = []
    for collector in findings.manifest.collectors:
        runs = [run for run in finished_runs(findings) if run.collector == collector]
        if len({run.kernel for run in runs}) > 1 and not interleaved(runs):
            found.append(collector)
    return found


_LONGEST = 60
# Points, and absent kernels, that are named; more are counted.
_NAMED = 4
_WORDS = {
    "anon_huge_kib": "AnonHugePages of the workload (KiB)",
    "resident_kib": "resident memory of the workload (KiB)",
}
# What keeps huge pages out (Documentation/admin-guide/mm/transhuge.rst).
_HUGE = ("anon_huge_kib", "vmstat thp_fault_alloc", "vmstat thp_collapse_alloc")
_IN_GUESTS = "--append transparent_hugepage=never"
_ON_MACHINES = "echo never > /sys/kernel/mm/transparent_hugepage/enabled"


class StateLine(Record, frozen=True):
    """``kind``: whether something differs, or was to differ, all that is the same, or all that is
    unknown."""

    kind: Literal["differs", "intended", "same", "unknown"]
    text: str


class StatePoint(Record, frozen=True):
    """How the kernels' states compare at one setting, "" for the only one; ``differences``: names
    of what differs; ``changes``: names of what is otherwise than at other points."""

    setting: str
    verdict: Literal["same", "differs", "partly known", "not compared"]
    differences: list[str]
    changes: list[str]


def lines(state: State) -> list[StateLine]:
    """One line for each difference, then what is equal, and what is not known; none where no run
    told anything. *Same state* stands only for what was compared in full at every point."""
    if not state.differences and not state.equal:
        return []
    found = [
        StateLine(
            kind="intended" if what in state.intended else "differs",
            text=_difference(state, what, values),
        )
        for what, values in state.differences.items()
    ]
    found += [StateLine(kind="differs", text=_change(shift)) for shift in state.shifts]
    if same := _equal(state):
        found.append(StateLine(kind="same", text=f"{_how_equal(state)}: {same}"))
    unknown = _unknown(state)
    return found + [StateLine(kind="unknown", text=text) for text in unknown]


def points(state: State) -> list[StatePoint]:
    """Each setting of the session."""
    changes: dict[int, list[str]] = {}
    for shift in state.shifts:
        for setting in shift.settings:
            changes.setdefault(setting.point, []).append(name(shift.name))
    return [
        StatePoint(
            setting=point.setting.title,
            verdict=point.verdict,
            differences=[name(what) for what in point.differences],
            changes=changes.get(point.setting.point, []),
        )
        for point in state.points
    ]


def name(what: str) -> str:
    """What differs, as people call it."""
    return _WORDS.get(what, what.replace("_", " "))


def _difference(state: State, what: str, values: Mapping[str, str | None]) -> str:
    where = [point.setting for point in state.points if what in point.differences]
    first = f" (at {where[0].title})" if len(where) > 1 else ""
    differs = "state differs, as intended" if what in state.intended else "STATE DIFFERS"
    return f"{differs}{_at(where, state.points)}: {name(what)}: {_values(values)}{first}"


def _change(shift: Shift) -> str:
    where = ", ".join(f"{label} {_short(value)}" for label, value in shift.values.items())
    usual = sorted(set(shift.elsewhere.values()))
    told = f"{name(shift.name)}: {where}; elsewhere {_short(' or '.join(usual))}"
    if shift.name in _HUGE:
        how = _ON_MACHINES if shift.settings[0].cpus is None else _IN_GUESTS
        told += f"; to keep huge pages out: {how}"
    return f"STATE CHANGES at {_named(shift.settings)}: {told}"


def _how_equal(state: State) -> str:
    compared = [point for point in state.points if point.verdict != "not compared"]
    where = ""
    if len(state.points) > 1:
        number = (
            f"all {len(compared):,}"
            if len(compared) == len(state.points)
            else f"{len(compared):,} of {len(state.points):,}"
        )
        where = f" at {number} points"
    if state.differences or state.shifts:
        return f"otherwise equal{where}"
    partly = state.unknown or any(point.verdict != "same" for point in state.points)
    return f"equal as far as known{where}" if partly else f"same state{where}"


def _unknown(state: State) -> list[str]:
    """What no kernel told, and where kernels have no finished run."""
    found = []
    if not state.points and state.unknown:
        found.append(f"state not known: {', '.join(state.unknown)}")
    groups: dict[tuple[str, ...], list[Setting]] = {}
    absent: dict[tuple[str, ...], list[Setting]] = {}
    for point in state.points:
        if point.absent:
            absent.setdefault(tuple(point.absent), []).append(point.setting)
        if point.unknown and point.verdict != "not compared":
            groups.setdefault(tuple(point.unknown), []).append(point.setting)
    for names, where in groups.items():
        found.append(f"state not known{_at(where, state.points)}: {', '.join(names)}")
    for names, where in absent.items():
        told = _few(names)
        found.append(f"state not compared{_at(where, state.points)}: no finished run of {told}")
    return found


def _at(where: Sequence[Setting], every: Sequence[PointState]) -> str:
    """At which settings, of ``every``: nothing to say where there is one."""
    if len(every) < 2:
        return ""
    return f" at all {len(every):,} points" if len(where) == len(every) else f" at {_named(where)}"


def _named(where: Sequence[Setting]) -> str:
    """``size_kib 400, 4000``; ``size_kib 400, vCPUs 2``; many are counted."""
    varied = where[0].varied
    if len(varied) == 1:
        return f"{varied[0]} {_few([one.value(varied[0]) for one in where])}"
    return _few([one.title for one in where], "; ")


def _few(texts: Sequence[str], between: str = ", ") -> str:
    return units.few([_short(text) for text in texts], _NAMED, between)


def _equal(state: State) -> str:
    """What a reader asks for first, with its value: what the workload did, then what the kernels
    have."""
    told = []
    changed = {shift.name for shift in state.shifts}
    if calls := _system_calls(state):
        told.append(calls)
    for known, words in (
        ("minor_faults", "{} minor faults"),
        ("anon_huge_kib", "{} AnonHugePages"),
        ("exit status", "exit status {}"),
    ):
        if known in state.equal and known not in changed:
            value = _range(_at_points(state, known))
            huge = known == "anon_huge_kib"
            value = "no" if huge and value == "0" else f"{value} KiB" if huge else value
            told.append(words.format(value))
    if "output" in state.equal:
        told.append("output equal apart from numbers")
    if (thp := THP) in state.equal and thp not in changed:
        told.append(f"THP {state.equal[thp]}")
    return "; ".join(filter(None, [", ".join(told), mitigations(state)]))


def mitigations(state: State) -> str:
    """``mitigated: spectre_v1, spectre_v2; unmitigated: mds``, of all kernels alike; "" where
    nothing is known. What the processor is not affected by is left out."""
    known = {
        what.removeprefix(MITIGATION): value
        for what, value in state.equal.items()
        if what.startswith(MITIGATION)
    }
    if not known:
        return ""
    told = [
        f"{word}: {', '.join(names)}"
        for word, start in (("mitigated", "Mitigation"), ("unmitigated", "Vulnerable"))
        if (names := [name for name, value in known.items() if value.startswith(start)])
    ]
    # What differs stands apart, with the values of each kernel.
    differs = any(what.startswith(MITIGATION) for what in state.differences)
    return "; ".join(told) or ("" if differs else "no mitigation is needed")


def _system_calls(state: State) -> str:
    names = [what for what in state.equal if what.startswith(SYSTEM_CALL)]
    if not names:
        return ""
    sums = [sum(int(own.get(what, "0")) for what in names) for own in _compared(state)]
    most = max(names, key=lambda what: max(_at_points(state, what)))
    called = f"{most.removeprefix(SYSTEM_CALL)} {_range(_at_points(state, most))}"
    return f"{_range([one for one in sums if one])} system calls ({called})"


def _compared(state: State) -> list[Mapping[str, str]]:
    """What is equal, at each point."""
    return [point.equal for point in state.points if point.equal] or [state.equal]


def _at_points(state: State, what: str) -> list[int]:
    return [int(own[what]) for own in _compared(state) if what in own]


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _values(values: Mapping[str, str | None]) -> str:
    start = _alike(value for value in values.values() if value is not None)
    return ", ".join(f"{label} {_short(value, start)}" for label, value in values.items())


def _alike(values: Iterable[str]) -> int:
    """How many characters at the beginning of long texts are the same."""
    known = list(values)
    if len(known) < 2 or max(map(len, known)) <= _LONGEST:
        return 0
    first, last = min(known), max(known)
    pairs = enumerate(zip(first, last, strict=False))
    start = next((i for i, (one, other) in pairs if one != other), len(first))
    return start - len(re.split(r"\s", first[:start])[-1])


def _short(value: str | None, start: int = 0) -> str:
    """``value`` on one line from ``start`` on, cut where it is long."""
    if value is None:
        return "none"
    text = (".." if start else "") + " ".join(value[start:].split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 2]}.."
