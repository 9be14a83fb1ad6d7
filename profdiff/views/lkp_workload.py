"""What does what a test of the robot's does, on a smaller machine: tests of will-it-scale by their
source, programs that Debian has, and cells of the built-in suite that make the same calls."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from profdiff.evidence.lkp.report import Case
from profdiff.evidence.lkp.slowdown import Ratio

_TEST = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_METHOD = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_OPS = 2000
# An emulated processor executes some 50 million instructions a second: a run ends within 30 s.
_INSTRUCTIONS, _FEWEST = 500_000_000, 10
# By test case and test, or a part of the metric's name, which cells make the same calls.
CELLS: Sequence[tuple[str, str, str]] = (
    ("lmbench3", r"PIPE", "pingpong/pipe"),
    ("lmbench3", r"UNIX|AF_UNIX", "pingpong/unix-stream"),
    ("lmbench3", r"TCP", "pingpong/tcp"),
    ("lmbench3", r"UDP", "pingpong/udp"),
    ("perf-bench-sched-pipe", r"", "pingpong/pipe"),
    ("hackbench", r"pipe", "pingpong/pipe"),
    ("hackbench", r"", "pingpong/unix-stream"),
    ("netperf", r"TCP_C?RR|TCP_CRR", "pingpong/tcp"),
    ("netperf", r"UDP_RR", "pingpong/udp"),
    ("netperf", r"TCP_(STREAM|MAERTS|SENDFILE)", "inet/tcp,*"),
    ("netperf", r"UDP_STREAM", "inet/udp,*"),
    ("unixbench", r"pipe", "pipe/*"),
    ("unixbench", r"context1", "pingpong/pipe"),
    ("unixbench", r"spawn", "spawn/fork"),
    ("unixbench", r"execl|shell", "exec/*"),
    ("unixbench", r"syscall", "trivial/*"),
    ("unixbench", r"fs(buffer|time|disk)", "write/*"),
    ("aim[79]", r"brk", "brk/*"),
    ("aim[79]", r"page", "fault-write/*"),
    ("aim[79]", r"creat", "create"),
    ("aim[79]", r"fork", "spawn/fork"),
    ("aim[79]", r"exec", "exec/*"),
    ("aim[79]", r"signal", "signal/*"),
    ("aim[79]", r"link", "names/link"),
    ("aim[79]", r"dgram_pipe", "unix/dgram,*"),
    ("aim[79]", r"stream_pipe", "unix/stream,*"),
    ("aim[79]", r"pipe|shared_memory", "pipe/*"),
    ("aim[79]", r"tcp", "inet/tcp,*"),
    ("aim[79]", r"udp", "inet/udp,*"),
    ("aim[79]", r"sync_disk", "extent/fsync"),
    ("aim[79]", r"disk_r|disk_src", "read/*"),
    ("aim[79]", r"disk", "write/*"),
    ("vm-scalability", r"lru-file-mmap|mmap-.*read", "fault-cached/read,*"),
    ("vm-scalability", r"shm|mmap", "fault-write/tmpfs"),
    ("vm-scalability", r"anon-cow", "fault-cow/*"),
    ("vm-scalability", r"hugetlb", "hugetlb/fault"),
    ("vm-scalability", r"anon|swap|small-allocs", "fault-write/anon"),
    ("vm-scalability", r"truncate", "extent-change/ftruncate"),
    ("vm-scalability", r"lru-file-read", "read/*"),
    ("vm-scalability", r"lru-file-write", "write/*"),
    ("vm-scalability", r"mremap", "mremap-move/*"),
    ("vm-scalability", r"msync", "msync/*"),
    ("fxmark", r"MWCL|MWCM|MWUL|MWUM", "create"),
    ("fxmark", r"MWRL|MWRM", "names/rename"),
    ("fxmark", r"MRP|MRDL|MRDM", "stat/stat"),
    ("fxmark", r"DWSL", "extent/fsync"),
    ("fxmark", r"DWAL|DWTL", "append/*"),
    ("fxmark", r"DWOL|DWOM", "write/*"),
    ("fxmark", r"DRB", "read/*"),
    ("fsmark", r"", "create"),
)
# What another machine, or a longer run, decides, and what every test of the robot's has.
_NEUTRAL = re.compile(
    r"cluster|compiler|cpufreq_governor|class|debug-setup|group|ip|iterations|kconfig|load|mode|"
    r"nr_\w+|number|period|rootfs|runtime|size|tbox_group|test\w*|ucode"
)


class Workload(NamedTuple):
    """``argv``: a command, empty where ``cell`` of the suite ``syscalls``, a pattern, stands for
    it; ``copies``: whether copies of it run beside each other; ``note``: where it comes from;
    ``uses``: parameters of the robot's that it has."""

    argv: Sequence[str]
    cell: str
    ops: int
    copies: bool
    note: str
    uses: Sequence[str] = ()


def workload(case: Case) -> Workload | None:
    """None where nothing does what the test did."""
    told = case.table.parameters
    kind, test = told.get("testcase", ""), told.get("test", "")
    if kind == "will-it-scale" and _TEST.fullmatch(test):
        argv = [f"./{test}.c", *(["threads"] if told.get("mode") == "thread" else [])]
        note = f"{test}.c is in tests/ of https://github.com/antonblanchard/will-it-scale"
        return Workload(argv, "", _OPS, True, note)
    if kind == "stress-ng" and _TEST.fullmatch(test):
        argv = ["stress-ng", f"--{test}", "1", f"--{test}-ops", "{ops}"]
        method = told.get("method", "")
        if _METHOD.fullmatch(method):
            argv += [f"--{test}-method", method]
        uses = ["method"] if _METHOD.fullmatch(method) else []
        note = "stress-ng is in Debian's package of this name"
        return Workload(argv, "", _ops(case), True, note, uses)
    if kind.startswith("fio"):
        return _fio(told)
    return _cell(case, kind, test)


def _ops(case: Case) -> int:
    """So many that a run ends soon, by the instructions of an op on the robot's base kernel, which
    are the whole machine's, and so at least the test's."""
    each = _each(case)
    if each is None:
        return _OPS // 10
    most = max(_FEWEST, min(_OPS, int(_INSTRUCTIONS / each)))
    digits = 10 ** (len(str(most)) - 1)
    return most // digits * digits


def _each(case: Case) -> float | None:
    """Instructions of an op; None where the table does not tell."""
    rate = case.row(case.metric or "")
    whole, done = case.row("perf-stat.total.instructions"), None
    if case.metric and case.metric.endswith(".ops_per_sec"):
        done = case.row(case.metric.removesuffix("_per_sec"))
        if whole is None or done is None:
            whole, done = case.row("perf-stat.ps.instructions"), rate
    if whole is None or done is None or Ratio.of(whole, case.column) is None:
        return None
    return whole.means[0].value / done.means[0].value if done.means[0].value > 0 else None


def _fio(told: Mapping[str, str]) -> Workload | None:
    """fio on a file of the guest's, which lies in memory."""
    way, engine = told.get("rw", ""), told.get("ioengine", "sync")
    size = told.get("bs", "4k").lower()
    if not re.fullmatch(r"(rand)?(read|write|rw)", way) or not re.fullmatch(r"\d{1,4}[km]?", size):
        return None
    if engine not in ("sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "mmap"):
        return None
    argv = ["fio", "--name=robot", "--filename=/tmp/robot", "--size=16m", "--io_size=1t"]
    argv += ["--thread", f"--rw={way}", f"--bs={size}", f"--ioengine={engine}"]
    argv += ["--number_ios={ops}"]
    note = "near, not the same: fio, of Debian's package, on a file in memory"
    return Workload(argv, "", _OPS // 10, False, note, ["rw", "bs", "ioengine"])


def _cell(case: Case, kind: str, test: str) -> Workload | None:
    name = f"{test} {case.metric or ''} {case.table.parameters.get('ipc', '')}"
    for kinds, tests, cell in CELLS:
        if re.fullmatch(kinds, kind) and re.search(tests, name):
            note = f"near, not the same: the suite's {cell} makes the calls of {kind}'s test"
            return Workload((), cell, 0, False, note, ["ipc"])
    return None


def left_out(case: Case, found: Workload) -> Iterator[str]:
    """Parameters that decide what a test does, and that the recording has not."""
    for name, value in case.table.parameters.items():
        if not _NEUTRAL.fullmatch(name) and name not in found.uses:
            yield f"{name}={value}"
