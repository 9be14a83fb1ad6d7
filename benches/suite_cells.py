"""How long the page and the site of a recorded suite take to write.

    python benches/suite_cells.py SUITE [--runs N]

Elapsed and processor time of ``profdiff report SUITE`` with ``--html`` and ``--site``, lowest of N,
without what the text of the same suite takes, so for its cells alone. Exits with 1 where a cell
takes longer than it may for 512 of them in 15 s.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from limits import Figure, told

from profdiff.reports.documents.suite import build
from profdiff.session.suite import Suite

LIMIT = 15 / 512


def taken(suite: Path, *options: str | Path) -> tuple[float, float]:
    """Seconds that pass, and of all processors, for a report."""
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "profdiff", "report", str(suite), *map(str, options)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after, end = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return end - start, processor


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    cells = len(build(Suite.open(options.suite)).cells)

    def lowest(report: Callable[[Path], tuple[float, float]]) -> tuple[float, ...]:
        found = []
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                found.append(report(Path(folder)))
        return tuple(map(min, zip(*found, strict=True)))

    text = lowest(lambda _: taken(options.suite))
    page = lowest(lambda folder: taken(options.suite, "--html", folder / "page.html"))
    site = lowest(lambda folder: taken(options.suite, "--site", folder / "site"))
    print(f"{cells} cells; of all, the text takes {text[0]:.2f} s")
    figures = []
    for name, (elapsed, processor) in (("page", page), ("site", site)):
        each = (elapsed - text[0]) / cells
        print(f"{name}: {elapsed:.2f} s, {processor:.2f} s of processors")
        limit = f"{1000 * LIMIT:.0f} ms"
        figures.append(Figure(f"{name}, a cell", f"{1000 * each:.0f} ms", each <= LIMIT, limit))
    return told(figures)


if __name__ == "__main__":
    sys.exit(main())
