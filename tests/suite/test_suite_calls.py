"""Which system calls an op of each cell makes, to the last one: examples/suite/calls.md tells, and
strace counts."""

import json
import os
import platform
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import whole_run
from goldens import check_golden
from suite_cells import FOLDER, cells, files, workloads
from support import need_program

pytestmark = [pytest.mark.build, pytest.mark.nightly]

DOCUMENT = FOLDER / "calls.md"
# The same for programs, of cells with a whole number of calls.
TABLE = FOLDER / "calls.json"
# Marks that strace sees: no other program asks prctl() for these. They leave errno alone.
HEADER = """
#define MARK_(number) do { long result_; __asm__ volatile("syscall" : "=a"(result_) \\
	: "a"(157), "D"(number) : "rcx", "r11", "memory"); } while (0)
#define PROFDIFF_START() MARK_(0x50444901)
#define PROFDIFF_STOP() MARK_(0x50444902)
#define PROFDIFF_OP() ((void)0)
"""
# The kernel's number of what strace 6.1 has no name for; nobody has 1023.
NAMES = {"syscall_0x1ce": "mseal", "syscall_0x3ff": "1023"}
# How many there are depends on the machine: on a file's length, and on who is there first.
VARYING = {
    ("smaps", "read"): "`read` to the end",
    ("proc", "read"): "`read` to the end",
    ("pingpong", "futex"): "`futex` to wake and to wait",
}
# More ops say nothing new, and take longer.
OPS = 32


class Called(Counter[str]):
    """How often each was called; ``failed``: how often each failed."""

    def __init__(self) -> None:
        super().__init__()
        self.failed = Counter[str]()


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the suite's programs, whose marks strace sees."""
    need_program("cc", "gcc")
    need_program("strace")
    folder = tmp_path_factory.mktemp("programs")
    (folder / "profdiff.h").write_text(HEADER)
    sources = sorted(FOLDER.glob("*.c"))

    def compiled(source: Path) -> None:
        options = ["-O1", "-static", "-pthread", "-w", f"-I{folder}"]
        subprocess.run(["cc", *options, "-o", folder / source.stem, source], check=True)

    with ThreadPoolExecutor(whole_run.GUESTS) as pool:
        list(pool.map(compiled, sources))
    return folder


def counted(programs: Path, name: str, command: list[str], ops: int) -> Called | None:
    """The calls between the marks, of all threads and processes; None if it is not there here."""
    trace = programs / f"{name}.trace"
    # A process has one tracer, and these cells are about theirs.
    follow = [] if command[0] == "ptrace.c" else ["-f"]
    program = programs / command[0].removesuffix(".c")
    # A shell ignores both for what it starts in the background, and posix_spawn() asks for that.
    words = [
        "env",
        "--default-signal=INT,QUIT",
        "strace",
        "-qq",
        *follow,
        "-o",
        trace,
        program,
        *command[1:-1],
        str(ops),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=programs)
    if done.returncode == 4:
        return None
    if "Operation not permitted" in done.stderr:
        pytest.skip(f"root may not do this here: {done.stderr.strip()}")
    assert done.returncode == 0, (name, done.stderr)
    found = Called()
    inside = False
    for line in trace.read_text().splitlines():
        call = re.match(r"(?:\d+ +)?(\w+)\(", line)
        if "0x5044490" in line:
            inside = "0x50444901" in line
        elif inside and call:
            found[NAMES.get(call[1], call[1])] += 1
            found.failed[NAMES.get(call[1], call[1])] += " = -1 " in line
    trace.unlink()
    return found


def told(workload: str, called: Called, ops: int) -> str:
    """The calls of an op in words. What other threads did at the marks is a part of one op."""
    words = []
    for call, count in sorted(called.items()):
        times = round(count / ops)
        if (workload, call) in VARYING:
            words.append(VARYING[workload, call])
        elif times:
            words.append(f"`{call}`" + (f" ×{times}" if times > 1 else ""))
        else:
            words.append(f"`{call}` once for {'all' if count == 1 else ops // count}")
    return ", ".join(words) or "none"


def rows(workload: dict[str, Any], said: dict[str, str]) -> Iterator[str]:
    """The table's rows of a workload: a row for each value of the one parameter that decides which
    calls there are, or one for all."""
    name, sweep = workload["name"], list(workload.get("sweep", {}))
    if len(set(said.values())) == 1:
        yield f"| `{name}` | all | {next(iter(said.values()))} |"
        return
    for position, _ in enumerate(sweep):
        by: dict[str, dict[str, str]] = {}
        for values, calls in said.items():
            by.setdefault(calls, {})[values.split(",")[position]] = ""
        if sum(map(len, by.values())) == len({one for found in by.values() for one in found}):
            for calls, found in by.items():
                yield f"| `{name}` | {', '.join(f'`{one}`' for one in found)} | {calls} |"
            return
    raise AssertionError(f"{name}: no one parameter decides: {said}")


def entries(workload: str, found: dict[str, Called], ops: int) -> Iterator[tuple[str, Any]]:
    """The calls of each cell for programs: how often each, and those that fail."""
    for values, called in found.items():
        times = {call: round(count / ops) for call, count in sorted(called.items())}
        is_whole = all(times.values()) and not any((workload, call) in VARYING for call in times)
        if times and is_whole:
            failing = [call for call in times if called.failed[call] * 2 > called[call]]
            cell = f"{workload}/{values}" if values else workload
            yield cell, {"calls": times, **({"fail": failing} if failing else {})}


def table(cells: dict[str, Any], numbers: dict[str, str]) -> str:
    """The table for programs, a line for each cell."""
    lines = ",\n".join(f"  {json.dumps(cell)}: {json.dumps(cells[cell])}" for cell in cells)
    return f'{{\n"numbers": {json.dumps(numbers)},\n"cells": {{\n{lines}\n}}\n}}\n'


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the marks are x86-64's")
def test_an_op_calls_what_is_told(programs: Path) -> None:
    if platform.libc_ver() != ("glibc", "2.36"):
        pytest.skip("calls.md is of programs with glibc 2.36")
    document = DOCUMENT.read_text()
    head = document[: document.index("| workload |")]
    made = [f"{head}| workload | cells | system calls of an op |", "|---|---|---|"]
    known = json.loads(TABLE.read_text())
    kept: dict[str, Any] = {}
    every = [workload for file in files() for workload in workloads(file)]

    def measured(workload: dict[str, Any]) -> dict[str, Called | None]:
        ops = min(workload["ops"], OPS)
        return {
            values: counted(programs, workload["name"], command, ops)
            for values, command in cells(workload)
        }

    with whole_run.alone("huge-pages"), ThreadPoolExecutor(whole_run.GUESTS) as pool:
        results = list(pool.map(measured, every))
    for workload, found in zip(every, results, strict=True):
        name, ops = workload["name"], min(workload["ops"], OPS)
        if None in found.values():
            # Not there on this machine: what was measured elsewhere stands.
            here = re.findall(rf"(?m)^\| `{re.escape(name)}` \|.*$", document)
            assert here, f"{name} is not there on this machine, and has no row"
            made += here
            kept |= {
                cell: one for cell, one in known["cells"].items() if cell.split("/")[0] == name
            }
            continue
        made += rows(
            workload,
            {values: told(name, one, ops) for values, one in found.items() if one is not None},
        )
        there = {values: one for values, one in found.items() if one is not None}
        kept |= dict(entries(name, there, ops))
    check_golden(TABLE, table(kept, known["numbers"]), "tests/suite/test_suite_calls.py")
    check_golden(DOCUMENT, "\n".join(made) + "\n", "tests/suite/test_suite_calls.py")
