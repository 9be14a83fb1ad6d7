"""What probes read, on the page: the numbers of the text, with bars, in a real browser."""

from pathlib import Path
from typing import Any

import msgspec
from browsed_page import HOSTILE, opened
from synthetic import compare, example

from profdiff.evidence.findings import Findings
from profdiff.reports.documents import session
from profdiff.reports.page import html
from profdiff.reports.page.records import page_of
from profdiff.views.results.probes import Bucket, ProbedVariable

READ = ProbedVariable(
    function="ksys_read",
    variable="return",
    places={"base": 1, "new": 2},
    calls={"base": 40, "new": 60},
    unread={"base": 0, "new": 10},
    others={"base": 0, "new": 0},
    absent=[],
    histogram=[
        Bucket(low=-11, high=-11, calls={"base": 0, "new": 10}),
        Bucket(low=8, high=15, calls={"base": 40, "new": 40}),
    ],
    notes=["new: the function begins at 2 places", HOSTILE[0]],
)
ABSENT = msgspec.structs.replace(
    READ, function="gone", places={}, calls={}, unread={}, others={}, absent=["base", "new"],
    histogram=[], notes=["what gone returns cannot be read on base"],
)  # fmt: skip


def test_histograms_stand_side_by_side(browser: Any, tmp_path: Path) -> None:
    shown = session.build(Findings.of_recordings([compare(example())]))
    file = tmp_path / "report.html"
    probed = msgspec.structs.replace(shown, probes=[READ, ABSENT])
    file.write_text(html.page(page_of(probed), ""))
    with opened(browser, file, 500) as page:
        rows = page.eval_on_selector_all(
            "#probes tr",
            "lines => lines.map(line => [...line.children].map(cell => cell.innerText))",
        )
        assert rows == [
            ["return", "base", "new", "delta new", "base", "new"],
            ["-11", "0", "10", "+10", "", 5 * "▇"],
            ["8 to 15", "40", "40", "0", 20 * "▇", 20 * "▇"],
            ["not known", "0", "10", "+10", "", 5 * "▇"],
            ["all calls", "40", "60", "+20", "", ""],
        ]
        heads = page.locator("#probes h3").all_inner_texts()
        assert heads == ["ksys_read return, calls", "gone return"]
        notes = page.locator("#probes li").all_inner_texts()
        assert notes == [f"{note}." for note in [*READ.notes, *ABSENT.notes]]
        # What is wider than the page scrolls in its own box.
        assert page.evaluate("document.documentElement.scrollWidth") <= 500


def test_without_probes_nothing_is_said(browser: Any, tmp_path: Path) -> None:
    shown = session.build(Findings.of_recordings([compare(example())]))
    file = tmp_path / "report.html"
    file.write_text(html.page(page_of(shown), ""))
    with opened(browser, file) as page:
        assert page.locator("#probes").is_hidden()
        assert page.locator("#idle").is_hidden()
