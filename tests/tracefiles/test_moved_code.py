"""Lines whose code the compiler moved or merged, against gcov, which counts code as it is written.

gdb steps through a program that gcc optimizes, as QEMU counts a kernel's instructions.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support import ROOT, need_program, profdiff
from tracefiles.tracefile import read

from profdiff.profile.code.sure_lines import Copy, Marks, Place, largest, sure
from profdiff.symbolization._native import SymbolIndex, elf_code, split_code, statements
from profdiff.symbolization.kernel_code import Instructions
from profdiff.symbolization.statements import Statements

SOURCE = ROOT / "tests/tracefiles/moved.c"
ROUNDS = 10
STEPS = f"""
import gdb
gdb.execute("set pagination off")
gdb.execute("set backtrace past-main on")
gdb.execute("break main")
gdb.execute("run {ROUNDS} > /dev/null")
caller = gdb.newest_frame().older().pc()
with open("steps", "w") as file:
    while (pc := gdb.newest_frame().pc()) != caller:
        file.write(f"{{pc:x}}\\n")
        gdb.execute("stepi", to_string=True)
gdb.execute("kill")
"""
Counts = dict[int, int]


def truth(folder: Path) -> Counts:
    """How often gcov says that each line executed, without optimization."""
    gcov = need_program("gcov", "gcc")
    subprocess.run(["gcc", "-O0", "--coverage", SOURCE.name, "-o", "plain"], cwd=folder, check=True)
    subprocess.run(["./plain", str(ROUNDS)], cwd=folder, check=True)
    (notes,) = folder.glob("*.gcda")
    command = [gcov, "--json-format", "--stdout", notes.name]
    told = json.loads(subprocess.check_output(command, cwd=folder))
    return {one["line_number"]: one["count"] for one in told["files"][0]["lines"]}


def stepped(folder: Path) -> list[int]:
    """The addresses of the instructions that executed, one by one."""
    gdb = need_program("gdb")
    (folder / "steps.py").write_text(STEPS)
    command = [gdb, "-batch", "-nx", "-x", "steps.py", "./quick"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if not (folder / "steps").exists():
        pytest.skip(f"gdb cannot run a program here: {result.stderr.strip()}")
    return [int(line, 16) for line in (folder / "steps").read_text().splitlines()]


def summed(counts: Mapping[Copy, int]) -> Counts:
    """By line of the program's own file."""
    found: Counter[int] = Counter()
    for (_, _, (file, line)), count in counts.items():
        if file == SOURCE.name:
            found[line] += count
    return dict(found)


def counted(folder: Path, program: Path) -> tuple[Counts, Counts]:
    """How often each line certainly executed, and how often an instruction of it did."""
    steps = stepped(folder)
    counts, on = Counter(steps), Counter(pairwise(steps))
    index = SymbolIndex.open(str(program))
    first, end = index.symbol_ranges(np.array(sorted(counts), np.uint64))
    ranges = sorted({*zip(first.tolist(), end.tolist(), strict=True)} - {(0, 0)})
    start = np.array([one for one, _ in ranges], np.uint64)
    size = np.array([end - one for one, end in ranges], np.uint64)
    text = elf_code(str(program), start, size)
    rows = []
    for address, code in zip(start.tolist(), text, strict=True):
        at = 0
        for length in split_code("x86_64", code).tolist():
            row = np.zeros(16, np.uint8)
            row[0], row[1 : 1 + length] = length, list(code[at : at + length])
            rows.append((address + at, row))
            at += length
    found = index.resolve(np.array([one for one, _ in rows], np.uint64))
    chains = found.chain_offsets.tolist()
    places = []
    for number, (address, row) in enumerate(rows):
        frames = tuple(found.chain_frames[chains[number] : chains[number + 1]].tolist())
        if not (counts[address] and frames):
            continue
        symbol = found.strings[found.symbol[number]]
        line = int(found.frame_line[frames[-1]])
        copy = (symbol, frames[:-1], (SOURCE.name, line)) if line else None
        count, jumped = counts[address], counts[address] - on[address, address + int(row[0])]
        places.append(Place(address, symbol, frames, copy, count, jumped, row))
    marks = Statements(*statements(str(program), start, start + size))
    address = np.array([one for one, _ in rows], np.uint64)
    every = Instructions(address, np.array([row for _, row in rows]), np.zeros(len(rows), np.int64))
    lines = {(marks.files[file], line) for file, line in zip(marks.file, marks.line, strict=True)}
    lines |= {one.copy[2] for one in places if one.copy}
    certain = sure(places, Marks.of(marks, "x86_64", every, {*start.tolist()}), "x86_64", lines)
    most = largest((one.copy, one.count) for one in places if one.copy)
    return summed(certain), summed(most)


@pytest.mark.build
def test_no_line_executed_less_often_than_it_says(tmp_path: Path) -> None:
    (tmp_path / SOURCE.name).write_text(SOURCE.read_text())
    need_program("gcc")
    command = ["gcc", "-O2", "-g", "-no-pie", "-fno-pie", SOURCE.name, "-o", "quick"]
    subprocess.run(command, cwd=tmp_path, check=True)
    certain, most = counted(tmp_path, tmp_path / "quick")
    executed = truth(tmp_path)
    wrong = {line for line, count in most.items() if count > executed.get(line, count)}
    assert len(wrong) >= 5, "the compiler moved nothing, so this shows nothing"
    assert any(executed[line] == 0 for line in wrong)
    # gcov has no lines of braces and declarations.
    assert {line for line, count in certain.items() if count > executed.get(line, count)} == set()
    ran = {line for line in most if executed.get(line)}
    assert sum(not certain.get(line) for line in ran) <= len(ran) / 4
    assert sum(certain.get(line) == executed[line] for line in ran) >= len(ran) * 2 / 3


# Lines of mm/mprotect.c in Linux 6.12 that ran none of their code where anonymous memory of one
# process becomes PROT_NONE and PROT_READ | PROT_WRITE again, by reading the source: NUMA hints,
# markers of userfaultfd, huge pages, equal flags, no length, PROT_GROWSDOWN, and a personality.
NEVER = {105, 250, 386, 619, 730, 758, 794}
# Half of the calls, all of them, and half of the PTEs.
CALLS, PTES = 220, 40_000
EXECUTED = {649: CALLS / 2, 659: CALLS / 2, 647: CALLS, 757: CALLS, 767: CALLS, 193: PTES / 2}


@pytest.mark.guest
def test_lines_of_mprotect_that_did_not_execute(recorded: Path, tmp_path: Path) -> None:
    """Each has an instruction that executed in each call, or for each PTE."""
    profdiff("coverage", recorded, "-o", tmp_path)
    base, unsure, vanished = (
        read(tmp_path / f"{name}.info")["mm/mprotect.c"].lines
        for name in ("base", "unsure/base", "difference/new.vanished")
    )
    assert not NEVER & {line for line in base.keys() | vanished.keys() if base.get(line)}
    assert unsure.keys() >= NEVER
    assert not base.keys() & unsure.keys()
    assert {line: base[line] for line in EXECUTED} == EXECUTED
    # Most of what executed is certain.
    assert len(unsure) <= sum(count > 0 for count in base.values()) / 4
