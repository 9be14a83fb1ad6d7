"""The robot's tests, as workloads of profdiff's: those of will-it-scale by their source, programs
that Debian has, and cells of the built-in suite that do the same. Others have none.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from profdiff.evidence.lkp.report import Case

_TEST = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_OPS = 2000
# By test case and test, or metric, what does the same between two processes.
_CELLS: Mapping[tuple[str, str], str] = {
    ("lmbench3", "PIPE"): "pingpong/pipe",
    ("perf-bench-sched-pipe", ""): "pingpong/pipe",
}


class Workload(NamedTuple):
    """``argv``: a command, empty where ``cell`` of the suite ``syscalls`` stands for it;
    ``copies``: whether copies of it run beside each other; ``note``: where it comes from."""

    argv: Sequence[str]
    cell: str
    ops: int
    copies: bool
    note: str


def workload(case: Case) -> Workload | None:
    """What does what the robot's test did, on a smaller machine; None where nothing does."""
    told = case.table.parameters
    kind, test = told.get("testcase", ""), told.get("test", "")
    if cell := _CELLS.get((kind, test)) or _CELLS.get((kind, "")):
        return Workload((), cell, 0, False, f"the suite's {cell} stands for {kind}'s test")
    if kind == "hackbench":
        way = ["--pipe"] if told.get("ipc") == "pipe" else []
        tasks = "--threads" if told.get("mode") == "threads" else "--process"
        argv = ["hackbench", *way, tasks, "-g", "1", "-l", "{ops}"]
        return Workload(argv, "", 200, False, "hackbench is in Debian's package rt-tests")
    if not _TEST.fullmatch(test):
        return None
    if kind == "will-it-scale":
        argv = [f"./{test}.c", *(["threads"] if told.get("mode") == "thread" else [])]
        note = f"{test}.c is in tests/ of https://github.com/antonblanchard/will-it-scale"
        return Workload(argv, "", _OPS, True, note)
    if kind == "stress-ng":
        argv = ["stress-ng", f"--{test}", "1", f"--{test}-ops", "{ops}"]
        return Workload(argv, "", _OPS, True, "stress-ng is a package of Debian's")
    return None
