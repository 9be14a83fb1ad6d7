"""What the page gets of a function's code: nothing that was executed is lost."""

import base64
import gzip
import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import ROOT
from synthetic import compare, frame
from synthetic_code import START, annotation, instruction, large, shown

from profdiff.evidence.findings import Findings
from profdiff.reports.page import html
from profdiff.reports.page.code import CONTEXT, MOST, ROOM, ROOM_OF_ONE, packed_code, page_code
from profdiff.reports.page.records import EmbeddedCode, FunctionCode
from profdiff.views.annotation.records import Annotation, Row

LABELS = ["base", "new", "third"]
(MOST_LANES,) = re.findall(
    r"MOST_LANES = (\d+)", (ROOT / "templates/code/code_arrows.js").read_text()
)


@st.composite
def annotations(draw: Any) -> Annotation:
    """Some rows in some places, of some kernels each."""
    rows: list[Row] = []
    places = draw(st.integers(1, 3))
    for place in range(places):
        for n in range(draw(st.integers(0, 14))):
            labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
            counts = {one: draw(st.sampled_from([0, 0, 0, 0, 1, 70, -3])) for one in labels}
            rows.append(instruction(START + 16 * n + (place << 20), counts, place=place))
    return annotation(rows, LABELS, chains=[[f"p{n}", "work"] for n in range(places)])


def unpacked(made: FunctionCode, label: str) -> list[tuple[int, str, int]]:
    """A kernel's rows as the page reads them: address, text, count."""
    of = made.kernels[label]
    address, found = int(of.start, 16), []
    for n, text in enumerate(of.text):
        address += of.address[n]
        if text:
            found.append((address, made.strings[text], of.count[n]))
    return found


@given(annotations())
def test_every_executed_row_is_kept_and_the_others_are_counted(code: Annotation) -> None:
    made = packed_code(code)
    for label in LABELS:
        rows = unpacked(made, label)
        assert sum(count for *_, count in rows) == code.self[label]
        expected = [
            (int(row.address[label], 16), row.text[label], row.count[label])
            for row in code.rows
            if label in row.text and any(row.count.values())
        ]
        # In order, with rows that no kernel executed between them.
        assert [row for row in rows if row in expected] == expected
    for place in {row.place for row in code.rows}:
        own = [row for row in code.rows if row.place == place]
        kept = [n for n, one in enumerate(made.place) if one == place]
        left = sum(made.before[n] + made.after[n] for n in kept)
        executed = any(any(row.count.values()) for row in own)
        assert len(kept) + left == (len(own) if executed else 0)


@given(st.lists(st.booleans(), max_size=40))
def test_only_rows_near_executed_ones_are_kept(executed: list[bool]) -> None:
    code = annotation([instruction(START + 4 * n, {"base": n}) for n in map(int, executed)])
    near = [n for n in range(len(executed)) if any(executed[max(0, n - CONTEXT) : n + CONTEXT + 1])]
    assert len(packed_code(code).place) == len(near)


def test_jumps_lead_to_rows_of_their_own_kernel() -> None:
    rows = [
        instruction(START, {"base": 1, "new": 1}),
        instruction(START + 4, {"base": 1, "new": 1}, "jmp work", target=START),
        instruction(START + 8, {"base": 1}, "jmp elsewhere", target=START + 0x9999),
        instruction(START + 0x1004, {"new": 1}, "ret", other=0),
    ]
    made = packed_code(annotation(rows))
    assert made.kernels["base"].target == [-1, 0, -1, -1]
    assert made.kernels["new"].target == [-1, 0, -1, -1]


def test_a_branch_that_is_untold_on_a_kernel_is_not_one_that_never_jumped() -> None:
    counts = {"base": 10, "new": 10}
    rows = [instruction(START, counts, "je work", taken={"new": 0}), instruction(START + 4, counts)]
    made = packed_code(annotation(rows))
    assert made.kernels["base"].taken == [-1, -1]
    assert made.kernels["new"].taken == [0, -1]


def test_many_functions_with_code_are_one_megabyte() -> None:
    """Of the size that functions of the kernel have: 60 executed instructions each."""
    names = [f"function_{n}" for n in range(300)]
    rows = {
        label: [([frame(name)], name, True, [1000 + n * more]) for n, name in enumerate(names)]
        for label, more in (("base", 1), ("new", 2))
    }
    findings = Findings.of_recordings([compare(rows)])
    with shown(dict.fromkeys(names, large(60))):
        page = html.render(findings)
    found = re.findall(r'<script id="code-0-(\d+)" type="application/octet-stream">(.*?)<', page)
    assert len(found) == MOST == 200
    assert len(page) <= 1_000_000
    # Those that differ most.
    functions = findings.comparisons[0].functions
    held = {functions[int(row)].name for row, _ in found}
    assert held == set(names[100:])
    code = json.loads(gzip.decompress(base64.b64decode(found[0][1])))
    assert code == msgspec.to_builtins(packed_code(large(60)))


@pytest.mark.slow
def test_code_that_is_too_large_is_left_out() -> None:
    names = ["huge", *(f"f{n}" for n in range(60))]
    rows = [([frame(name)], name, True, [1000 - n]) for n, name in enumerate(names)]
    findings = Findings.of_recordings([compare({"base": rows, "new": rows})])
    codes = {name: large(1500) for name in names} | {"huge": large(12_000)}
    with shown(codes):
        found = page_code(findings)
    assert 500_000 < len(found.elements) <= ROOM
    (held,) = found.held.functions
    functions = findings.comparisons[0].functions
    assert [functions[row].name for row in held] == names[1 : len(held) + 1]
    assert found.held.why == ""


def test_a_page_without_code_says_why() -> None:
    rows = [([frame("work")], "work", True, [1])]
    findings = Findings.of_recordings([compare({"base": rows, "new": rows})])
    with shown("no bytes were recorded"):
        found = page_code(findings)
    assert found == (EmbeddedCode(functions=[[]], why="no bytes were recorded"), "")


def test_the_document_says_what_the_page_holds() -> None:
    told = (ROOT / "docs/report.md").read_text()
    room, of_one = ROOM // 1000, ROOM_OF_ONE // 1000
    assert f"the code of the {MOST} functions" in told
    assert f"as far as {room} kB allow ({of_one} kB for one function)" in told
    assert f"Up to {MOST_LANES} beside each other" in told
    assert {1: "one", 2: "two", 3: "three"}[CONTEXT] + " instructions before and after" in told
