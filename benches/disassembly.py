"""Time the disassembly of 100,000 instructions of an ELF file, against its limit.

Usage: python benches/disassembly.py [--elf ../shared/kernels/v7.1.8/vmlinux.zst] [--runs 5]

Prints medians of processor time, and exits with 1 when the limit is missed. An arm64 file is one
whose name --architecture tells.
"""

import argparse
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from profdiff.symbolization._native import SymbolIndex, disassemble, elf_code, split_code

LIMIT = 0.1
INSTRUCTIONS = 100_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    root = Path(__file__).resolve().parents[1]
    parser.add_argument("--elf", default=root / "../shared/kernels/v7.1.8/vmlinux.zst", type=Path)
    parser.add_argument("--architecture", default="x86_64", choices=["x86_64", "aarch64"])
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    if not options.elf.exists():
        print(f"{options.elf} is absent: give an ELF file by --elf")
        return 2
    path = str(options.elf)
    _, start, size = max(SymbolIndex.open(path).sections(), key=lambda section: section[2])
    part = np.array([min(size, INSTRUCTIONS * 8)], np.uint64)

    def read() -> bytes:
        return elf_code(path, np.array([start], np.uint64), part)[0]

    text = read()
    lengths = split_code(options.architecture, text)[:INSTRUCTIONS].tolist()
    ends = list(itertools.accumulate(lengths, initial=0))
    code = np.zeros((len(lengths), 16), np.uint8)
    for row, (first, end) in zip(code, itertools.pairwise(ends), strict=True):
        row[: 1 + end - first] = [end - first, *text[first:end]]
    address = np.array(ends[:-1], np.uint64) + np.uint64(start)
    rows: list[tuple[str, Callable[[], object], float | None]] = [
        ("disassemble", lambda: disassemble(options.architecture, address, code), LIMIT),
        ("split_code", lambda: split_code(options.architecture, text), None),
        ("elf_code", read, None),
    ]
    missed = 0
    for name, call, limit in rows:
        median = statistics.median(timed(call) for _ in range(options.runs))
        verdict = "" if limit is None else f"limit {limit:.2f} s"
        print(f"{name:12} {len(lengths):9,} {median:7.3f} s {verdict}")
        if limit is not None and median > limit:
            missed = 1
            print(f"  MISSED: {median:.3f} s is more than {limit} s")
    return missed


def timed(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
