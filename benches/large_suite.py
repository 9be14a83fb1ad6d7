"""How long a report of a suite with very many runs takes, and how much memory.

    python benches/large_suite.py [--kernels K] [--workloads W] [--points P]

A made-up suite of K kernels × W workloads × P points, one exact run each, 100,000 by default, as
``record`` leaves it. Each report is a process of its own, so that its peak is its own. Exits with 1
when the text takes more than 10 s, or any of them more than 1 GiB.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS, BYTES = 10.0, 1 << 30
ROOT = Path(__file__).resolve().parent.parent


def report(folder: Path, *options: str) -> tuple[float, float, int]:
    """Seconds of wall time, seconds of processor time and the peak of ``profdiff report``."""
    start = time.perf_counter()
    command = [sys.executable, "-m", "profdiff", "report", str(folder), *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return (
        time.perf_counter() - start,
        usage.ru_utime + usage.ru_stime,
        usage.ru_maxrss * 1024,
    )


def main() -> int:
    """Make the suite, measure the reports, judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=1000)
    parser.add_argument("--workloads", type=int, default=100)
    parser.add_argument("--points", type=int, default=1)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    from synthetic_suite import large_suite

    missed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "S"
        start = time.perf_counter()
        large_suite(folder, options.kernels, options.workloads, options.points)
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        runs = options.kernels * options.workloads * options.points
        print(f"{runs:,} runs, {size / 1e6:,.0f} MB, made in {time.perf_counter() - start:.1f} s")
        for name, more in (
            ("text", ()),
            ("JSON", ("--json", str(folder / "out.json"))),
            ("CSV", ("--csv", str(folder / "out.csv"))),
        ):
            wall, processor, peak = report(folder, *more)
            ok = peak <= BYTES and (processor <= SECONDS or name != "text")
            missed |= not ok
            print(
                f"{name}: {wall:.1f} s, processor {processor:.1f} s, peak {peak / 2**20:,.0f} MiB"
                f"{'' if ok else ': MISSED'}"
            )
    print(f"limits: text {SECONDS:.0f} s, {BYTES >> 20:,} MiB: {'MISSED' if missed else 'met'}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
