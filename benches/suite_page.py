"""How large the page of a suite is, how long it takes to write, and in a browser to open.

    python benches/suite_page.py SESSION [--cells N]

The reports of N cells are those of SESSION's points by turns, each with counts of its own: cells
share names of functions and facts of kernels, and no counts. Exits with 1 when a limit is missed.
Without chromium or playwright only writing is measured.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from limits import Figure, told
from msgspec.structs import replace

from profdiff import __version__
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.reports import documents
from profdiff.reports.page import suite
from profdiff.session.points import settings
from profdiff.session.session import Session
from profdiff.views.document import Document
from profdiff.views.suite import SCHEMA, SuiteCell, SuiteChange, SuiteDocument, SuiteKernel

# Bytes of the page, and milliseconds to the overview and to a cell's flamegraph.
SIZE, OPEN, CELL = 15_000_000, 1000.0, 1000.0


def scattered(found: Findings, seed: int) -> Document:
    """The report with other counts, each at most a tenth away from its own."""
    random = np.random.default_rng(seed)

    def other(one: Comparison) -> Comparison:
        factor = random.uniform(0.9, 1.1, one.counts.shape)
        return replace(one, counts=(one.counts * factor).astype(np.int64))

    return documents.session_document(
        replace(found, comparisons=[other(one) for one in found.comparisons])
    )


def overview(session: Session, cells: int) -> SuiteDocument:
    """A suite of so many cells."""
    labels = [kernel.label for kernel in session.manifest.kernels]
    base = labels[0]
    rows = [
        SuiteCell(
            name=f"workload-{number // 4}/state,{number % 4}",
            workload=f"workload-{number // 4}",
            part="",
            point={},
            cpus=1,
            tags=["mm"],
            op="page",
            about="a made-up cell",
            session="",
            at="",
            command="./workload 100",
            values=dict.fromkeys(labels, 1000.0 + number),
            per_op=True,
            changes={
                label: SuiteChange(
                    relative=0.01 * number, delta=float(number), verdict="exact", relevant=True
                )
                for label in labels
                if label != base
            },
            missing={},
            functions={},
            seats={},
            noise=None,
            reproduce="profdiff record",
        )
        for number in range(cells)
    ]
    return SuiteDocument(
        schema=SCHEMA,
        name="made-up",
        created=session.manifest.created,
        profdiff=__version__,
        metric="instructions:total",
        unit="instructions",
        better="lower",
        banner="Instructions, not time.",
        sentence="A made-up suite.",
        threshold=0.05,
        restored=True,
        noise=None,
        summaries=[],
        kernels=[
            SuiteKernel(
                label=one.label, release=one.release, build_id=one.build_id, compiler=one.compiler
            )
            for one in session.manifest.kernels
        ],
        cells=rows,
        functions=[],
        damaged=[],
        remarks=[],
    )


def reports(session: Session, shown: SuiteDocument) -> Iterator[tuple[SuiteCell, Document]]:
    """A report for each cell."""
    points = settings(session.manifest)
    found = [Findings.of(session, point) for point in points]
    for number, cell in enumerate(shown.cells):
        yield cell, scattered(found[number % len(found)], number)


def browse(file: Path) -> list[tuple[str, float, float]]:
    """Medians in milliseconds, with their limits; nothing without a browser."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if chromium is None:
        return []
    opened: list[float] = []
    cells: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(3):
            page: Any = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]")
            opened.append(page.evaluate("performance.getEntriesByName('overview')[0].startTime"))
            for number in (0, 5, 9):
                before = page.evaluate("document.documentElement.dataset.painted ?? '0'")
                start = time.perf_counter()
                page.click(f"#heat a >> nth={number}")
                page.wait_for_selector(f"html[data-painted]:not([data-painted='{before}'])")
                cells.append(1000 * (time.perf_counter() - start))
                page.click("#back-link")
                page.wait_for_selector("#overview:not([hidden])")
            page.close()
        browser.close()
    return [
        ("overview", statistics.median(opened), OPEN),
        ("open a cell", statistics.median(cells), CELL),
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("session", type=Path)
    parser.add_argument("--cells", type=int, default=150)
    options = parser.parse_args()
    session = Session.open(options.session)
    shown = overview(session, options.cells)
    made = list(reports(session, shown))
    stacks = sum(len(report.stacks[0].parent) for _, report in made) // len(made)
    kernels = len(session.manifest.kernels)
    print(f"{len(made):,} cells of {kernels} kernels, {stacks:,} stacks each")
    start = time.perf_counter()
    page = suite.render(shown, ((cell, suite.plain_report(one)) for cell, one in made))
    seconds = time.perf_counter() - start
    size = len(page.encode())
    print(f"written in {seconds:.1f} s, {size / len(made) / 1000:.1f} kB a cell")
    figures = [Figure("size", f"{size / 1e6:.2f} MB", size <= SIZE, f"{SIZE / 1e6:.0f} MB")]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "suite.html"
        file.write_text(page)
        figures += [
            Figure(what, f"{taken:.0f} ms", taken <= limit, f"{limit:.0f} ms")
            for what, taken, limit in browse(file)
        ]
    return told(figures)


if __name__ == "__main__":
    sys.exit(main())
