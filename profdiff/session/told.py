"""What one run tells of the state that its workload ran in: facts by name, as texts."""

import re
from collections.abc import Sequence

from profdiff.session.manifest import Run
from profdiff.session.session import Session

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


def told(session: Session, run: Run) -> dict[str, str]:
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
