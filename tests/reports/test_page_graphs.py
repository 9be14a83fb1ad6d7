"""The page's flamegraphs, sandwich view and facts, in a real Chromium."""

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from browsed_page import HOSTILE, Page, call_stacks, click, counted_calls, drawn
from msgspec.structs import replace
from synthetic import compare, example, findings, frame

from profdiff.reports.page import html
from profdiff.topics.functions.measure import calls as counted
from profdiff.views.kernels.facts import Facts


def test_first_screen_names_the_answer_and_the_function(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks(), ops=10), tmp_path, 1280)
    assert "helper" in page.page.inner_text("#answers")
    assert "6.0.0 → new: 6.1.0" in page.page.inner_text("#differs")
    assert page.page.inner_text(".chip").startswith("helper +70 (")
    box = page.page.locator("#graph-left").bounding_box()
    assert box["y"] < 400
    page.page.click(".chip")
    assert page.page.inner_text("#sandwich-name") == "helper"
    assert page.page.input_value("#search") == "helper"
    page.close()


def test_widths_and_vanished_frames(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks()), tmp_path, 1280)
    larger = drawn(page)
    assert "old_way" in larger
    assert "new_way" in larger
    whole = larger["entry"][1]
    # Summed over stacks: 100 + 300 + 900 + 50 + 400 + 250.
    assert larger["old_way"][1] / whole == pytest.approx(400 / 2000)
    page.page.select_option("#width", "left")
    assert "new_way" not in drawn(page)
    assert drawn(page)["old_way"][1] / whole == pytest.approx(400 / 1050)
    assert "width: base" in page.page.inner_text("#rule")
    page.page.select_option("#width", "delta")
    assert drawn(page)["old_way"][1] / whole == pytest.approx(400 / 1350)
    page.page.select_option("#view", "right")
    assert "old_way" not in drawn(page)
    page.close()


def test_sides_have_one_scale_and_one_zoom(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks()), tmp_path, 1280)
    page.page.select_option("#view", "both")
    left, right = drawn(page), drawn(page, "right")
    assert left["entry"][1] / right["entry"][1] == pytest.approx(1050 / 1600)
    assert left["helper"][0] > left["entry"][0]
    click(page, "work")
    left, right = drawn(page), drawn(page, "right")
    assert left["work"][1] / right["work"][1] == pytest.approx(500 / 1450)
    assert "old_way" not in left
    assert page.page.inner_text("#crumbs").split() == ["all", "entry", "work"]
    page.page.go_back()
    page.wait_until("state.zoom === ''")
    assert "old_way" in drawn(page)
    page.close()


def test_search_says_its_share_of_both_sides(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks()), tmp_path, 1280)
    page.page.fill("#search", "HELPER")
    # 250 of 1050 and 950 of 1600.
    assert "1 function matches" in page.page.inner_text("#matched")
    assert "base 23.81%, new 59.38%" in page.page.inner_text("#matched")
    page.page.check("#regex")
    page.page.fill("#search", "^(old|new)_")
    assert sorted(page.names()) == ["new_way", "old_way"]
    page.page.fill("#search", "(")
    assert "Not a regular expression" in page.page.inner_text("#matched")
    page.close()


def test_a_linked_state_comes_back(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(call_stacks(), ops=10), tmp_path, 1280)
    page.page.select_option("#view", "both")
    page.page.select_option("#unit", "share")
    page.page.fill("#search", "helper")
    click(page, "work")
    url, shown = page.page.url, drawn(page)
    other = browser.new_page(viewport={"width": 1280, "height": 900})
    other.goto(url)
    other.wait_for_selector("html[data-ready]")
    page.page.close()
    page.page = other
    assert other.input_value("#search") == "helper"
    assert other.input_value("#unit") == "share"
    assert drawn(page) == shown
    other.goto(
        page.url + "#metric=9&zoom=no;such&view=x&function=none&left=new&right=new&width=__proto__"
    )
    other.reload()
    other.wait_for_selector("html[data-ready]")
    assert "old_way" in drawn(page)
    assert other.input_value("#right") == "base"
    page.close()


def test_calls_tell_more_often_from_more_each_time(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, counted_calls(), tmp_path, 1400)
    heads = page.page.eval_on_selector_all("thead th", "heads => heads.map(h => h.textContent)")
    assert "calls per op base" in heads
    assert "self per call new" in heads
    page.page.click("#functions button.link:has-text('helper')")
    numbers = page.page.inner_text("#sandwich-numbers")
    assert "calls per op 0.50 → 1.90" in numbers
    assert "self per call 50 → 50" in numbers
    callers = page.page.inner_text("#callers-list")
    assert "work" in callers
    assert "entry" in callers
    assert "No callees are known" in page.page.inner_text("#sandwich")
    page.close()


def test_calls_are_set_against_what_belongs_to_them(browser: Any, tmp_path: Path) -> None:
    """As in every other form: not against copies that were inlined, and nested calls once."""
    entry, work = frame("entry"), frame("work")
    helper, copy = frame("helper"), frame("helper", inlined=True)
    rows = [
        ([entry], "entry", True, [100]),
        ([entry, helper], "helper", True, [300]),
        ([entry, helper, helper], "helper", True, [50]),
        ([entry, work], "work", True, [30]),
        ([entry, work, copy], "work", True, [4000]),
    ]
    made = compare({"base": rows, "new": [*rows, ([entry, frame("leaf")], "leaf", True, [9])]})
    calls = made.counts.copy() // 10
    calls[made.inlined] = 0
    made = replace(made, calls=calls)
    page = Page(browser, made, tmp_path, 1600)
    told = counted(made, np.arange(len(made.functions)))
    assert told is not None
    (one,) = [one for one, f in zip(told, made.functions, strict=True) if f.name == "helper"]
    assert (one.calls["base"], one.self["base"], one.total["base"]) == (35, 350, 350)
    page.page.click("#functions button.link:has-text('helper')")
    numbers = page.page.inner_text("#sandwich-numbers")
    assert "calls 35 → 35" in numbers
    assert "self per call 10 → 10" in numbers
    assert "total per call 10 → 10" in numbers
    page.close()


def test_without_call_stacks_the_page_says_so(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(example()), tmp_path, 1280)
    assert page.page.is_visible("#missing")
    page.close()
    page = Page(browser, compare(call_stacks()), tmp_path, 1280)
    assert page.page.is_hidden("#missing")
    page.close()


def test_one_kernel_and_nothing_counted(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare({"base": call_stacks()["base"]}), tmp_path, 1280)
    assert page.page.is_hidden("#view-label")
    assert "old_way" in drawn(page)
    click(page, "work")
    assert page.page.is_hidden("#sandwich")
    click(page, "work")
    assert page.page.inner_text("#sandwich-name") == "work"
    page.close()
    empty = [([frame("idle")], "idle", True, [0])]
    page = Page(browser, compare({"base": empty, "new": empty}, ops=3), tmp_path, 1280)
    assert drawn(page) == {}
    page.page.select_option("#unit", "share")
    page.page.select_option("#view", "both")
    page.close()


def test_two_of_three_kernels(browser: Any, tmp_path: Path) -> None:
    stacks = call_stacks()
    page = Page(browser, compare({**stacks, "third": stacks["base"]}), tmp_path, 1280)
    page.page.select_option("#left", "third")
    assert "third" in page.page.inner_text("#differs")
    assert "new" in page.page.inner_text("#caption-left")
    page.page.select_option("#right", "third")
    assert page.page.input_value("#left") == "new"
    page.close()


def test_hostile_and_long_names_in_graphs(browser: Any, tmp_path: Path) -> None:
    long = "n" * 10_000
    rows = [
        ([frame("root"), frame(name)], name, True, [100 * (number + 1)])
        for number, name in enumerate([*HOSTILE, long])
    ]
    page = Page(browser, compare({"base": rows, "new": rows[1:]}), tmp_path, 1000)
    for name in (*HOSTILE[:2], long):
        page.page.evaluate("name => openFunction(names.indexOf(name))", name)
        assert page.page.inner_text("#sandwich-name") == name
        click(page, name)
        page.page.click("#crumbs button")
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.page.evaluate(overflow) <= 0
    assert page.page.title() == "profdiff: base against new"
    assert page.page.locator("img:not(#charts img)").count() == 0
    page.close()


def test_facts_and_charts_are_shown_if_there(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode, build = html.documents.encode, html.documents.session_document
    svg = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><script>x</script></svg>"
    facts = {
        **json.loads(encode(build(findings([compare(call_stacks())]))))["facts"],
        "differences": [{"what": "Mitigations", "values": {"base": "on", "new": "off"}}],
        "config": [
            {"option": "CONFIG_X", "values": {"base": "y", "new": None}, "relevant": True},
        ],
    }
    told = msgspec.convert(facts, Facts)
    monkeypatch.setattr(
        html.documents,
        "session_document",
        lambda found: msgspec.structs.replace(build(found), facts=told),
    )
    chart = {"title": "Runs", "about": "functions", "svg": svg}
    monkeypatch.setattr(html.charts, "figures", lambda all_: [chart])
    page = Page(browser, compare(call_stacks()), tmp_path, 1280)
    assert "Mitigations, 1 config options (1 relevant)" in page.page.inner_text("#differs")
    assert "CONFIG_X" in page.page.inner_text("#config")
    page.wait_until("document.querySelector('#charts img').naturalWidth === 9")
    page.close()


def test_the_page_is_the_same_for_the_same_comparison() -> None:
    first, second = (html.render(findings([compare(example())])) for _ in range(2))
    assert first == second
    assert "<img" not in first


def test_calls_of_an_inlined_frame_are_not_counted_wherever_they_stand(
    browser: Any, tmp_path: Path
) -> None:
    made = counted_calls()
    assert made.calls is not None
    made = replace(made, calls=np.where(made.inlined, 0, made.calls))
    page = Page(browser, made, tmp_path, 1280)
    said = page.page.evaluate("said('new_way')")
    assert "calls 0 in base, not counted in new" in said
    assert "per call" not in said
    click(page, "new_way")
    page.page.keyboard.press("Enter")
    assert "calls: not counted" in page.page.inner_text("#sandwich")
    helper = page.page.evaluate("said('old_way')")
    assert "calls 8 in base, 0 in new" in helper, "it did not run there"
    page.close()
