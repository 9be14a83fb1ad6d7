"""Judged conditions in the forms that other programs read, read by such programs.

`JUNIT_XSD` names Jenkins' schema: jenkinsci/xunit-plugin, junit-10.xsd.
"""

import math
import os
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt
from support import need_program

from profdiff.base import units
from profdiff.evidence.conditions.condition import Condition, Judgement, MeasuredChange
from profdiff.reports import checks
from profdiff.views.rows import judgements as rows_judgements
from profdiff.views.rows.judgements import notes, sentence

TEXTS = st.text(max_size=30) | st.text(
    "|\\`*_[]()<>&#!~\"' @wexampl.com:/$\n\x00\x1b\ufffe", max_size=30
)
CONDITIONS = [
    Condition.parse(text)
    for text in ("instructions > +2%", 'cycles:u:"a|b<c>" <= -3/op', "instructions:main > +100")
]
CHANGES = st.builds(
    MeasuredChange,
    kernel=TEXTS,
    base=st.floats(0, 1e15),
    other=st.floats(0, 1e15),
    low=st.floats(-1, 100) | st.just(math.nan),
    high=st.floats(-1, 100) | st.just(math.nan),
    decided=st.booleans(),
    note=TEXTS,
)
JUDGEMENTS = st.lists(
    st.builds(
        lambda condition, change: Judgement(condition, change, condition.judge(change)),
        st.sampled_from(CONDITIONS),
        CHANGES,
    ),
    max_size=6,
)


def example() -> list[Judgement]:
    """One of each outcome."""
    changes = [
        MeasuredChange("new", 36.2, 76.7, 1.118785, 1.118785),
        MeasuredChange("patched", 36.2, 36.5, -0.01, 0.03, note="9 runs"),
        MeasuredChange("old", 0, 0, math.nan, math.nan),
    ]
    return [Judgement(CONDITIONS[0], one, CONDITIONS[0].judge(one)) for one in changes]


def test_sentences() -> None:
    assert [sentence(one) for one in example()] == [
        "new: +111.88%, 36.20 to 76.70",
        "patched: +0.83% (-1.00 to +3.00), 36.20 to 36.50; 9 runs",
        "old: none, 0 to 0",
    ]
    undecided = Judgement(
        CONDITIONS[1], MeasuredChange("new", 0, 5, 1, 2, decided=False), "inconclusive"
    )
    assert sentence(undecided) == "new: new, 0 to 5 per op; too few runs to tell"


@given(JUDGEMENTS)
def test_junitparser_reads_what_was_judged(judgements: list[Judgement]) -> None:
    suites = JUnitXml.fromstring(checks.render_junit(judgements).decode())
    assert suites.tests == len(judgements)
    found = []
    for suite in suites:
        results = [case.result for case in suite]
        assert suite.tests == len(results)
        assert suite.failures == sum(isinstance(one, Failure) for r in results for one in r)
        assert suite.skipped == sum(isinstance(one, Skipped) for r in results for one in r)
        for case in suite:
            assert case.classname == suite.name
            told = [(type(one), one.message) for one in case.result]
            found.append((suite.name, case.name, told))
    kinds = {"holds": Failure, "inconclusive": Skipped}
    expected = [
        (
            units.printable(one.change.kernel),
            str(one.condition),
            [(kinds[one.outcome], sentence(one))] if one.outcome in kinds else [],
        )
        for one in judgements
    ]
    # Suites are by kernel, in the order in which kernels come first.
    kernels = list(dict.fromkeys(one.change.kernel for one in judgements))
    order = sorted(range(len(judgements)), key=lambda i: kernels.index(judgements[i].change.kernel))
    assert found == [expected[i] for i in order]


def test_jenkins_schema_accepts_it(tmp_path: Path) -> None:
    if "JUNIT_XSD" not in os.environ:
        pytest.skip(
            "JUNIT_XSD does not name Jenkins' schema (jenkinsci/xunit-plugin, junit-10.xsd)"
        )
    xmllint = need_program("xmllint", "libxml2-utils")
    hostile = Judgement(
        CONDITIONS[1], MeasuredChange("\x00|<&\ufffe", 1, 2, 1, 1, note="]]>"), "holds"
    )
    for number, judgements in enumerate(([], example(), [*example(), hostile])):
        file = tmp_path / f"{number}.xml"
        file.write_bytes(checks.render_junit(judgements))
        command = [xmllint, "--noout", "--schema", os.environ["JUNIT_XSD"], str(file)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0


class Cells(HTMLParser):
    """The texts of a page's table cells, and all of its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.elements: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.elements.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


@given(JUDGEMENTS)
def test_markdown_shows_what_was_judged_and_nothing_else(judgements: list[Judgement]) -> None:
    text = checks.render_github_summary(judgements).decode()
    page = MarkdownIt("gfm-like", {"linkify": False}).render(text)
    read = Cells(page)
    structure = {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "strong", "code"}
    assert read.elements <= structure
    rows = [read.cells[at : at + 7] for at in range(7, len(read.cells), 7)]
    assert len(rows) == len(judgements)
    verdicts = {"holds": "fails", "inconclusive": "inconclusive", "does not hold": "passes"}
    expected = sorted(
        [
            verdicts[one.outcome],
            str(one.condition),
            units.printable(one.change.kernel).strip(),
            units.printable(notes(one.change)).strip(),
        ]
        for one in judgements
    )
    assert sorted([*(cell.strip() for cell in row[:3]), row[6].strip()] for row in rows) == expected


def test_failing_conditions_come_first() -> None:
    lines = checks.render_github_summary(example()[::-1]).decode().splitlines()
    assert lines[2] == "fails: 1, inconclusive: 1, passes: 1"
    assert [line.split("|")[1].strip() for line in lines[6:]] == [
        "**fails**",
        "inconclusive",
        "passes",
    ]
    assert "nothing judged" in checks.render_github_summary([]).decode()


@given(st.integers(0, 10**14), st.integers(1, 10**6))
def test_a_count_that_was_divided_by_ops_is_whole_again(count: int, ops: int) -> None:
    assert rows_judgements.number(count / ops * ops) == f"{count:,}"
    assert rows_judgements.number(14_841_363 / 40_000 * 40_000) == "14,841,363"
    assert rows_judgements.number(27.5) == "27.50"
    assert rows_judgements.number(0.001) == "0.00100"
