"""Code: bytes of instructions, which a recording says have run."""

import itertools
from functools import cache
from pathlib import Path

import numpy as np
from support import need_program

from fuzz.target import Target
from profdiff.symbolization._native import SymbolIndex, disassemble, elf_code, split_code


@cache
def _x86_64_seeds() -> list[bytes]:
    """The first sections of programs."""
    seeds = []
    for program in ("busybox", "sh", "cp"):
        path = str(Path(need_program(program)).resolve())
        sections = SymbolIndex.open(path).sections()
        starts = np.array([start for _, start, _ in sections], np.uint64)
        sizes = np.array([min(size, 1 << 14) for _, _, size in sections], np.uint64)
        seeds += [code for code in elf_code(path, starts, sizes) if code]
    return seeds


def _arm64_seeds() -> list[bytes]:
    """Words of every group that the manual has: bits 25 to 28, with others beside them."""
    words = (
        group << 25 | number * 0x9E3779B1 & 0xE1FFFFFF
        for group in range(16)
        for number in range(200)
    )
    return [b"".join(word.to_bytes(4, "little") for word in words)]


def _read(architecture: str, data: bytes) -> str:
    lengths = split_code(architecture, data).tolist()
    ends = list(itertools.accumulate(lengths, initial=0))
    assert ends[-1] == len(data)
    code = np.zeros((len(lengths), 16), np.uint8)
    for row, (start, end) in zip(code, itertools.pairwise(ends), strict=True):
        row[0] = end - start
        row[1 : 1 + end - start] = np.frombuffer(data[start:end], np.uint8)
    address = np.array(ends[:-1], np.uint64) + np.uint64(0xFFFFFFFF81000000)
    out = disassemble(architecture, address, code)
    for operands, reference in zip(out.operands.tolist(), out.reference.tolist(), strict=True):
        assert not reference or f"{reference:#x}" in out.strings[operands]
    return "\n".join(out.strings)


TARGETS = (
    Target("x86-64-code", _x86_64_seeds, lambda data, _: _read("x86_64", data), 500, ()),
    Target("arm64-code", _arm64_seeds, lambda data, _: _read("aarch64", data), 200, ()),
)
