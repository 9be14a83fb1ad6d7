"""What the code of functions adds to the page of a session: bytes, time to write, and in a browser
the time to open a function, and from frame to frame while its code scrolls.

    python benches/page_code.py SESSION

Exits with 1 when a limit is missed. Without chromium or playwright only writing is measured.
"""

import argparse
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from limits import Figure, told

from profdiff.evidence.findings import Findings, choose
from profdiff.reports.page import code, html
from profdiff.session.session import Session

# The whole page in bytes, and the seconds of a processor that its code takes.
SIZE, WRITE = 1_000_000, 1.0
# Milliseconds, medians: to the code of a function, and from frame to frame.
OPEN, FRAME = 300.0, 20.0
OPENED = 10

OPEN_SCRIPT = """row => new Promise(resolve => {
  const box = document.getElementById("code-list");
  const shown = box.dataset.function;
  const before = performance.now();
  document.querySelectorAll("#functions tbody button.link")[row].click();
  const wait = () => box.dataset.function !== shown
    ? resolve(performance.now() - before) : requestAnimationFrame(wait);
  wait();
})"""
# More than a screen down each, then up.
SCROLL_SCRIPT = """() => new Promise(resolve => {
  const box = document.getElementById("code-list");
  const times = [];
  const step = time => {
    times.push(time);
    box.scrollTop += times.length < 60 ? 700 : -700;
    if (times.length < 120) requestAnimationFrame(step);
    else resolve(times.slice(1).map((time, n) => time - times[n]));
  };
  requestAnimationFrame(step);
})"""


def written(findings: Findings) -> tuple[str, float]:
    """The page, and how many seconds of a processor it took."""
    start = time.process_time()
    page = html.render(findings)
    return page, time.process_time() - start


def browse(file: Path, functions: int) -> list[tuple[str, float, float]]:
    """Medians over the first functions of the table in milliseconds, with their limits; nothing
    without a browser."""
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    if chromium is None:
        return []
    opened: list[float] = []
    frames: list[float] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page: Any = browser.new_page(viewport={"width": 1440, "height": 900})
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        for row in range(functions):
            opened.append(page.evaluate(OPEN_SCRIPT, row))
            frames += page.evaluate(SCROLL_SCRIPT)
        browser.close()
    found = (("open", opened, OPEN), ("frame", frames, FRAME))
    return [(what, statistics.median(times), limit) for what, times, limit in found]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("session", type=Path)
    session = Session.open(parser.parse_args().session)
    findings = Findings.of(session, choose(session.manifest, None))
    written(findings)
    page, seconds = written(findings)
    with patch.object(code, "MOST", 0):
        bare, without = written(findings)
    functions = re.findall(r'<script id="code-0-(\d+)"', page)
    print(f"code of {len(functions)} functions: {len(page) - len(bare):,} bytes")
    size, added = len(page.encode()), seconds - without
    figures = [
        Figure("size", f"{size / 1e6:.2f} MB", size <= SIZE, f"{SIZE / 1e6:.0f} MB"),
        Figure("write", f"{added:.2f} s", added <= WRITE, f"{WRITE:.0f} s more than without code"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        file.write_text(page)
        figures += [
            Figure(what, f"{taken:.0f} ms", taken <= limit, f"{limit:.0f} ms")
            for what, taken, limit in browse(file, min(OPENED, len(functions)))
        ]
    return told(figures)


if __name__ == "__main__":
    sys.exit(main())
