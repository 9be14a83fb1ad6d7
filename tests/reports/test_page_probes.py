"""What probes read, on the page: the numbers of the text, with bars, in a real browser."""

from pathlib import Path
from typing import Any

import msgspec
from browsed_page import HOSTILE, opened
from synthetic import compare, example

from profdiff.collectors.exact.probes import Values
from profdiff.collectors.probe.entry import ProbedVariable
from profdiff.evidence.findings import Findings
from profdiff.reports import documents
from profdiff.reports.page import html
from profdiff.reports.page.records import page_of
from profdiff.shapes.table import Section
from profdiff.topics.probes import Probed, table

READ = Probed(
    ProbedVariable("ksys_read", "return"),
    {
        "base": Values(places=1, calls=40, unread=0, counts={8: 40}, others=0),
        "new": Values(places=2, calls=60, unread=10, counts={-11: 10, 8: 40}, others=0),
    },
)
ABSENT = Probed(ProbedVariable(HOSTILE[0], "x"), {"base": Values(0, 0, 0, {}, 0)})


def test_histograms_stand_side_by_side(browser: Any, tmp_path: Path) -> None:
    shown = documents.session_document(Findings.of_recordings([compare(example())]))
    file = tmp_path / "report.html"
    shapes = [table(number, probed, None) for number, probed in enumerate((READ, ABSENT))]
    section = Section(name="probes", title="Probes", tables=shapes)
    probed = msgspec.structs.replace(shown, sections=[section])
    file.write_text(html.page(page_of(probed), ""))
    with opened(browser, file, 500) as page:
        rows = page.eval_on_selector_all(
            "#probes tr",
            "lines => lines.map(line => [...line.children].map(cell => cell.innerText))",
        )
        assert rows == [
            ["return", "calls base", "calls new", "delta new", "base", "new"],
            ["-11", "0", "10", "+10", "", 5 * "▇"],
            ["8", "40", "40", "0", 20 * "▇", 20 * "▇"],
            ["not known", "0", "10", "+10", "", 5 * "▇"],
            ["all calls", "40", "60", "+20", "", ""],
        ]
        heads = page.locator("#probes h3").all_inner_texts()
        assert heads == ["ksys_read return, calls", f"{HOSTILE[0]} x"]
        notes = page.locator("#probes li").all_inner_texts()
        assert notes == [
            "new: the function begins at 2 places; not known: calls of inlined copies, and calls "
            "that have not returned.",
            f"x of {HOSTILE[0]} cannot be read on base.",
        ]
        # What is wider than the page scrolls in its own box.
        assert page.evaluate("document.documentElement.scrollWidth") <= 500


def test_without_probes_nothing_is_said(browser: Any, tmp_path: Path) -> None:
    shown = documents.session_document(Findings.of_recordings([compare(example())]))
    file = tmp_path / "report.html"
    file.write_text(html.page(page_of(shown), ""))
    with opened(browser, file) as page:
        assert page.locator("#probes").is_hidden()
        assert page.locator("#idle").is_hidden()
