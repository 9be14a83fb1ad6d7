"""How long the page and the site of a recorded suite take to write.

    python benches/suite_cells.py SUITE [--runs N]

Elapsed and processor time of ``profdiff report SUITE`` with ``--html`` and ``--site``, lowest of N,
without what the text of the same suite takes, so for its cells alone. Exits with 1 where a cell
takes longer than it may for 512 of them in 15 s.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from limits import Figure, told
from taken import Taken, taken

from profdiff.reports.suite_document import build
from profdiff.session.suite import Suite

LIMIT = 15 / 512


def main() -> int:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("suite", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    cells = len(build(Suite.open(options.suite)).cells)

    def lowest(*form: str) -> Taken:
        found = []
        for _ in range(options.runs):
            with tempfile.TemporaryDirectory() as folder:
                words = [*form, Path(folder) / "made"] if form else []
                found.append(taken("-m", "profdiff", "report", options.suite, *words))
        return Taken(*map(min, zip(*found, strict=True)))

    text, page, site = lowest(), lowest("--html"), lowest("--site")
    print(f"{cells} cells; of all, the text takes {text.elapsed:.2f} s")
    figures = []
    for name, (elapsed, processor) in (("page", page), ("site", site)):
        each = (elapsed - text.elapsed) / cells
        print(f"{name}: {elapsed:.2f} s, {processor:.2f} s of processors")
        limit = f"{1000 * LIMIT:.0f} ms"
        figures.append(Figure(f"{name}, a cell", f"{1000 * each:.0f} ms", each <= LIMIT, limit))
    return told(figures)


if __name__ == "__main__":
    sys.exit(main())
