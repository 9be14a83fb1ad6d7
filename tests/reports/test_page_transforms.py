"""How a reader finds the way on a page, in a real Chromium: its order and contents, what the table
shows, focus and hidden functions, the call tree, and addresses that hold names."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from browsed_page import Page, axe, call_stacks, click, counted_calls, drawn
from synthetic import Row, compare, frame, sampled_comparison

from profdiff.profile.comparison import Comparison
from profdiff.reports.page import html
from profdiff.shapes.table import Column, Section, Table

PLACES = """ids => ids.map(id => document.getElementById(id).getBoundingClientRect().y)"""


def numbers(page: Page, name: str) -> list[str]:
    """The cells of a function's row, without its name."""
    row = page.page.locator(f"#functions tbody tr:has(button.link:has-text('{name}'))")
    texts: list[str] = row.locator("td.number").all_text_contents()
    return texts


def tree_rows(page: Page) -> list[list[str]]:
    """The call tree: level, name, total delta."""
    script = """rows => rows.map(row => [row.ariaLevel,
      row.querySelector('.link')?.textContent ?? '', row.cells[1]?.textContent ?? ''])"""
    rows: list[list[str]] = page.page.eval_on_selector_all("#call-tree tbody tr", script)
    return rows


def test_one_function_is_in_focus_and_the_address_keeps_it(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks(), ops=10), tmp_path, 1280)
    assert numbers(page, "helper")[:2] == ["+70", "+280.0%"]
    page.page.click("#functions button.link:text-is('work')")
    page.page.click("#focus-open")
    # Outside of work, 50 of helper's are not seen on either side; all is what work has.
    assert numbers(page, "helper")[:5] == ["+70", "+350.0%", "+70", "20", "90"]
    assert page.page.locator("#functions tfoot tr:last-child td").all_text_contents()[1] == "+95"
    assert {"old_way", "entry"} & drawn(page).keys() == set()
    assert page.names() == ["helper", "new_way", "work"]
    assert "focus=work" in page.page.url
    assert page.page.inner_text("#transforms") == "only work and what it calls ×"
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    assert numbers(page, "helper")[1] == "+350.0%"
    page.page.click("#transforms button")
    assert numbers(page, "helper")[1] == "+280.0%"
    assert "focus=" not in page.page.url
    page.requests[:] = [page.url]
    page.close()


def test_hidden_functions_are_their_callers(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, counted_calls(), tmp_path, 1280)
    for name in ("helper", "new_way"):
        page.page.click(f"#functions button.link:has-text('{name}')")
        page.page.click("#hide-open")
    assert {"helper", "new_way"} & drawn(page).keys() == set()
    # 300 + 200 and 300 + 900 + 250; entry has 50 of helper's on either side.
    assert numbers(page, "work")[:2] == ["+95", "+190.0%"]
    assert numbers(page, "entry")[:2] == ["0", "0%"]
    assert "hide=helper%3Bnew_way" in page.page.url
    page.page.go_back()
    page.wait_until("state.hide === 'helper'")
    assert numbers(page, "work")[:2] == ["+70", "+140.0%"]
    assert "new_way" in drawn(page)
    told = page.page.inner_text("#transforms")
    assert "Counts of hidden functions go to their callers" in told
    page.page.click("#transforms button")
    assert page.page.is_hidden("#transforms")
    page.close()


def test_only_more_only_less_and_a_threshold(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks(), ops=10), tmp_path, 1280)
    page.page.select_option("#way", "more")
    assert page.names() == ["helper", "new_way"]
    page.page.select_option("#way", "less")
    assert page.names() == ["old_way"]
    page.page.select_option("#way", "")
    # By the size of the change: what is new or vanished, then factors either way.
    page.page.click("#functions thead button:has-text('change')")
    assert page.names() == ["old_way", "new_way", "helper", "entry", "work"]
    page.close()
    rows: list[Row] = [
        ([frame("big")], "big", True, [960]),
        ([frame("big"), frame("small")], "small", True, [30]),
        ([frame("big"), frame("tiny")], "tiny", True, [10]),
    ]
    page = Page(browser, compare({"base": rows, "new": rows}), tmp_path, 1280)
    page.page.select_option("#threshold", "5")
    assert page.names() == ["big"]
    assert set(drawn(page)) == {"big"}
    page.page.select_option("#threshold", "1")
    assert page.names() == ["big", "small", "tiny"]
    assert "threshold=1" in page.page.url
    assert page.page.is_visible("#way-label")
    page.close()
    page = Page(browser, compare({"base": rows}), tmp_path, 1280)
    assert page.page.is_hidden("#way-label")
    page.close()


def test_what_chance_can_make_of_samples_is_grey(browser: Any, tmp_path: Path) -> None:
    """20 and 30 samples: 10 of three standard errors of 21; 100 and 400: 300 of 67. Of shares: 6
    points of 9, 25 points of 22."""
    made = sampled_comparison({"chance": (20, 30), "grown": (100, 400), "same": (50, 50)})
    page = Page(browser, made, tmp_path, 1280)
    tinted = """names => names.map(name => [...document.querySelectorAll('#functions tbody tr')]
      .find(row => row.querySelector('.link').textContent === name)
      .querySelectorAll('td.more').length)"""
    for unit in ("absolute", "share"):
        page.page.select_option("#unit", unit)
        assert page.page.evaluate(tinted, ["chance"]) == [0]
        assert page.page.evaluate(tinted, ["grown"]) == [2]
        filled = """Array.from(tree.function.entries()).map(([node, id]) =>
          [frameName(id), graphs.left.fill(graphs.left.frames.scene, [node], false)])"""
        page.page.evaluate("paintTree()")
        colours = dict(page.page.evaluate(filled))
        assert colours["chance"] == "rgb(232,234,238)" != colours["grown"]
    assert page.page.is_visible("#legend-chance")
    page.close()


def test_the_call_tree_opens_the_way_to_the_change(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks(), ops=10), tmp_path, 1280)
    rows = tree_rows(page)
    assert rows[0] == ["1", "entry", "+55"]
    assert ["2", "work", "+95"] in rows
    assert ["3", "helper", "+70"] in rows
    page.page.click("#call-tree tr:has(button:text-is('entry')) .turn")
    assert [name for _, name, _ in tree_rows(page)] == ["entry"]
    page.page.keyboard.press("Enter")
    assert ["2", "old_way", "-40"] in tree_rows(page)
    # It begins where the graph is zoomed to.
    click(page, "work")
    assert tree_rows(page)[0] == ["1", "work", "+95"]
    axe(page.page)
    page.problems.clear()
    page.close()


def test_addresses_have_names_that_another_recording_has(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks(), ops=10), tmp_path, 1280)
    click(page, "work")
    page.page.click("#open-zoomed")
    address = page.page.url.partition("#")[2]
    assert "zoom=entry%3Bwork&function=work" in address
    page.close()
    # More functions, so that every number is another one.
    more: list[Row] = [([frame("aaa")], "aaa", True, [7]), ([frame("b;%")], "b", True, [9])]
    stacks = {label: [*more, *rows] for label, rows in call_stacks().items()}
    page = Page(browser, compare(stacks, ops=10), tmp_path, 1280)
    page.page.goto(f"{page.url}#{address}")
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    assert page.page.inner_text("#sandwich-name") == "work"
    assert page.page.inner_text("#crumbs").split() == ["all", "entry", "work"]
    page.page.click("#crumbs button:has-text('all')")
    click(page, "b;%")
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    assert page.page.inner_text("#crumbs").split() == ["all", "b;%"]
    page.requests[:] = [page.url]
    page.close()


def test_the_way_back_to_all_stays_in_sight(browser: Any, tmp_path: Path) -> None:
    chain = [frame(f"a_function_with_a_long_name_{n}") for n in range(30)]
    rows: list[Row] = [(chain[: n + 1], "x", True, [100]) for n in range(30)]
    page = Page(browser, compare({"base": rows, "new": rows[:29]}), tmp_path, 400)
    click(page, "a_function_with_a_long_name_25")
    boxes = page.page.locator("#crumbs button")
    first, last = boxes.first.bounding_box(), boxes.last.bounding_box()
    assert 0 <= first["x"] < 40
    assert last["x"] + last["width"] <= 400
    page.page.click("#crumbs button >> nth=0")
    assert "zoom=" not in page.page.url
    page.close()


def section(name: str, delta: int, verdict: str) -> Section:
    """A topic with one row."""
    return Section(
        name=name,
        title=name.title(),
        sentences=[f"Said of {name}."],
        tables=[
            Table(
                name=f"{name}-rows",
                title="",
                kernels=["base", "new"],
                ops=None,
                columns=[
                    Column(name="what", kind="name", title="what"),
                    Column(name="count", kind="count", kernel="base"),
                    Column(name="count", kind="count", kernel="new"),
                    Column(name="delta", kind="delta", kernel="new", of="count", shows=["delta"]),
                    Column(name="verdict", kind="verdict", kernel="new"),
                ],
                rows=[["row", 5, 5 + delta, delta, verdict]],
            )
        ],
    )


@pytest.fixture
def with_topics(monkeypatch: pytest.MonkeyPatch) -> Comparison:
    """A comparison whose page has three topics, one of which changed for certain."""
    build = html.documents.session_document
    topics = [
        section("same", 0, "exact"),
        section("chance", 3, "unsure"),
        section("more", 3, "exact"),
    ]
    monkeypatch.setattr(
        html.documents,
        "session_document",
        lambda found: msgspec.structs.replace(build(found), sections=topics),
    )
    return compare(call_stacks(), ops=10)


@pytest.mark.parametrize("width", [400, 1000, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_order_contents_and_topics_that_fold(
    browser: Any, tmp_path: Path, with_topics: Comparison, width: int, scheme: str
) -> None:
    page = Page(browser, with_topics, tmp_path, width)
    page.page.emulate_media(color_scheme=scheme)
    order = ["answers", "contents", "chips", "graphs", "functions", "call-tree", "more-title"]
    order += ["same-title", "chance-title", "evidence-title"]
    places = page.page.evaluate(PLACES, order)
    assert places == sorted(places)
    assert page.page.is_visible("#more-rows")
    assert page.page.is_hidden("#same-rows")
    assert page.page.inner_text("#chance summary") == "Chance Said of chance."
    titles = page.page.locator("#contents button").all_text_contents()
    assert titles[:5] == ["Flamegraph", "Functions", "Call tree", "More", "Same"]
    page.page.click("#contents button:text-is('Same')")
    assert page.page.is_visible("#same-rows")
    box = page.page.locator("#same-title").bounding_box()
    # At the top, but for a part of a pixel.
    assert -1 < box["y"] < 900
    # The answer is said once.
    assert page.page.locator("#heading").bounding_box()["height"] <= 1
    # The change is on a phone, too, and nothing is cut.
    assert page.page.locator("#functions td.number:has-text('+280.0%')").is_visible()
    box = "document.querySelector('.scroll:has(#functions)')"
    assert page.page.evaluate(f"{box}.scrollWidth <= {box}.clientWidth")
    axe(page.page)
    page.problems.clear()
    page.close()


def test_names_break_behind_their_underscores(browser: Any, tmp_path: Path) -> None:
    name = "set_write_prot_commit_flush_ptes_of_a_folio_batch"
    rows: list[Row] = [([frame(name)], name, True, [100])]
    page = Page(browser, compare({"base": rows, "new": rows * 2}), tmp_path, 400)
    lines = page.page.locator("#functions button.link").first.inner_text()
    assert lines == name
    script = "one => [...one.querySelectorAll('wbr')].length"
    assert page.page.locator("#functions button.link").first.evaluate(script) == 9
    page.close()
