"""Time the comparison of 2,000 functions of two kernels, against its limit.

Usage: python benches/equal_code.py [--old ELF] [--new ELF] [--runs 5]

Prints medians of processor time, of which unpacking and parsing both files takes most, and exits
with 1 when the limit is missed.
"""

import argparse
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from profdiff.symbolization._native import SymbolIndex, compare_code, verdicts

LIMIT = 1.0
FUNCTIONS = 2_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    kernels = Path(__file__).resolve().parents[1] / "../shared/kernels"
    parser.add_argument("--old", default=kernels / "v6.12.107/vmlinux.zst", type=Path)
    parser.add_argument("--new", default=kernels / "v6.18.15/vmlinux.zst", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for path in (options.old, options.new):
        if not path.exists():
            print(f"{path} is absent: give an ELF file by --old and --new")
            return 2
    old, new = str(options.old), str(options.new)
    _, start, size = max(SymbolIndex.open(old).sections(), key=lambda section: section[2])
    every = np.linspace(start, start + size, 4 * FUNCTIONS, endpoint=False).astype(np.uint64)
    first = np.unique(compare_code(old, old, every).start)
    svma = first[np.linspace(0, len(first) - 1, min(FUNCTIONS, len(first))).astype(np.int64)]
    missed = 0
    for name, other in (("with itself", old), ("with the other", new)):
        times = []
        for _ in range(options.runs):
            begun = time.process_time()
            found = compare_code(old, other, svma)
            times.append(time.process_time() - begun)
        counts = Counter(verdicts()[one] for one in found.verdict.tolist())
        median = statistics.median(times)
        said = ", ".join(f"{number} {what}" for what, number in counts.most_common())
        print(
            f"{name:15} {len(found.name):6,} functions {median:6.3f} s limit {LIMIT:.2f} s ({said})"
        )
        if median > LIMIT:
            missed = 1
            print(f"  MISSED: {median:.3f} s is more than {LIMIT} s")
    return missed


if __name__ == "__main__":
    sys.exit(main())
