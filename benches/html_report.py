"""How long the page of a large comparison takes to write, and in a browser to open and to use.

    python benches/html_report.py [--stacks N]

Two kernels with N distinct stacks over 2,000 functions, exact counts and calls. Exits with 1 when a
limit is missed. Without chromium or playwright only writing is measured.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from limits import Figure, told
from numpy.typing import NDArray

from profdiff.base.metric import INSTRUCTIONS
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.profile.function_identity import Function
from profdiff.profile.kernel_profile import Profile
from profdiff.profile.stack_table import StackTable
from profdiff.reports.page import html
from profdiff.session import manifest as m

FUNCTIONS = 2_000
# Seconds, bytes, and milliseconds that the page may take.
WRITE, SIZE, OPEN, REPAINT = 1.0, 3_000_000, 1000.0, 50.0

# From the event to the frame in which the canvas has been drawn. Of a comparison as
# large as this the function table follows 80 ms later.
REPAINT_SCRIPT = """action => new Promise(resolve => {
  const painted = document.documentElement.dataset.painted;
  const before = performance.now();
  const search = document.getElementById("search");
  if (action === "search" || action === "clear") {
    search.value = action === "search" ? "function_1" : "";
    search.dispatchEvent(new Event("input", { bubbles: true }));
  } else {
    // In the middle of that row.
    const graph = document.getElementById("graph-left");
    const { left, top, width } = graph.getBoundingClientRect();
    const [clientX, clientY] = [left + width / 2, top + 18 * action + 9];
    graph.dispatchEvent(new MouseEvent("click", { clientX, clientY }));
  }
  const wait = () => document.documentElement.dataset.painted === painted
    ? requestAnimationFrame(wait) : resolve(performance.now() - before);
  wait();
})"""


def tree(count: int) -> tuple[StackTable, NDArray[np.int64]]:
    """Stacks as calls make them: some 30 deep, wide at the leaves; which part both kernels have."""
    random = np.random.default_rng(0)
    parent = np.full(count, -1, np.int64)
    function = np.zeros(count, np.int64)
    depth = np.zeros(count, np.int64)
    seen: set[tuple[int, int]] = {(-1, 0)}
    for node in range(1, count):
        while True:
            above = int(random.integers(max(0, node // 3 - 50), node))
            key = (above, int(random.integers(FUNCTIONS)))
            if depth[above] < 30 and key not in seen:
                break
        seen.add(key)
        parent[node], function[node] = key
        depth[node] = depth[above] + 1
    counts = (random.pareto(1.2, count) * 100).astype(np.int64)
    return StackTable(parent=parent, function=function, depth=depth), counts


def comparison(count: int) -> Comparison:
    """Two kernels with ``count`` stacks between them."""
    stacks, counts = tree(count)
    random = np.random.default_rng(1)
    functions = [Function(f"function_{n}", "vmlinux", f"mm/{n % 99}.c", True) for n in range(2000)]
    profiles = {}
    for label, change in (("base", 1.0), ("new", 1.1)):
        scattered = counts * random.normal(change, 0.1, count).clip(0)
        # A tenth of the stacks is one kernel's only.
        own = np.where(random.random(count) < 0.1, 0, scattered).astype(np.int64)
        profiles[label] = Profile(
            functions=functions,
            lines=np.arange(FUNCTIONS, dtype=np.int64),
            symbols={},
            stacks=stacks,
            inlined=np.arange(count) % 3 == 0,
            metrics=(INSTRUCTIONS,),
            counts=own[:, None, None],
            samples=None,
            calls=(own // 40)[:, None],
            inlines_visible=True,
            identical=True,
        )
    described = manifest(list(profiles))
    runs = {run.kernel: [run] for run in described.runs}
    (result,) = Comparison.build(described, profiles, runs)
    return result


def manifest(labels: list[str]) -> m.Manifest:
    """A manifest that names the kernels, one run each."""
    return m.Manifest(
        schema=m.SCHEMA,
        profdiff="bench",
        created="2026-01-01T00:00:00Z",
        command=["profdiff", "record"],
        collectors=["exact"],
        repeat=1,
        verify=False,
        workload=m.Workload(argv=["x"], guest_argv=["x"], kind="program", files=[]),
        points=[m.Point(cpus=1, ops=1000)],
        guest=m.Guest(memory=512, append="", settle=5.0, timeout=600.0),
        kernels=[m.Kernel(label=label, spec="x", image_sha256="00" * 32) for label in labels],
        runs=[
            m.Run(
                id=f"{label}-1",
                kernel=label,
                collector="exact",
                repetition=1,
                started="2026-01-01T00:00:00Z",
                wall_seconds=0.0,
                files={},
            )
            for label in labels
        ],
    )


def browse(file: Path) -> list[tuple[str, float, float]]:
    """What opening, zooming and searching take in milliseconds, medians, with their limits."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return []
    chromium = shutil.which("chromium")
    if chromium is None:
        return []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        opened: list[float] = []
        zoomed: list[float] = []
        searched: list[float] = []
        for _ in range(3):
            page: Any = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(file.as_uri())
            page.wait_for_selector("html[data-ready]")
            opened.append(page.evaluate("performance.getEntriesByName('interactive')[0].startTime"))
            zoomed += [page.evaluate(REPAINT_SCRIPT, row) for row in (1, 0) * 3]
            searched += [page.evaluate(REPAINT_SCRIPT, act) for act in ("search", "clear") * 3]
            page.close()
        browser.close()
    return [
        ("interactive", statistics.median(opened), OPEN),
        ("zoom", statistics.median(zoomed), REPAINT),
        ("search", statistics.median(searched), REPAINT),
    ]


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", type=int, default=100_000)
    options = parser.parse_args()
    made = comparison(options.stacks)
    print(f"{len(made.stacks):,} stacks, {len(made.functions):,} functions, calls counted")
    start = time.perf_counter()
    page = html.render(Findings.of_recordings([made]))
    seconds = time.perf_counter() - start
    size = len(page.encode())
    figures = [
        Figure("write", f"{seconds:.2f} s", seconds <= WRITE, f"{WRITE:.0f} s"),
        Figure("size", f"{size / 1e6:.2f} MB", size <= SIZE, f"{SIZE / 1e6:.0f} MB"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.html"
        file.write_text(page)
        figures += [
            Figure(what, f"{taken:.0f} ms", taken <= limit, f"{limit:.0f} ms")
            for what, taken, limit in browse(file)
        ]
    return told(figures)


if __name__ == "__main__":
    sys.exit(main())
