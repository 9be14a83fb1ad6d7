"""The code of functions of two kernels against what objdump prints of them."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from equal_code.linked import functions
from equal_code.objdump_text import text
from extent import examples

from profdiff.symbolization._native import compare_code, verdicts

# So many runs of neighbours are compared: what lies beside each other is printed at once.
RUNS, NEIGHBOURS = examples(60), 50
# Code is compared first: these are of what comes behind it.
SAME_CODE = {"equal", "data", "patched", "unknown"}
# What objdump's text does not show: source files, and code that has no symbol.
UNSEEN = ("another of that name", "without a symbol")


def test_functions_of_two_kernels(fixture_vmlinux: Callable[[str], Path]) -> None:
    old, new = fixture_vmlinux("v6.12.107"), fixture_vmlinux("v6.18.15")
    known = sorted(functions(old).values())
    places = random.Random(1).sample(range(0, len(known), NEIGHBOURS), RUNS)
    svma = np.array(
        [known[at] for one in places for at in range(one, one + NEIGHBOURS) if at < len(known)]
    )
    found = compare_code(str(old), str(new), svma.astype(np.uint64))
    before, after = text(old, found.name).functions, text(new, found.name).functions
    counts: Counter[tuple[bool, bool]] = Counter()
    stricter = []
    for name, verdict, detail in zip(found.name, found.verdict.tolist(), found.detail, strict=True):
        if name not in before or name not in after:
            continue
        same = before[name] == after[name]
        told = verdicts()[verdict] in SAME_CODE
        counts[same, told] += 1
        assert same or not told, (name, set(before[name]) ^ set(after[name]))
        if same != told and not any(why in detail for why in UNSEEN):
            stricter.append((name, verdicts()[verdict], detail))
    least = 500 * RUNS // 60
    assert counts[True, True] > least and counts[False, False] > least, counts
    # A jump at the end of a function may have a short and a long encoding.
    assert len(stricter) < 4, (stricter, counts)
    assert counts[True, False] < 30, counts
