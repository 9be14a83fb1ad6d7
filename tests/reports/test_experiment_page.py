"""The page's measurements, in a real Chromium."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from browsed_page import HOSTILE, Page
from msgspec.structs import replace
from synthetic import Row, compare, example, findings, frame
from synthetic_experiment import ICOUNT, boots, found, recorded

from profdiff.evidence.findings import Findings
from profdiff.evidence.results import Results
from profdiff.profile.comparison import Comparison
from profdiff.reports.exports import svg
from profdiff.reports.exports.svg import FlameLayout
from profdiff.reports.text import session
from profdiff.session import manifest as m
from profdiff.session.state import State
from profdiff.topics.functions.selection import Selection

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
DIFFERENT = State(
    {"anon_huge_kib": {"base": "0", "new": "16384"}},
    {"minor_faults": "1200", "exit status": "0"},
    ["output"],
)


def experiment(labels: Sequence[str] = ("base", "new"), state: State | None = None) -> Findings:
    """A sweep over sizes and vCPUs, timed runs alone."""
    points = [m.Point({"size_kib": str(10**n)}, cpus, 1000) for n in range(4) for cpus in (1, 2)]
    values = {
        label: [boots(100.0 * (at + 1) * (1 + 0.3 * place), 5, 0.01) for at in range(8)]
        for place, label in enumerate(labels)
    }
    return found(recorded(values, points=points, qemu=ICOUNT), state=state)


def with_functions(state: State | None = None) -> Findings:
    """The same with profiles."""
    timed = experiment(state=state)
    return replace(timed, comparisons=[compare(example(), ops=40_000)])


def column(page: Page, number: int) -> list[str]:
    """Cells of the first table's column, its heading first."""
    script = "(rows, at) => rows.map(row => row.children[at].textContent)"
    shown: list[str] = page.page.eval_on_selector_all(
        "#experiment-tables table >> nth=0 >> tr", script, number
    )
    return shown


def test_timed_runs_alone(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, experiment(), tmp_path, 1300)
    told = "latency 1,040 instead of 800 instructions (guest clock)"
    assert told in page.page.inner_text("#answers")
    assert page.page.inner_text("#differs") == "base: 6.0.0 → new: 6.1.0. They differ in release."
    for hidden in ("#profile", "#charts", "#state-section", "#functions"):
        assert page.page.is_hidden(hidden)
    assert page.page.is_hidden("#place")
    assert "guest clock, which counts instructions" in page.page.inner_text(
        "#experiment-tables h3 >> nth=0"
    )
    assert column(page, 0) == ["size_kib", "1", "1", "10", "10", "100", "100", "1000", "1000"]
    assert column(page, 4)[:2] == ["change", "+30.0%"]
    assert column(page, 5) == ["verdict"] + 8 * ["changed"]
    assert "5 boots of each kernel" in page.page.inner_text("#experiment-notes")
    page.unfold()
    facts = page.page.inner_text("#kernels")
    assert "Inlined" not in facts
    assert "Runs\t5\t5" in facts
    page.close()


def test_with_functions(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, with_functions(), tmp_path, 1300)
    assert page.names()[0] == "prot_commit_flush_ptes"
    assert page.page.inner_text("#place label") == "Show functions for"
    chosen = "select => select.selectedOptions[0].textContent"
    assert page.page.eval_on_selector("#point", chosen) == "size_kib 1000, vCPUs 2"
    order = page.page.evaluate(
        "['experiment-tables', 'graphs', 'functions', 'charts'].map("
        "id => document.getElementById(id).getBoundingClientRect().top)"
    )
    assert order == sorted(order)
    assert page.page.locator("#charts img").count() == 2
    page.close()


def test_charts_are_pictures_that_can_be_read(browser: Any, tmp_path: Path) -> None:
    for width in (400, 900, 1300):
        page = Page(browser, experiment(), tmp_path, width)
        page.wait_until(
            "[...document.querySelectorAll('#experiment-charts img')].every(i => i.naturalWidth)"
        )
        images = page.page.eval_on_selector_all(
            "#experiment-charts img",
            "all => all.map(i => [i.alt, i.width / i.naturalWidth, i.height / i.naturalHeight])",
        )
        assert [alt for alt, _, _ in images] == [
            "latency, instructions (guest clock), by size_kib",
            "latency, instructions (guest clock), at size_kib 1000, vCPUs 2",
        ]
        for _, wide, high in images:
            assert wide == pytest.approx(high, rel=0.01)
            # Notes of 7 points are 8 pixels then.
            assert wide > 0.82
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 900, 1300])
def test_no_screen_is_too_narrow(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    labels = ["base", *(f"linux-6.18-with-a-long-label-{n}" for n in range(6))]
    page = Page(browser, experiment(labels, DIFFERENT), tmp_path, width)
    page.page.emulate_media(color_scheme=scheme)
    assert page.page.evaluate(OVERFLOW) <= 0
    # Numbers stand under their headings, and the row's name stays while the table scrolls.
    right = "cell => Math.round(cell.getBoundingClientRect().right)"
    for at in (2, 4):
        cells = page.page.locator(f"#experiment-tables table >> nth=0 >> tr > :nth-child({at + 1})")
        edges = {cells.nth(row).evaluate(right) for row in range(3)}
        aligned = {
            cells.nth(row).evaluate("cell => getComputedStyle(cell).textAlign") for row in range(3)
        }
        assert (len(edges), aligned) == (1, {"right"})
    name = page.page.locator("#experiment-tables table >> nth=0 >> tr >> nth=1 >> th >> nth=0")
    left = "cell => cell.getBoundingClientRect().x"
    before = name.evaluate(left)
    page.page.locator("#experiment-tables .scroll >> nth=0").evaluate("box => box.scrollLeft = 300")
    assert name.evaluate(left) == before
    page.close()


def test_a_state_that_differs_stands_above_everything_measured(
    browser: Any, tmp_path: Path
) -> None:
    page = Page(browser, with_functions(DIFFERENT), tmp_path, 900)
    lines = page.page.inner_text("#state").splitlines()
    assert lines[0] == "STATE DIFFERS: AnonHugePages of the workload (KiB): base 0, new 16384"
    assert lines[1:] == [
        "otherwise equal: 1,200 minor faults, exit status 0",
        "state not known: output",
    ]
    look = "line => [getComputedStyle(line).fontWeight, line.getBoundingClientRect().bottom]"
    weight, bottom = page.page.eval_on_selector("#state li.differs", look)
    assert weight == "700"
    assert bottom < page.page.locator("#experiment").bounding_box()["y"]
    assert page.page.get_attribute("#state-section", "class") == "alarm"
    page.close()
    same = replace(DIFFERENT, differences={})
    page = Page(browser, with_functions(same), tmp_path, 900)
    assert not page.page.get_attribute("#state-section", "class")
    assert page.page.locator("#state li.differs").count() == 0
    page.close()


def test_strangers_words_are_text(browser: Any, tmp_path: Path) -> None:
    points = [m.Point({"mode": text}, 1) for text in (*HOSTILE, "x" * 60_000)]
    values = {label: [boots(100.0, 3)] * 5 for label in ("base", "new")}
    described = recorded(values, points=points, name=HOSTILE[0], unit=HOSTILE[1])
    state = State({HOSTILE[2]: {"base": HOSTILE[0], "new": HOSTILE[3]}})
    page = Page(browser, found(described, state=state), tmp_path, 900)
    assert page.page.title() == "profdiff: base against new"
    assert page.page.locator("img:not(.charts img)").count() == 0
    assert column(page, 0)[1] == HOSTILE[0][:39] + "…"
    assert column(page, 0)[3] == "a\\u{202e}reversed\\u{7}bell"
    assert HOSTILE[0] in page.page.inner_text("#experiment-tables h3 >> nth=0")
    assert page.page.evaluate(OVERFLOW) <= 0
    page.close()


def test_a_plain_comparison_has_no_measurements(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(example()), tmp_path, 900)
    assert page.page.is_hidden("#experiment")
    page.close()


def below_nothing() -> Comparison:
    """Of two lengths of a workload: stacks of which the longer one had less."""
    entry, work, helper, gone = (frame(name) for name in ("entry", "work", "helper", "gone"))
    rows: dict[str, Sequence[Row]] = {
        "base": [
            ([entry], "entry", True, [100]),
            ([entry, work], "work", True, [-40]),
            ([entry, work, helper], "helper", True, [300]),
            ([entry, gone], "gone", True, [-200]),
        ],
        "new": [
            ([entry], "entry", True, [-10]),
            ([entry, work], "work", True, [60]),
            ([entry, work, helper], "helper", True, [900]),
            ([entry, gone], "gone", True, [-5]),
        ],
    }
    return compare(rows)


def test_counts_below_nothing_have_no_width_but_their_sign(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, below_nothing(), tmp_path, 1200)
    rows = {
        name: [page.cells(row)[n] for n in (3, 4, 0, 1)] for row, name in enumerate(page.names())
    }
    assert rows["gone"] == ["-200", "-5", "+195", "-"]
    assert rows["work"] == ["-40", "60", "+100", "-"]
    assert rows["entry"] == ["100", "-10", "-110", "-110.0%"]
    widths = """side => { paintTree(); return graphs[side].frames.rows.flat().map(
      box => [frameName(tree.function[box.node]), box.to - box.from]); }"""
    sums = {"both": ("left", 400), "left": ("left", 400), "right": ("left", 960)}
    for view in ("difference", *sums):
        page.page.select_option("#view", view)
        drawn = dict(page.page.evaluate(widths, "left"))
        assert "gone" not in drawn
        assert drawn["entry"] >= drawn["work"] >= drawn["helper"] > 0
    page.page.select_option("#view", "left")
    drawn = dict(page.page.evaluate(widths, "left"))
    assert drawn["helper"] / drawn["entry"] == pytest.approx(300 / 400)
    page.page.select_option("#view", "both")
    page.page.evaluate("paintTree()")
    ends = page.page.evaluate("Math.max(...graphs.right.frames.rows.flat().map(box => box.to))")
    assert ends <= page.page.evaluate("graphs.right.canvas.clientWidth") + 0.01
    page.close()


def test_what_is_no_total_is_not_shown(browser: Any, tmp_path: Path) -> None:
    """The shorter run executed more below ``exits``."""
    exits, printf, work = (frame(name) for name in ("exits", "printf", "work"))
    rows: dict[str, Sequence[Row]] = {
        label: [
            ([exits], "exits", True, [60 + below]),
            ([exits, printf], "printf", True, [-below]),
            ([work], "work", True, [100 + below]),
        ]
        for label, below in (("base", 5), ("new", 25))
    }
    comparison = compare(rows)
    page = Page(browser, comparison, tmp_path, 1600)
    script = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
    shown = page.page.eval_on_selector_all("#functions tbody tr", script)
    totals = {row[0]: row[4] for row in shown}
    assert (totals["exits"], totals["work"]) == ("-", "+20")
    page.close()
    told = session.render(findings([comparison]), Selection(), width=120)
    words = [line.split() for line in told.splitlines()]
    lines = {found[-1]: found[-2] for found in words if len(found) > 6}
    assert (lines["exits"], lines["work"]) == ("-", "+20")


def test_pictures_of_counts_below_nothing() -> None:
    made = below_nothing()
    for kernels in ([0], [1], [0, 1]):
        layout = FlameLayout.of(made, kernels)
        assert (layout.width >= 0).all()
        assert (layout.left >= 0).all()
        assert (layout.left + layout.width <= layout.whole).all()
    for picture in (svg.difference([made], []), svg.side_by_side([made], [])):
        text = picture.decode()
        assert "gone" not in text.partition("</text>")[2].partition(" for ")[2]
        assert 'width="-' not in text
        assert "self: base 100, new -10, delta -110 (-110.0%)" in text
    # A picture of 1,200 with margins of 10, and one in each half of it.
    for picture, room in ((svg.difference([made], []), 1190), (svg.side_by_side([made], []), 590)):
        boxes = re.findall(rb'</title><rect x="([0-9.]+)" y="[0-9.]+" width="([0-9.]+)"', picture)
        starts = [float(x) % (room + 10) for x, _ in boxes]
        assert len(boxes) >= 3
        assert max(x + float(width) for x, (_, width) in zip(starts, boxes, strict=True)) <= room


def test_evidence_of_what_is_shown() -> None:
    """The made-up experiment is one: five boots in each of two times eight cells."""
    evidence = Results.gather(experiment().manifest)
    assert [len(cell.boots) for one in evidence.every for cell in one.cells] == 16 * [5]
    assert findings([compare(example())]).results.every == []
