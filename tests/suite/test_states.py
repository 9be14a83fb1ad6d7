"""Cells of a suite whose change depends on state stand apart."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest
from made_suite import suite as made_suite
from msgspec.structs import replace
from support import profdiff
from synthetic import Row, frame
from synthetic_states import OPS, varied

from profdiff.reports import csv as reports_csv
from profdiff.reports import suite_document
from profdiff.reports.page.suite import render
from profdiff.reports.text import suite as text_suite
from profdiff.session import manifest as m
from profdiff.session.session import Session
from profdiff.session.suite import Suite, SuiteWorkload
from profdiff.views.suite import SuiteDocument, SuiteSummary

COMMAND = ["profdiff", "record", "--suite", "s", "-o", "S", "--kernel", "base=x"]


def _row(name: str, *counts: int) -> Row:
    return ([frame(name)], name, True, [OPS * count for count in counts])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``mmap`` is an accident, ``read`` costs more in each state, ``write`` was seen in one."""
    folder = tmp_path_factory.mktemp("suites") / "S"
    names = ("mmap", "read", "write", "stat")
    described = [SuiteWorkload(name=name, tags=["mm"], op="call") for name in names]
    suite = Suite.create(folder, "s", COMMAND, described)
    leaf = {
        "base": [_row("mas_walk", 100, 100, 100), _row("mab_mas_cp", 0, 300, 0)],
        "new": [_row("mas_walk", 110, 110, 110), _row("mab_mas_cp", 300, 0, 0)],
    }
    varied(suite.part("mmap"), leaf)
    more = {"base": [_row("rw", 100, 90, 100)], "new": [_row("rw", 130, 115, 131)]}
    varied(suite.part("read"), more)
    varied(suite.part("write"), {"base": [_row("rw", 100)], "new": [_row("rw", 120)]})
    same = {"base": [_row("rw", 1000, 1000)], "new": [_row("rw", 1000, 1001)]}
    varied(suite.part("stat"), same)
    return folder


@pytest.fixture(scope="module")
def document(folder: Path) -> SuiteDocument:
    """The report of it."""
    return suite_document.build(Suite.open(folder))


def test_the_sentence_counts_what_holds(document: SuiteDocument) -> None:
    (summary,) = document.summaries
    assert (summary.more, summary.less, summary.depend, summary.other) == (2, 0, 1, 1)
    assert document.sentence.startswith(
        "6.1.0 against 6.0.0: 2 of 4 cells cost at least 5% more, 0 at least 5% less; 1 depends on "
        "state; the function that makes most of it over all cells: rw"
    )
    assert "mab_mas_cp" not in {one.name for one in document.functions}


def test_a_cell_that_depends(document: SuiteDocument) -> None:
    cells = {one.name: one.changes["new"] for one in document.cells}
    mmap, read, write, stat = (cells[name] for name in ("mmap", "read", "write", "stat"))
    assert (mmap.verdict, mmap.relevant, mmap.depends) == ("depends on state", False, True)
    assert (mmap.states, mmap.low, mmap.high) == (3, -0.725, pytest.approx(3.1))
    assert mmap.differs == "mab_mas_cp"
    assert (read.verdict, read.relevant, read.states, read.differs) == ("exact", True, 3, "")
    assert (read.low, read.high) == (pytest.approx(25 / 90), 0.31)
    assert (write.verdict, write.states, write.low) == ("exact", 1, None)
    # By less than the threshold in every state.
    assert (stat.verdict, stat.depends) == ("depends on state", False)


def test_the_text_has_a_table_of_its_own(document: SuiteDocument) -> None:
    lines = text_suite.render(document, "S", width=100, top=20).splitlines()
    first, apart = (
        next(n for n, line in enumerate(lines) if line.startswith(what))
        for what in ("cells that changed", "cells whose change depends on state")
    )
    rows = [n for n, line in enumerate(lines) if line.startswith("mmap ")]
    assert len(rows) == 1 and first < apart < rows[0]
    assert lines[rows[0]].split() == ["mmap", "-72.5%", "to", "+310.0%", "3", "call", "mab_mas_cp"]
    assert "1 cell that changed was seen in one state alone: write" in lines
    assert "1 cell changes by less than 5%" in lines
    assert not any("unsure" in line for line in lines)


def test_csv(document: SuiteDocument) -> None:
    found = csv.DictReader(io.StringIO(reports_csv.suite(document)))
    rows = {row["cell"]: row for row in found if row["kernel"] == "new"}
    mmap = rows["mmap"]
    assert (mmap["verdict"], mmap["states"], mmap["low"], mmap["differs"]) == (
        "depends on state",
        "3",
        "-0.725",
        "mab_mas_cp",
    )
    assert (rows["write"]["states"], rows["write"]["low"]) == ("1", "")


def test_failed_runs_in_a_state_cost_that_state_alone(folder: Path, tmp_path: Path) -> None:
    suite = Suite.create(tmp_path / "S", "s", COMMAND, [SuiteWorkload("read", ["mm"], "call")])
    more = {"base": [_row("rw", 100, 90, 100)], "new": [_row("rw", 130, 115, 131)]}
    session = varied(suite.part("read"), more)
    failure = m.Failure("workload", "the workload ended with exit status 3")
    runs = [
        m.replace(run, failure=failure, measured=[], files={})
        if (run.kernel, run.state) == ("new", 2)
        else run
        for run in session.manifest.runs
    ]
    Session.open(session.folder).save(m.replace(session.manifest, runs=runs))
    (cell,) = suite_document.build(Suite.open(tmp_path / "S")).cells
    assert (cell.changes["new"].states, cell.changes["new"].verdict) == (2, "exact")
    assert not cell.missing


@pytest.fixture(scope="module")
def lowest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``mremap`` costs more in each state, three times as much in one of them; ``brk`` does less in
    each; ``poll`` holds, and is above the threshold in the plain state alone."""
    folder = tmp_path_factory.mktemp("lowest") / "S"
    described = [SuiteWorkload(name, ["mm"], "call") for name in ("mremap", "brk", "poll")]
    suite = Suite.create(folder, "s", COMMAND, described)
    base = [_row("walk", 1000, 1000, 1000)]
    varied(suite.part("mremap"), {"base": base, "new": [_row("walk", 1184, 1054, 1060)]})
    varied(suite.part("brk"), {"base": base, "new": [_row("walk", 940, 941, 700)]})
    varied(suite.part("poll"), {"base": base, "new": [_row("walk", 1070, 1040, 1050)]})
    return folder


def test_a_cell_counts_by_its_lowest_state(lowest: Path) -> None:
    document = suite_document.build(Suite.open(lowest))
    changes = {one.name: one.changes["new"] for one in document.cells}
    assert [(name, one.verdict, one.relevant, one.depends) for name, one in changes.items()] == [
        ("mremap", "depends on state", True, False),
        ("brk", "depends on state", True, False),
        ("poll", "exact", False, True),
    ]
    (summary,) = document.summaries
    assert (summary.more, summary.less, summary.depend, summary.other) == (1, 1, 1, 0)
    assert "1 of 3 cells costs at least 5% more, 1 at least 5% less; 1 depends on state" in (
        document.sentence
    )
    assert document.functions[0].name == "walk" and document.functions[0].up["new"] == 2
    lines = text_suite.render(document, "S", width=120, top=20).splitlines()
    text = "\n".join(lines)
    assert "the kernel alone" not in text
    first, apart = text.split("cells whose change depends on state: ")
    assert apart.startswith("it is at least 5% in some, not in all")
    assert "mremap" in first and "+5.4% to +18.4%" in first and "brk" in first
    assert "poll" not in first and "+4.0% to +7.0%" in apart


@pytest.mark.parametrize(
    ("cell", "condition", "status"),
    [("mremap", "> +5%", 1), ("mremap", "> +6%", 125), ("poll", "> +5%", 125), ("brk", "< -5%", 1)],
)
def test_check_judges_a_cell_as_the_report_does(
    lowest: Path, cell: str, condition: str, status: int
) -> None:
    words = ("check", lowest, "--cell", cell, "--fail-if", f"instructions {condition}")
    profdiff(*words, status=status)


def _depending() -> SuiteDocument:
    """A large made-up suite, the first relevant cell of which depends on state."""
    shown = made_suite()
    cells = list(shown.cells)
    at = next(n for n, cell in enumerate(cells) if cell.changes["new"].relevant)
    change = replace(
        cells[at].changes["new"],
        verdict="depends on state",
        relevant=False,
        depends=True,
        states=5,
        low=-0.643,
        high=2.254,
        differs="mab_mas_cp",
    )
    calm = replace(change, verdict="exact", depends=False, states=1, delta=0, relative=0.0)
    cells[at] = replace(cells[at], name="mmap-beside/4k", changes={"mid": calm, "new": change})
    summaries: list[SuiteSummary] = [replace(one, depend=1) for one in shown.summaries]
    return replace(shown, cells=cells, summaries=summaries)


def test_the_page_has_them_under_their_own_heading(browser: Any, tmp_path: Path) -> None:
    shown = _depending()
    file = tmp_path / "suite.html"
    file.write_text(render(shown, ((cell, None) for cell in shown.cells)))
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    for order in ("", "workload", "more:new", "less:new"):
        page.select_option("#suite-sort", order)
        rows = page.eval_on_selector_all("#heat tbody tr", "all => all.map(one => one.innerText)")
        assert rows[-2].startswith("Depends on state")
        assert "the kernel alone" not in rows[-2]
        assert rows[-1].startswith("mmap-beside/4k")
        assert "-64.3% to +225.4%" in rows[-1].replace("\N{MINUS SIGN}", "-")
        assert "mab_mas_cp" in rows[-1]
    page.select_option("#suite-show", "depends")
    assert page.locator("#heat tbody tr").count() == 2
    page.select_option("#suite-show", "relevant")
    assert "mmap-beside/4k" not in page.inner_text("#heat")
    page.close()
