"""Whether all kernels did the same work in the same state: what runs left of it, compared.

Page faults, switches and huge pages are compared with a tolerance, since they depend on when a tick
falls; what a workload was told to do (system calls, exit status, output) is compared exactly.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from profdiff.session.folder import Session
from profdiff.session.manifest import Collector, Run
from profdiff.session.points import Cells, Setting, cells

# A count that differs by less is the same state: a tick's worth of faults and switches.
_RELATIVE, _ABSOLUTE = 0.02, 16
# Of /proc/vmstat, what tells of the memory that a workload got (Documentation/mm/transhuge.rst,
# include/linux/vm_event_item.h); the rest differs from kernel to kernel in what it counts.
_VMSTAT = (
    *("pgfault", "pgmajfault", "thp_fault_alloc", "thp_fault_fallback", "thp_collapse_alloc"),
    *("thp_split_page", "thp_file_alloc", "pswpin", "pswpout", "numa_pages_migrated"),
    *("pgmigrate_success", "compact_stall", "allocstall_normal", "oom_kill"),
)
_USAGE = ("minor_faults", "major_faults", "voluntary_switches", "involuntary_switches")
_MEMORY = ("anon_huge_kib", "resident_kib")
_MAX_TEXT = 4 * 2**20
_MAX_NAMES = 4096


@dataclass(frozen=True)
class State:
    """``differences``: what differs, with its values by label, None where a kernel did not say;
    ``equal``: what was compared and is the same, with its value; ``unknown``: what no run told."""

    differences: dict[str, dict[str, str | None]] = field(default_factory=dict)
    equal: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


def compare_states(session: Session, setting: Setting, known: Cells | None = None) -> State:
    """The states of all kernels at a setting, from the first collector whose runs tell of each
    thing, first finished run of each kernel. ``known``: the session's runs by cell, if they are
    known. What cannot be read is unknown; nothing is raised."""
    by_cell = cells(session.manifest) if known is None else known
    labels = [kernel.label for kernel in session.compared]
    state = State()
    seen: set[str] = set()
    for collector in session.manifest.collectors:
        runs = {label: _first(by_cell, label, collector, setting) for label in labels}
        # A kernel that has not run yet has no state to differ by.
        told = {label: _facts(session, run) for label, run in runs.items() if run}
        names = dict.fromkeys(name for facts in told.values() for name in facts)
        for name in names:
            values = {label: facts.get(name) for label, facts in told.items()}
            if name in seen or all(value is None for value in values.values()):
                continue
            seen.add(name)
            _enter(state, name, values)
    for group, member in _EXPECTED.items():
        if not any(name.startswith(member) for name in seen):
            state.unknown.append(group)
    return state


# What a reader expects to be compared, and how the names of it begin.
_EXPECTED = {
    "system calls": "system call",
    "huge pages of the workload": "anon_huge_kib",
    "page faults": "minor_faults",
    "output": "output",
    "exit status": "exit status",
}


def _enter(state: State, name: str, values: Mapping[str, str | None]) -> None:
    known = [value for value in values.values() if value is not None]
    if len(values) < 2:
        return
    if len(known) == len(values) and all(_same(name, known[0], value) for value in known[1:]):
        state.equal[name] = known[0]
    elif any(known) and (len(known) == len(values) or name.startswith("system call")):
        state.differences[name] = dict(values)


def _same(name: str, one: str, other: str) -> bool:
    if one == other:
        return True
    exact = name.startswith("system call") or name in ("exit status", "output", "processes")
    if exact or not (_is_count(one) and _is_count(other)):
        return False
    first, second = int(one), int(other)
    # Two huge pages more or less is a state of its own.
    least = 2048 if name in _MEMORY else _ABSOLUTE
    return abs(first - second) <= max(least, _RELATIVE * max(first, second))


def _is_count(text: str) -> bool:
    """Digits as a kernel prints them: a guest may send others, and thousands of them."""
    return re.fullmatch("[0-9]{1,20}", text) is not None


def _first(runs_of: Cells, label: str, collector: Collector, setting: Setting) -> Run | None:
    runs = runs_of.get((label, collector, setting.point), ())
    return next((run for run in runs if run.failure is None), None)


def _facts(session: Session, run: Run) -> dict[str, str]:
    """What one run tells, by name."""
    facts: dict[str, str] = {}
    if run.exit_status is not None:
        facts["exit status"] = str(run.exit_status)
    for words in _lines(session, run, "usage")[:1]:
        values = dict(zip(words[::2], words[1::2], strict=False))
        facts |= {name: values[name] for name in _USAGE if _is_count(values.get(name, ""))}
    observed = {words[0]: words[1] for words in _lines(session, run, "observed") if len(words) == 2}
    if observed.get("complete") == "1":
        for name, value in observed.items():
            if name.startswith("syscall_") and _is_count(value):
                facts[f"system call {name.removeprefix('syscall_')}"] = value
    told = {name: observed.get(name, "") for name in (*_MEMORY, "processes")}
    facts |= {name: value for name, value in told.items() if _is_count(value)}
    facts |= _vmstat(session, run)
    for words in _lines(session, run, "state"):
        if len(words) > 1 and words[0] != "boot_id":
            facts[words[0].removeprefix("/sys/kernel/").removeprefix("/proc/sys/")] = _chosen(words)
    output = _text(session, run, "stdout")
    if output is not None:
        # Numbers are what is measured; how many blanks stand before one depends on its length.
        output = re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "N", output)
        facts["output"] = re.sub(r"[ \t]+", " ", output)[:_MAX_NAMES]
    return facts


def _chosen(words: Sequence[str]) -> str:
    """``always [madvise] never`` says what is chosen by its brackets."""
    text = " ".join(words[1:])
    match = re.search(r"\[([^\]]+)\]", text)
    return match[1] if match else text


def _vmstat(session: Session, run: Run) -> dict[str, str]:
    before = {w[0]: w[1] for w in _lines(session, run, "vmstat-before") if len(w) == 2}
    after = {w[0]: w[1] for w in _lines(session, run, "vmstat-after") if len(w) == 2}
    return {
        f"vmstat {name}": str(int(after[name]) - int(before[name]))
        for name in _VMSTAT
        if _is_count(before.get(name, "")) and _is_count(after.get(name, ""))
    }


def _lines(session: Session, run: Run, what: str) -> list[list[str]]:
    text = _text(session, run, what) or ""
    return [line.split() for line in text.splitlines()[:_MAX_NAMES] if line.strip()]


def _text(session: Session, run: Run, what: str) -> str | None:
    data = session.head(run, what, _MAX_TEXT)
    return None if data is None else data.decode(errors="replace")
