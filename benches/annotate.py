"""How long ``profdiff annotate`` takes, warm, with Python's start; and a large function's text.

    python benches/annotate.py SESSION [FUNCTION...] [--runs N]

Processor time (user and system) of the whole command, next to that of Python with the libraries
that every report needs, in turn; and of the text of a made-up function of 5,000 instructions. Exits
with 1 when a limit is missed: 0.3 s for a command, 0.3 s for the text.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

from taken import taken

from profdiff.reports.annotation.text import render
from profdiff.reports.form import ReportOptions
from profdiff.views.annotation.records import SCHEMA, Annotation, Line, Place, Row, Split

LIMIT = 0.3
INSTRUCTIONS = 5_000
_START = ["-c", "import numpy, msgspec, click"]
_LABELS = ("base", "new")


def large(instructions: int) -> Annotation:
    """A function in which each eighth instruction is a jump, and a third was never executed."""
    rows = [_row(number, instructions) for number in range(instructions)]
    self_ = {label: sum(row.count[label] for row in rows) for label in _LABELS}
    return Annotation(
        schema=SCHEMA,
        function="f",
        side="kernel",
        labels=list(_LABELS),
        metric="instructions",
        unit="instructions",
        exact=True,
        ops=1000,
        self=self_,
        samples=None,
        calls=None,
        size=dict.fromkeys(_LABELS, 4 * instructions),
        split={"new": Split(same=self_["new"] - self_["base"], other=0)},
        places=[Place(chain=["f"], chains={label: ["f"] for label in _LABELS}, self=self_)],
        rows=rows,
        lines=[
            Line(
                file="mm/memory.c",
                line=1 + number,
                lines=dict.fromkeys(_LABELS, 1 + number),
                text="\tif (unlikely(pte_none(*vmf->pte)))",
                text_of=list(_LABELS),
                count=dict.fromkeys(_LABELS, 0),
                samples=None,
                places=[0],
            )
            for number in range(instructions // 3 + 1)
        ],
        notes=[],
    )


def _row(number: int, instructions: int) -> Row:
    count = 0 if number // 50 % 3 == 2 else 1000 * (1 + number % 7)
    jumps = number % 8 == 7
    target = hex(0xFFFF_FFFF_8100_0000 + 4 * (number * 37 % instructions))
    return Row(
        place=0,
        relation="same",
        address=dict.fromkeys(_LABELS, hex(0xFFFF_FFFF_8100_0000 + 4 * number)),
        text=dict.fromkeys(_LABELS, f"jne    f+{number:#x}" if jumps else "mov    0x8(%rax),%rcx"),
        count={"base": count, "new": count + count // 3},
        samples=None,
        taken={"base": count // 2, "new": count // 4} if jumps else None,
        target=dict.fromkeys(_LABELS, target) if jumps else {},
        classes=[],
        accesses={},
        file="mm/memory.c",
        line=1 + number // 3,
        files={},
        lines=dict.fromkeys(_LABELS, 1 + number // 3),
    )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("session", type=Path)
    parser.add_argument("functions", nargs="*", default=["change_pte_range"])
    parser.add_argument("--runs", type=int, default=7)
    options = parser.parse_args()
    missed = False
    for function in options.functions:
        command = ["-m", "profdiff", "annotate", options.session, function]
        taken(*command)
        pairs = [(taken(*_START).processor, taken(*command).processor) for _ in range(options.runs)]
        start = statistics.median(start for start, _ in pairs)
        whole = statistics.median(whole for _, whole in pairs)
        missed |= whole > LIMIT
        print(
            f"{function}: {whole:.2f} s (limit {LIMIT} s: {_met(whole)}); "
            f"{whole / start:.1f} times Python with its libraries ({start:.2f} s)"
        )
    made = large(INSTRUCTIONS)
    before = time.process_time()
    lines = len(render(made, ReportOptions(width=160)))
    spent = time.process_time() - before
    missed |= spent > LIMIT
    print(f"{INSTRUCTIONS:,} instructions as {lines:,} lines: {spent:.2f} s ", end="")
    print(f"(limit {LIMIT} s: {_met(spent)})")
    return int(missed)


def _met(taken: float) -> str:
    return "met" if taken <= LIMIT else "MISSED"


if __name__ == "__main__":
    sys.exit(main())
