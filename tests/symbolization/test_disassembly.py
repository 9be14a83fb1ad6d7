"""Disassembly: bytes of instructions to text, flow and classes."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from profdiff.symbolization._native import (
    Disassembly,
    classes,
    disassemble,
    flows,
    split_code,
)


def rows(instructions: list[bytes]) -> NDArray[np.uint8]:
    """As ``disassemble()`` takes them."""
    code = np.zeros((len(instructions), 16), np.uint8)
    for row, one in zip(code, instructions, strict=True):
        row[0] = len(one)
        row[1 : 1 + len(one)] = np.frombuffer(one, np.uint8)
    return code


def texts(disassembly: Disassembly) -> list[str]:
    """Operation and operands."""
    strings = disassembly.strings
    columns = zip(disassembly.operation.tolist(), disassembly.operands.tolist(), strict=True)
    return [f"{strings[operation]} {strings[operands]}".strip() for operation, operands in columns]


AT = 0xFFFFFFFF81000000
DATA = AT + 0x100
LOAD = {"load"}
MOVE = "mov @(,r64,8),r64"
REPEAT = {"store", "repeated"}
CHANGE = {"load", "store", "locked"}


@pytest.mark.parametrize(
    ("code", "text", "shape", "reference", "flow", "kinds"),
    [
        ("488b07", "mov (%rdi),%rax", "mov (r64),r64", 0, "next", {"load"}),
        ("48890424", "mov %rax,(%rsp)", "mov r64,(%rsp)", 0, "next", {"store"}),
        ("488d05f9000000", f"lea {DATA:#x}(%rip),%rax", "lea @(%rip),r64", DATA, "next", set()),
        ("f0480fb10f", "lock cmpxchg %rcx,(%rdi)", "lock cmpxchg r64,(r64)", 0, "next", CHANGE),
        ("e8fb000000", f"call {DATA:#x}", "call @", DATA, "call", {"store", "call"}),
        ("740e", f"je {AT + 0x10:#x}", "je @", AT + 0x10, "conditional", {"conditional"}),
        ("48c7c700010081", f"mov ${DATA:#x},%rdi", "mov $@,r64", DATA, "next", set()),
        ("f348ab", "rep stos %rax,%es:(%rdi)", "rep stos r64,%es:(r64)", 0, "next", REPEAT),
        ("488b0ccd00010081", f"mov {DATA:#x}(,%rcx,8),%rcx", MOVE, DATA, "next", LOAD),
        ("0f0b", "ud2", "ud2", 0, "enter", set()),
        ("06", "(bad)", "(bad)", 0, "next", set()),
    ],
)  # fmt: skip
def test_x86_64(
    code: str, text: str, shape: str, reference: int, flow: str, kinds: set[str]
) -> None:
    one = disassemble("x86_64", np.array([AT], np.uint64), rows([bytes.fromhex(code)]))
    assert texts(one) == [text]
    assert one.strings[one.shape[0]] == shape
    assert int(one.reference[0]) == reference
    assert flows()[one.flow[0]] == flow
    assert {name for bit, name in enumerate(classes()) if one.classes[0] >> bit & 1} == kinds


def test_lengths_add_up() -> None:
    code = bytes.fromhex("55 4889e5 06 e8fb000000 c3 0f")
    assert split_code("x86_64", code).tolist() == [1, 3, 1, 5, 1, 1]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match='no decoder for the architecture "vax"'):
        split_code("vax", b"")
    with pytest.raises(ValueError, match="a row of 16 bytes for each address"):
        disassemble("x86_64", np.zeros(2, np.uint64), np.zeros((1, 16), np.uint8))


@given(st.sampled_from(["x86_64", "aarch64"]), st.binary(max_size=400), st.integers(0, 2**64 - 1))
def test_any_bytes(architecture: str, code: bytes, address: int) -> None:
    """The laws of the columns, for code that nobody compiled."""
    lengths = split_code(architecture, code).tolist()
    assert sum(lengths) == len(code)
    assert all(1 <= length <= 15 for length in lengths)
    ends = np.cumsum([0, *lengths]).tolist()
    pieces = [code[start:end] for start, end in itertools.pairwise(ends)]
    at = [(address + start) % 2**64 for start in ends[:-1]]
    out = disassemble(architecture, np.array(at, np.uint64), rows(pieces))
    assert out.strings[0] == ""
    assert len({*out.strings}) == len(out.strings)
    for text, reference in zip(texts(out), out.reference.tolist(), strict=True):
        assert text
        assert not reference or f"{reference:#x}" in text
    for column in (out.operation, out.operands, out.shape):
        assert len(column) == len(pieces)
        assert all(number < len(out.strings) for number in column.tolist())
    assert all(code < len(flows()) for code in out.flow.tolist())
    assert all(bits < 1 << len(classes()) for bits in out.classes.tolist())
    # An instruction is what it is wherever it stands among others.
    again = disassemble(architecture, np.array(at[::-1], np.uint64), rows(pieces[::-1]))
    assert texts(again) == texts(out)[::-1]
    assert again.classes.tolist() == out.classes.tolist()[::-1]


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=20))
def test_any_rows(given: list[bytes]) -> None:
    """Lengths that no instruction has, too."""
    code = np.frombuffer(b"".join(given), np.uint8).reshape(-1, 16)
    for architecture in ("x86_64", "aarch64"):
        out = disassemble(architecture, np.zeros(len(given), np.uint64), code)
        for text, row in zip(texts(out), given, strict=True):
            assert text == "(bad)" or row[0] <= 15
