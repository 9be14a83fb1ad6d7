"""Whether all kernels did the same work in the same state, at each point: what runs left of it,
compared across the kernels, and along the sweep for what should not change on the way.

Page faults, switches and huge pages are compared with a tolerance, since they depend on when a tick
falls; what a workload was told to do (system calls, exit status, output) is compared exactly.

What one run tells of the state that its workload ran in: facts by name, as texts.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from profdiff.session.manifest import Collector, Run
from profdiff.session.points import Cells, Setting, cells_by_state, settings
from profdiff.session.session import Session
from profdiff.session.variants import is_consequence, variants

# Of /proc/vmstat, what tells of the memory that a workload got (Documentation/mm/transhuge.rst,
# include/linux/vm_event_item.h); the rest differs from kernel to kernel in what it counts.
_VMSTAT = (
    *("pgfault", "pgmajfault", "thp_fault_alloc", "thp_fault_fallback", "thp_collapse_alloc"),
    *("thp_zero_page_alloc", "thp_split_page", "thp_file_alloc", "thp_file_mapped"),
    *("pswpin", "pswpout", "numa_pages_migrated", "pgmigrate_success", "compact_stall"),
    *("allocstall_normal", "oom_kill"),
)
_USAGE = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
MEMORY = ("anon_huge_kib", "resident_kib")
SYSTEM_CALL = "system call "
MITIGATION = "mitigation "
THP = "mm/transparent_hugepage/enabled"
# How often the workload asks for huge pages, and what it was given of them.
HUGE_REQUESTS = "huge_page_requests"
HUGE_GIVEN = (
    *("anon_huge_kib", "vmstat thp_fault_alloc", "vmstat thp_collapse_alloc"),
    *("vmstat thp_zero_page_alloc", "vmstat thp_file_alloc", "vmstat thp_file_mapped"),
)
# How a setting of the kernel's begins that state has (facts.sh): /sys/kernel/mm/..., swap_areas.
SETTINGS = ("mm/", "vm/", "kernel/", "swap_areas", MITIGATION)
# What begins its name there, and what stands for that here.
_PLACES = {
    "/sys/kernel/": "",
    "/proc/sys/": "",
    "/sys/devices/system/cpu/vulnerabilities/": MITIGATION,
}
_MAX_TEXT = 4 * 2**20
# So much of the output is read as becomes _MAX_NAMES characters without numbers.
_MAX_OUTPUT = 64 * 2**10
_MAX_NAMES = 4096


def run_facts(session: Session, run: Run) -> dict[str, str]:
    """What ``run`` tells, by name: ``minor_faults``, ``system call mmap``, ``anon_huge_kib`` (KiB)
    ... Nothing is raised; what cannot be read is not there."""
    facts: dict[str, str] = {}
    if run.exit_status is not None:
        facts["exit status"] = str(run.exit_status)
    for words in _lines(session, run, "usage")[:1]:
        values = dict(zip(words[::2], words[1::2], strict=False))
        facts |= {name: values[name] for name in _USAGE if is_count(values.get(name, ""))}
    observed = {words[0]: words[1] for words in _lines(session, run, "observed") if len(words) == 2}
    if observed.get("complete") == "1":
        for name, value in observed.items():
            if name.startswith("syscall_") and is_count(value):
                facts[SYSTEM_CALL + name.removeprefix("syscall_")] = value
    known = {name: observed.get(name, "") for name in (*MEMORY, "processes", HUGE_REQUESTS)}
    facts |= {name: value for name, value in known.items() if is_count(value)}
    facts |= _vmstat(session, run)
    for words in _lines(session, run, "state"):
        if len(words) > 1 and words[0] != "boot_id":
            name = _named(words[0])
            of_cpu = name.startswith(MITIGATION)
            facts[name] = _mitigation(words[1:]) if of_cpu else _chosen(words[1:])
    output = _text(session, run, "stdout", _MAX_OUTPUT)
    if output is not None:
        # Numbers are what is measured; how many blanks stand before one depends on its length.
        output = re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "N", output)
        facts["output"] = re.sub(r"[ \t]+", " ", output)[:_MAX_NAMES]
    return facts


def is_count(text: str) -> bool:
    """Digits as a kernel prints them: a guest may send others, and thousands of them."""
    return re.fullmatch("[0-9]{1,20}", text) is not None


def _named(file: str) -> str:
    """``mm/ksm/run``, ``mitigation spectre_v2``, as they are called here."""
    for place, instead in _PLACES.items():
        if file.startswith(place):
            return instead + file.removeprefix(place)
    return file


def _mitigation(words: Sequence[str]) -> str:
    """``Mitigation: Retpolines; STIBP: disabled``: without what is not affected, which older
    kernels do not name, and one sign between parts, which was a comma before
    (arch/x86/kernel/cpu/bugs.c)."""
    parts = [part.strip() for part in re.split(r"[;,]", " ".join(words))]
    return "; ".join(part for part in parts if not part.endswith(": Not affected"))


def _chosen(words: Sequence[str]) -> str:
    """``always [madvise] never`` says what is chosen by its brackets."""
    text = " ".join(words)
    match = re.search(r"\[([^\]]+)\]", text)
    return match[1] if match else text


def _vmstat(session: Session, run: Run) -> dict[str, str]:
    before = {w[0]: w[1] for w in _lines(session, run, "vmstat-before") if len(w) == 2}
    after = {w[0]: w[1] for w in _lines(session, run, "vmstat-after") if len(w) == 2}
    return {
        f"vmstat {name}": str(int(after[name]) - int(before[name]))
        for name in _VMSTAT
        if is_count(before.get(name, "")) and is_count(after.get(name, ""))
    }


def _lines(session: Session, run: Run, what: str) -> list[list[str]]:
    text = _text(session, run, what) or ""
    return [line.split() for line in text.splitlines()[:_MAX_NAMES] if line.strip()]


def _text(session: Session, run: Run, what: str, most: int = _MAX_TEXT) -> str | None:
    data = session.head(run, what, most)
    return None if data is None else data.decode(errors="replace")


# A count that differs by less is the same state: a tick's worth of faults and switches.
_RELATIVE, _ABSOLUTE = 0.02, 16
# Counts that need be equal; of huge pages (HUGE_GIVEN), a few are another state than none.
_EXACT = ("exit status", "output", "processes", HUGE_REQUESTS)
# What a reader expects to be compared, and how the names of it begin.
_EXPECTED = {
    "system calls": SYSTEM_CALL,
    "huge pages of the workload": "anon_huge_kib",
    "page faults": "minor_faults",
    "output": "output",
    "exit status": "exit status",
}
# Counts of which a workload has some at all points of a sweep, or at none; each is looked at where
# the names behind it are not known.
_ALL_OR_NONE: dict[str, tuple[str, ...]] = {
    "anon_huge_kib": (),
    "vmstat thp_fault_alloc": ("anon_huge_kib",),
    "vmstat thp_collapse_alloc": ("anon_huge_kib",),
    **dict.fromkeys(
        (f"vmstat {n}" for n in ("thp_file_alloc", "pswpin", "pswpout", "oom_kill")), ()
    ),
    "vmstat numa_pages_migrated": (),
}

_Values = Mapping[str, Mapping[str, str]]


class PointState(msgspec.Struct, frozen=True):
    """At one setting. ``differences``: what differs, with its values by label, None where a kernel
    did not say; ``equal``: what was compared and is the same, with the first kernel's value;
    ``unknown``: what no kernel told; ``absent``: kernels that have no finished run there."""

    setting: Setting
    differences: Mapping[str, Mapping[str, str | None]]
    equal: Mapping[str, str]
    unknown: Sequence[str]
    absent: Sequence[str]

    @property
    def verdict(self) -> Literal["same", "differs", "partly known", "not compared"]:
        """*same* is only what is known in full, of all kernels."""
        if self.differences:
            return "differs"
        if not self.equal:
            return "not compared"
        return "partly known" if self.unknown or self.absent else "same"


class Shift(msgspec.Struct, frozen=True):
    """What is otherwise at some points of a sweep than at the others. ``settings``: where it is;
    ``values`` by label at the first of them, ``elsewhere`` at a point where it is not."""

    name: str
    settings: Sequence[Setting]
    values: Mapping[str, str]
    elsewhere: Mapping[str, str]


class State(msgspec.Struct, frozen=True):
    """The state of all settings together. ``differences``: what differs at any of them, with the
    values at the first; ``equal``: what is the same at all where it was compared, with the value at
    the first; ``unknown``: what is not known at one or more; ``intended``: of the differences,
    those that follow from what kernels were given of their own."""

    differences: Mapping[str, Mapping[str, str | None]] = msgspec.field(default_factory=dict)
    equal: Mapping[str, str] = msgspec.field(default_factory=dict)
    unknown: Sequence[str] = ()
    shifts: Sequence[Shift] = ()
    points: Sequence[PointState] = ()
    intended: Sequence[str] = ()


def compare_states(session: Session, known: Cells | None = None) -> State:
    """The states of all kernels at all settings, from the first collector whose runs tell of each
    thing, first finished run of each cell; of two lengths, of the longer one. ``known``: the
    session's runs by cell, if they are known. What cannot be read is unknown; nothing is raised."""
    by_cell = cells_by_state(session.manifest)[0] if known is None else known
    labels = [kernel.label for kernel in session.compared]
    if len(labels) < 2:
        return State()
    points, values = [], []
    for setting in settings(session.manifest):
        point, own = _compare(session, by_cell, labels, setting)
        points.append(point)
        values.append(own)
    found = _together(points, _shifts(points, values))
    given = variants(session.manifest)
    intended = [name for name in found.differences if is_consequence(name, given)]
    return msgspec.structs.replace(found, intended=intended)


def _together(points: Sequence[PointState], shifts: Sequence[Shift]) -> State:
    differences: dict[str, Mapping[str, str | None]] = {}
    equal: dict[str, str] = {}
    for point in points:
        for name, by_label in point.differences.items():
            differences.setdefault(name, by_label)
        for name, value in point.equal.items():
            equal.setdefault(name, value)
    return State(
        differences,
        {name: value for name, value in equal.items() if name not in differences},
        list(dict.fromkeys(name for point in points for name in point.unknown)),
        shifts,
        points,
    )


def _compare(
    session: Session, runs: Cells, labels: Sequence[str], setting: Setting
) -> tuple[PointState, _Values]:
    """The state at a setting, and what the kernels told there: by name, then by label."""
    differences: dict[str, Mapping[str, str | None]] = {}
    equal: dict[str, str] = {}
    seen: dict[str, dict[str, str]] = {}
    absent = set(labels)
    for collector in session.manifest.collectors:
        first = {label: _first(runs, label, collector, setting) for label in labels}
        # A kernel that has not run yet has no state to differ by.
        facts = {label: run_facts(session, run) for label, run in first.items() if run}
        absent -= facts.keys()
        for name in dict.fromkeys(name for own in facts.values() for name in own):
            if name in seen:
                continue
            values = {label: own.get(name) for label, own in facts.items()}
            seen[name] = {label: value for label, value in values.items() if value is not None}
            if len(values) < 2:
                continue
            if len(seen[name]) == len(values):
                one, *others = seen[name].values()
                if all(_same(name, one, other) for other in others):
                    equal[name] = one
                else:
                    differences[name] = values
            elif name.startswith(SYSTEM_CALL) or _mitigated(name, seen[name]):
                differences[name] = values
    compared = [*differences, *equal]
    unknown = [
        group
        for group, member in _EXPECTED.items()
        if not any(name.startswith(member) for name in compared)
    ]
    return PointState(setting, differences, equal, unknown, sorted(absent, key=labels.index)), seen


def _mitigated(name: str, values: Mapping[str, str]) -> bool:
    """Whether one kernel mitigates what another does not know. One that another is not affected by,
    or vulnerable to, has no code for it either."""
    return name.startswith(MITIGATION) and any(
        value.startswith("Mitigation") for value in values.values()
    )


def _same(name: str, one: str, other: str) -> bool:
    if one == other:
        return True
    exact = name.startswith(SYSTEM_CALL) or name in _EXACT
    if exact or not (is_count(one) and is_count(other)):
        return False
    first, second = int(one), int(other)
    if name in HUGE_GIVEN and not (first and second):
        return False
    # Two huge pages more or less is a state of its own.
    least = 2048 if name in MEMORY else _ABSOLUTE
    return abs(first - second) <= max(least, _RELATIVE * max(first, second))


def _first(runs_of: Cells, label: str, collector: Collector, setting: Setting) -> Run | None:
    runs = runs_of.get((label, collector, setting.point), ())
    return next((run for run in runs if run.failure is None), None)


def _shifts(points: Sequence[PointState], values: Sequence[_Values]) -> list[Shift]:
    """What some points of a sweep have and others not, and settings of the kernels that are not
    the same at all of them."""
    usual: dict[str, dict[str, str]] = {}
    for own in values:
        for name, by_label in own.items():
            usual[name] = {**by_label, **usual.get(name, {})}
    for name, instead in _ALL_OR_NONE.items():
        if name in usual:
            known = any(other in usual for other in instead)
            usual[name] = {} if known else dict.fromkeys(usual[name], "0")
    wanted = [name for name in usual if name in _ALL_OR_NONE or name.startswith(SETTINGS)]
    found = (_shift(name, points, values, usual[name]) for name in wanted)
    return [one for one in found if one is not None]


def _shift(
    name: str,
    points: Sequence[PointState],
    values: Sequence[_Values],
    usual: Mapping[str, str],
) -> Shift | None:
    """Where a kernel's value is not its ``usual`` one; None if that is nowhere, or everywhere."""
    told_at = [
        (point.setting, own[name])
        for point, own in zip(points, values, strict=True)
        if own.get(name)
    ]
    here: list[tuple[Setting, Mapping[str, str]]] = []
    there: list[tuple[Setting, Mapping[str, str]]] = []
    for setting, own in told_at:
        other = any(value != usual.get(label, value) for label, value in own.items())
        (here if other else there).append((setting, own))
    if not here or not there:
        return None
    return Shift(name, [setting for setting, _ in here], here[0][1], there[0][1])
