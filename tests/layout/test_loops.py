"""Loops and the lines that code lies in: against an interpreter, objdump, and counting bytes."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from extent import examples
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from layout.made_loops import run
from support import need_program

from profdiff.base.cache_line import LINE, covered, least, lines_of
from profdiff.profile.code.loops import Ways, loops, ways
from profdiff.symbolization._native import disassemble, elf_code, flows, split_code

# Each function has so many loops, and none is unrolled.
_LOOPS = {"none": 0, "one": 1, "two": 2, "nested": 3, "searching": 1, "sorting": 2}
_PROGRAM = """
#define FUNCTION __attribute__((noinline, noclone))
volatile int sink, limit;
FUNCTION int none(int a) { if (a > sink) sink = a; return a; }
FUNCTION void one(int n) { for (int i = 0; i < n; i++) sink = i; }
FUNCTION void two(int n) { for (int i = 0; i < n; i++) sink = i; while (limit) sink++; }
FUNCTION void nested(int n)
{
	for (int i = 0; i < n; i++)
		for (int j = 0; j < limit; j++)
			for (int k = 0; k < limit; k++) { sink = j; if (sink > 3) limit = k; }
}
FUNCTION int searching(int *p, int n)
{
	for (int i = 0; i < n; i++) if (p[i] == limit) { sink = i; return i; }
	return -1;
}
FUNCTION void sorting(int *p, int n)
{
	for (int i = 1; i < n; i++) {
		int value = p[i], j = i;
		for (; j > 0 && p[j - 1] > value; j--) p[j] = p[j - 1];
		p[j] = value;
	}
}
int main(void) { return none(1); }
"""
_INSTRUCTION = re.compile(r"\s*([0-9a-f]+):\s+(\S+)\s*(.*)")
_JUMP = re.compile(r"j\w+|b|b\..*|cbn?z|tbn?z")


@hypothesis_settings(max_examples=examples(800))
@given(st.integers(0, 2**32))
def test_loops_are_those_that_an_interpreter_goes_round(seed: int) -> None:
    made, found = run(seed)
    assert found == made


def test_what_is_entered_at_two_instructions_is_no_loop() -> None:
    # 0 leads to 1 or 2, which lead to each other.
    nowhere = [-1, 2, 1, -1]
    both = Ways(
        behind=[5, 0, 3, 0],
        target=[2, *nowhere[1:]],
        taken=[5, 9, 9, 0],
        indirect=[False] * 4,
        entry=[True, False, False, False],
    )
    assert loops(both) == []
    # If 0 leads to 1 alone, it is one.
    (one,) = loops(replace(both, target=nowhere))
    assert (one.head, one.members, one.turns) == (1, [1, 2], 9)


def test_a_branch_that_always_jumps_does_not_go_on() -> None:
    address = np.array([0, 4, 8], np.uint64)
    four, count = np.full(3, 4, np.int64), np.array([7, 7, 7], np.int64)
    flow = np.array([flows().index(one) for one in ("next", "conditional", "return")], np.uint8)
    target = np.array([0, 0x1000, 0], np.uint64)
    for taken, behind in ((7, 0), (3, 4)):
        jumps = np.array([0, taken, 0], np.int64)
        found = ways(address, four, flow, target, count, jumps, address == 0)
        assert found.behind == [7, behind, 0]
        assert found.target == [-1, -1, -1]


def test_the_generated_code_has_loops_and_moved_code() -> None:
    every = [run(seed)[0] for seed in range(60)]
    assert sum(map(len, every)) > 100
    # Members of some loop are not all beside each other.
    gaps = [max(m) - min(m) > 12 * len(m) for made in every for _, _, m in made]
    assert any(gaps)


@pytest.mark.parametrize(
    ("architecture", "compiler", "objdump"),
    [
        ("x86_64", "gcc", "objdump"),
        ("arm64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump"),
    ],
)
@pytest.mark.build
def test_loops_of_a_compiled_program(
    architecture: str, compiler: str, objdump: str, tmp_path: Path
) -> None:
    need_program(compiler)
    (tmp_path / "loops.c").write_text(_PROGRAM)
    program = tmp_path / "loops"
    flags = ["-O1", "-fno-tree-vectorize", "-fno-jump-tables", "-static", "-nostdlib"]
    command = [compiler, *flags, "-Wl,-e,main", "-o", program, tmp_path / "loops.c"]
    subprocess.run(command, check=True, capture_output=True)
    shown = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True
    ).stdout
    symbols = subprocess.run(["nm", "-S", program], capture_output=True, text=True, check=True)
    sizes = {
        words[3]: int(words[1], 16)
        for words in map(str.split, symbols.stdout.splitlines())
        if len(words) == 4
    }
    for name, number in _LOOPS.items():
        text = re.split(rf"\n[0-9a-f]+ <{name}>:\n", shown)[1].split("\n\n")[0]
        listed = [match.groups() for match in map(_INSTRUCTION.match, text.splitlines()) if match]
        assert len(listed) == len(text.splitlines())
        addresses = [int(at, 16) for at, _, _ in listed]
        # What the disassembler of binutils calls a jump back, in functions without moved code.
        back = {
            target
            for at, word, operands in listed
            if _JUMP.fullmatch(word)
            for target in [int(re.findall(r"(?:0x)?([0-9a-f]+) <", operands)[0], 16)]
            if addresses[0] <= target <= int(at, 16)
        }
        size = np.array([sizes[name]], np.uint64)
        (code,) = elf_code(str(program), np.array(addresses[:1], np.uint64), size)
        lengths = split_code(architecture, code)[: len(addresses)].astype(np.int64)
        assert np.array_equal(np.cumsum(lengths)[:-1], np.array(addresses[1:]) - addresses[0])
        rows = np.zeros((len(addresses), 16), np.uint8)
        rows[:, 0] = lengths
        for row, start in enumerate(np.cumsum(lengths) - lengths):
            rows[row, 1 : 1 + lengths[row]] = list(code[start : start + lengths[row]])
        address = np.array(addresses, np.uint64)
        decoded = disassemble(architecture, address, rows)
        # As if each went both ways once.
        every = np.full(len(address), 2, np.int64)
        entry = address == address[0]
        target = decoded.reference
        found = loops(ways(address, lengths, decoded.flow, target, every, every // 2, entry))
        assert len(found) == number, name
        # gcc also moves code behind the function, which jumps back and makes no loop.
        assert len(back) >= number
        for one in found:
            within = {int(address[row]) for row in one.members}
            assert within & back, name


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 200)), max_size=8))
def test_lines_are_those_that_bytes_lie_in(pieces: list[tuple[int, int]]) -> None:
    every = {byte // LINE for start, size in pieces for byte in range(start, start + size)}
    assert covered(pieces) == every
    total = len({byte for start, size in pieces for byte in range(start, start + size)})
    assert least(total) <= len(every)
    for start, size in pieces:
        assert list(lines_of(start, size)) == sorted(covered([(start, size)]))


def test_what_has_no_size_lies_in_a_line() -> None:
    assert list(lines_of(64, 0)) == [1]
