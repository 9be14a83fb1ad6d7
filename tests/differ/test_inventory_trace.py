"""The inventory of a program, against counts of callgrind by address and texts of objdump."""

import csv
import io
import re
import subprocess
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from support import ROOT, need_program, profdiff

pytestmark = pytest.mark.guest
SOURCE = ROOT / "tests/differ/inventory.c"
FUNCTIONS = ("leaf", "fib", "call_by_pointer", "lock_and_divide", "jump_by_table", "order", "main")
TEXT = {
    "returns": r"(repz )?ret",
    "direct-calls": r"call +[0-9a-f]",
    "indirect-calls": r"call +\*",
    "indirect-jumps": r"jmp +\*",
    "jumps": r"jmp +[0-9a-f]",
    "conditional": r"j(?!mp)",
    "locked": r"lock |xchg +.*\(",
    "divisions": r"i?div",
    "mfence": "mfence",
    "lfence": "lfence",
    "sfence": "sfence",
    "pause": "pause",
}


def disassembled(program: Path) -> dict[int, tuple[str, str]]:
    """Function and text of each instruction of the program's functions."""
    need_program("objdump", "binutils")
    command = ["objdump", "-d", "--no-show-raw-insn", str(program)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found, function = {}, ""
    for line in out.splitlines():
        if begins := re.match(r"[0-9a-f]+ <([^>]+)>:", line):
            function = begins[1].partition(".")[0]
        elif (text := re.match(r" +([0-9a-f]+):\t(.*)", line)) and function in FUNCTIONS:
            found[int(text[1], 16)] = function, text[2]
    return found


def traced(program: Path, folder: Path) -> tuple[dict[int, int], dict[int, int]]:
    """By address, how often an instruction ran, and how often a branch was taken."""
    need_program("valgrind", "valgrind")
    options = ["--dump-instr=yes", "--collect-jumps=yes", "--compress-pos=no"]
    out = folder / "callgrind"
    command = ["valgrind", "--tool=callgrind", *options, f"--callgrind-out-file={out}"]
    subprocess.run([*command, str(program)], capture_output=True, check=True)
    ran, taken = defaultdict[int, int](int), defaultdict[int, int](int)
    before = ""
    for line in out.read_text().splitlines():
        if cost := re.fullmatch(r"0x([0-9a-f]+) \d+(?: (\d+))?", line.strip()):
            address = int(cost[1], 16)
            if branch := re.match(r"jcnd=(\d+)/", before):
                taken[address] += int(branch[1])
            elif cost[2] and not before.startswith("calls="):
                ran[address] += int(cost[2])
        before = line
    return ran, taken


def test_a_program_has_what_callgrind_counts(
    old_kernel: Path, new_kernel: Path, tmp_path: Path
) -> None:
    program = tmp_path / "inventory"
    command = ["gcc", "-O2", "-g", "-static", "-fcf-protection=none", "-o", str(program)]
    subprocess.run([*command, str(SOURCE)], check=True)
    ran, taken = traced(program, tmp_path)
    expected = defaultdict[tuple[str, str], int](int)
    for address, (function, text) in disassembled(program).items():
        for item, pattern in TEXT.items():
            if re.match(pattern, text):
                expected[function, item] += ran[address]
                if item in ("jumps", "indirect-jumps"):
                    expected[function, "taken-jumps"] += ran[address]
                elif item == "conditional":
                    expected[function, "taken"] += taken[address]
                    expected[function, "taken-jumps"] += taken[address]
    assert expected["fib", "returns"] > 500 and expected["lock_and_divide", "locked"] == 267

    kernels = ["--kernel", f"base={old_kernel}", "--kernel", f"new={new_kernel}"]
    options = ["--difference", "none", "--repeat", "1", "--vary-state", "0"]
    session = tmp_path / "s.profdiff"
    profdiff("record", *kernels, *options, "-o", session, "--", program)
    table = profdiff("report", session, "inventory", "--csv", "-").stdout
    rows = list(csv.DictReader(io.StringIO(table)))
    for label in ("base", "new"):
        counted = {
            (row["function"].removesuffix(" (inventory)"), row["item"]): int(row[f"count {label}"])
            for row in rows
            if row["table"] == "inventory-functions"
        }
        mine = {
            key: count
            for key, count in counted.items()
            if key[0] in FUNCTIONS and key[1] in {*TEXT, "taken", "taken-jumps"}
        }
        assert +Counter(mine) == +Counter(expected)
        # Derived by hand: forty times a hundred bytes.
        filled = [counted["fill", item] for item in ("repeated", "rep-iterations", "rep-bytes")]
        assert filled == [40, 4000, 4000]
        loops = {
            row["function"].removesuffix(" (inventory)"): int(row[f"iterations {label}"])
            for row in rows
            if row["table"] == "inventory-loops" and "(inventory)" in row["function"]
        }
        assert {name: loops[name] for name in ("call_by_pointer", "lock_and_divide")} == {
            "call_by_pointer": 300,
            "lock_and_divide": 200,
        }
        assert (loops["jump_by_table"], loops["main"]) == (700, 40)
