"""For how long vCPUs idled, on the page: the numbers of the text, in a real browser."""

from pathlib import Path
from typing import Any

import msgspec
from browsed_page import opened
from synthetic import compare, example

from profdiff.evidence.findings import Findings
from profdiff.reports import documents
from profdiff.reports.page import html
from profdiff.reports.page.records import page_of
from profdiff.shapes.table import Section
from profdiff.topics.idle import Idled, IdlePath, tables

OPS = 20
WAITS = ["do_syscall_64", "__x64_sys_membarrier", "synchronize_rcu", "wait_for_completion"]
IDLED = {
    "base": Idled(1000 * OPS, 500 * OPS, (500 * OPS, 700 * OPS)),
    "new": Idled(2000 * OPS, 1000 * OPS, (1000 * OPS, 900 * OPS)),
}
PATHS = [
    IdlePath(
        [*WAITS, f"path_{n}"] if n else [],
        {"base": 10 * OPS, "new": 20 * OPS},
        {"base": OPS, "new": 0},
    )
    for n in range(10)
]


def test_waits_and_their_paths(browser: Any, tmp_path: Path) -> None:
    shown = documents.session_document(Findings.of_recordings([compare(example(), ops=OPS)]))
    idle = Section(name="idle", title="Idle", tables=tables(IDLED, PATHS, OPS))
    file = tmp_path / "report.html"
    file.write_text(html.page(page_of(msgspec.structs.replace(shown, sections=[idle])), ""))
    with opened(browser, file, 500) as page:
        cells = "lines => lines.map(line => [...line.children].map(cell => cell.innerText))"
        assert page.locator("#idle h3").all_inner_texts() == [
            "idle, in ns of the guest's clock per op (20 ops)"
        ]
        assert page.eval_on_selector_all("#idle-times tr", cells) == [
            ["vCPU", "time base", "time new", "change new"],
            ["none busy", "500.00", "1,000.00", "+100.0%"],
            ["0", "500.00", "1,000.00", "+100.0%"],
            ["1", "700.00", "900.00", "+28.6%"],
            ["clock", "1,000.00", "2,000.00", "+100.0%"],
        ]
        head, first, second, *others = page.eval_on_selector_all("#idle-paths tr", cells)
        assert head == [
            "the last task gave way in", "idle base", "idle new", "times base", "times new"
        ]  # fmt: skip
        assert first == ["(not known)", "10.00", "20.00", "1.00", "0.00"]
        assert second[0] == "synchronize_rcu > wait_for_completion > path_1"
        assert len(others) == 6
        whole = page.get_attribute("#idle-paths tbody tr:nth-child(2) th", "title")
        assert whole == " > ".join([*WAITS, "path_1"])
        assert page.locator("#idle li").all_inner_texts() == [
            "idle: summed over vCPUs; times: how often one began to idle; 2 more paths not shown.",
        ]
        assert page.evaluate("document.documentElement.scrollWidth") <= 500
