"""Judged conditions in the forms that other programs read, read by such programs.

`JUNIT_XSD` names Jenkins' schema: jenkinsci/xunit-plugin, junit-10.xsd.
"""

import html
import math
import os
import re
import subprocess
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt
from msgspec.structs import replace
from support import need_program

from profdiff.base import units
from profdiff.evidence.conditions.condition import Checked, Condition, Judgement, MeasuredChange
from profdiff.reports import checks
from profdiff.reports.checks import Block, Context
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
    suites = JUnitXml.fromstring(checks.render_junit(Checked(judgements)).decode())
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
        file.write_bytes(checks.render_junit(Checked(judgements)))
        command = [xmllint, "--noout", "--schema", os.environ["JUNIT_XSD"], str(file)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def markdown(
    judgements: Sequence[Judgement], remarks: Sequence[str] = (), context: Context | None = None
) -> str:
    found = Checked(judgements, remarks)
    return checks.render_markdown(found, context or checks.Context()).decode()


class Cells(HTMLParser):
    """The texts of a page's table cells, and all of its elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.elements: set[str] = set()
        self._within = False
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.elements.add(tag)
        if tag in ("td", "th"):
            self.cells.append("")
            self._within = True

    def handle_endtag(self, tag: str) -> None:
        self._within = self._within and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self._within:
            self.cells[-1] += data


@given(JUDGEMENTS)
def test_markdown_shows_what_was_judged_and_nothing_else(judgements: list[Judgement]) -> None:
    page = MarkdownIt("gfm-like", {"linkify": False}).render(markdown(judgements))
    read = Cells(page.replace("\u200b", ""))
    structure = {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "strong", "code"}
    structure |= {"details", "summary"}
    assert read.elements <= structure
    every = (read.cells[at : at + 7] for at in range(0, len(read.cells), 7))
    rows = [row for row in every if row[0].strip() != "result"]
    assert len(rows) == len(judgements)
    verdicts = {"holds": "fails", "inconclusive": "inconclusive", "does not hold": "passes"}
    expected = sorted(
        [
            verdicts[one.outcome],
            str(one.condition),
            units.printable(one.change.kernel).strip(),
            units.printable(notes(one.change)).replace("\u200b", "").strip(),
        ]
        for one in judgements
    )
    assert sorted([*(cell.strip() for cell in row[:3]), row[6].strip()] for row in rows) == expected


def test_failing_conditions_come_first() -> None:
    lines = markdown(example()[::-1]).splitlines()
    assert lines[2] == "**fails: 1, inconclusive: 1, passes: 1**"
    rows = [line.split("|")[1].strip() for line in lines if re.match(r"\| [^-]", line)]
    words = ["result", "**fails**", "inconclusive", "result", "passes"]
    assert rows == words
    assert lines.index("<details><summary>passes&#58; 1</summary>") < lines.index("</details>")
    assert "nothing judged" in markdown([])


def test_a_comment_has_what_changed_most_state_and_remarks() -> None:
    judgements = [*example(), replace(example()[0], acknowledged="known")]
    context = Context(["new costs more"], [Block("cells", ["cell"], [["a|b"]])], ["same state"])
    page = MarkdownIt("gfm-like", {"linkify": False}).render(
        markdown(judgements, ["no longer needed: x"], context)
    )
    order = ["new costs more", ">fails<", "a|b", ">acknowledged&#58; 1<", "known<"]
    order += [">passes&#58; 1<"]
    order += ["same state", "no longer needed"]
    places = [page.index(text) for text in order]
    assert places == sorted(places)


@given(st.lists(TEXTS, max_size=20), JUDGEMENTS)
def test_nothing_in_a_comment_links_or_mentions(
    texts: list[str], judgements: list[Judgement]
) -> None:
    """Outside of code, where GitHub looks for names and numbers of issues."""
    texts = [
        *texts,
        "@torvalds #12 !3 ![a](b) <b> https://a.example www.a.example `c` a|b",
        "GH-26 %7 in 0a5c378, a5c3785ed8d6a35868bc169f07e40e889087fd2e 100000",
    ]
    context = Context(texts, [Block(texts[-1], texts, [texts])], texts)
    page = MarkdownIt("gfm-like", {"linkify": False}).render(markdown(judgements, texts, context))
    outside = re.sub("<code>.*?</code>", "", page, flags=re.DOTALL)
    assert "<a " not in page and "<img" not in page
    read = html.unescape(re.sub("<[^>]*>", "", outside))
    assert not re.search(r"[@#!~$&][^\s\u200b]|://|www\.|GH-[0-9]|%[0-9]", read)
    assert not re.search(r"\b[0-9]*[a-f][0-9a-f]{6,39}\b", read)
    assert "100000" in read


def test_a_comment_shows_no_number_where_nothing_was_measured() -> None:
    change = MeasuredChange.unknown("new", "not recorded yet")
    text = markdown([Judgement(example()[0].condition, change, "inconclusive")])
    assert "nan" not in text and "|  |  |  | not recorded yet |" in text


def test_a_comment_of_marks_alone_has_room() -> None:
    """Each of which takes an entity, or no column."""
    hostile = ["~" * 1000, "\u0301" * 100_000] * 20
    change = replace(example()[0].change, note=hostile[1])
    failing = replace(example()[0], change=change)
    text = markdown([failing] * 3, hostile, Context(hostile, [], hostile))
    assert len(text) <= checks.MAX_CHARACTERS
    assert len(re.findall(r"^\| \*\*fails", text, re.MULTILINE)) == 3


def test_a_comment_has_room_on_github() -> None:
    failing = example()[0]
    note = replace(failing.change, note="@|<" * 40)
    many = [replace(failing, change=note)] * 300
    text = markdown([*many, *example()[1:]], ["r" * 900] * 90, Context(["s" * 9_000] * 90))
    assert len(text) <= checks.MAX_CHARACTERS
    shown = len(re.findall(r"^\| \*\*fails", text, re.MULTILINE))
    assert 50 < shown < 300
    # One is inconclusive, in the same table.
    assert f"\n{301 - shown} more, for which a comment has no room\n" in text
    assert "<details><summary>passes&#58; 1</summary>" in text


def test_junit_skips_what_is_acknowledged() -> None:
    known = replace(example()[0], acknowledged="see the cover letter")
    suites = JUnitXml.fromstring(checks.render_junit(Checked([known])).decode())
    assert (suites.failures, [suite.skipped for suite in suites]) == (0, [1])
    (case,) = (case for suite in suites for case in suite)
    (one,) = case.result
    assert (type(one), one.type) == (Skipped, "acknowledged")
    assert one.message.endswith("; acknowledged: see the cover letter")


@given(st.integers(0, 10**14), st.integers(1, 10**6))
def test_a_count_that_was_divided_by_ops_is_whole_again(count: int, ops: int) -> None:
    assert rows_judgements.number(count / ops * ops) == f"{count:,}"
    assert rows_judgements.number(14_841_363 / 40_000 * 40_000) == "14,841,363"
    assert rows_judgements.number(27.5) == "27.50"
    assert rows_judgements.number(0.001) == "0.00100"
