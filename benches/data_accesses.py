"""How long it takes to tell what a kernel's instructions access, and to read what is kept of that.

    python benches/data_accesses.py SESSION [--runs N]

For each kernel of a session of exact counts: processor time to resolve 12,000 of its executed
instructions, in a new process with the symbol index there, without what the process needs for its
start and for reading the recording; of a second workload on the same kernel; and to read the
accesses that the session keeps; and how large these are. Exits with 1 when a limit is missed: 1 s,
50 ms, 1 MB.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from profdiff.base.cache import symbol_cache
from profdiff.profile.kept_code import architecture_of, kernel_symbols
from profdiff.profile.runs import recorded
from profdiff.session.session import Session
from profdiff.symbolization.data_accesses import DataAccesses, kernel_accesses
from profdiff.symbolization.places import KERNEL_HALF, Places

INSTRUCTIONS = 12_000
RESOLVED, READ, KEPT = 1.0, 0.05, 1_000_000


def resolved(session: Session, label: str) -> tuple[int, float, float]:
    """How many instructions, and the processor time of the first and of a second resolution."""
    run = next(one for one in session.manifest.runs if one.kernel == label and not one.failure)
    found = recorded(session, run)
    if found is None:
        raise SystemExit(f"{label}: {run.id} has no exact counts")
    mine = (found.places.address >= KERNEL_HALF).nonzero()[0][:INSTRUCTIONS]
    address, executed = found.places.address[mine], found.executed[mine]
    places = Places.of_code(address, executed)
    symbols, architecture = kernel_symbols(session, run, {}), architecture_of(run)
    # The symbol index, which record makes before.
    kernel_accesses(symbols, Places.of_code(address[:0], executed[:0]), executed[:0], "", None)
    times = []
    for _ in range(2):
        before = time.process_time()
        kernel_accesses(symbols, places, executed, architecture, symbol_cache())
        times.append(time.process_time() - before)
    return len(mine), times[0], times[1]


def main() -> None:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser()
    parser.add_argument("session", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kernel", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    session = Session.open(asked.session)
    if asked.kernel:
        print(*resolved(session, asked.kernel))
        return
    missed = False
    for kernel in session.manifest.kernels:
        if not kernel.accesses:
            raise SystemExit(f"{kernel.label}: the session keeps no accesses: record it again")
        command = [sys.executable, __file__, str(asked.session), "--kernel", kernel.label]
        told = [
            [float(one) for one in subprocess.check_output(command, env=os.environ).split()]
            for _ in range(asked.runs)
        ]
        path = session.path(kernel.accesses)
        reads = []
        for _ in range(asked.runs):
            before = time.process_time()
            DataAccesses.load(path)
            reads.append(time.process_time() - before)
        size = path.stat().st_size
        first, second = (statistics.median(one[column] for one in told) for column in (1, 2))
        read = statistics.median(reads)
        print(
            f"{kernel.label}: {told[0][0]:,.0f} instructions {first:.2f} s (limit {RESOLVED:g}), "
            f"again {second:.2f} s; kept {size:,} bytes (limit {KEPT:,}), read in "
            f"{1000 * read:.1f} ms (limit {1000 * READ:g})"
        )
        missed |= first > RESOLVED or read > READ or size > KEPT
    sys.exit(missed)


if __name__ == "__main__":
    main()
