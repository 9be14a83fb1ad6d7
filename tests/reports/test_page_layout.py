"""What a reader meets first on a page, on a small screen and on paper, in a real Chromium."""

from pathlib import Path
from typing import Any

import pytest
from browsed_page import Page, call_stacks, counted_calls, opened
from made_atlas import session
from synthetic import compare, example

from profdiff.reports import atlas
from profdiff.views.results.recording import shown_command

HEIGHT = "id => document.getElementById(id).getBoundingClientRect()"


def three() -> Any:
    """Three kernels, of which the third has another largest change."""
    rows = call_stacks()
    third = [
        row if "old_way" not in str(row) else (row[0], row[1], row[2], [4000])
        for row in rows["base"]
    ]
    return compare({**rows, "third": third}, ops=10)


def test_the_heading_is_one_line_and_the_graph_is_near(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, three(), tmp_path, 1440)
    heading = page.page.inner_text("h1")
    assert heading.startswith("instructions")
    assert "on new" in heading
    assert "on third" in heading
    assert page.page.evaluate(HEIGHT, "heading")["height"] < 40
    # The sentences are a paragraph.
    assert page.page.inner_text("p#answers").startswith("new executes")
    assert page.page.evaluate(HEIGHT, "graphs")["top"] < 700
    page.close()


def test_long_tables_are_folded(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(example(), ops=40_000), tmp_path, 1440)
    assert not page.page.is_visible("#kernels")
    page.page.click("#kernels-title")
    assert page.page.is_visible("#kernels")
    # Paper has what the reader left folded.
    page.page.emulate_media(media="print")
    page.wait_until("document.getElementById('runs-details').open")
    page.page.emulate_media(media="screen")
    page.wait_until("!document.getElementById('runs-details').open")
    page.close()


def test_chips_name_every_kernel(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, three(), tmp_path, 1440)
    assert page.page.locator("#chips .kernel").all_inner_texts() == ["new", "third"]
    page.page.click("#chips p:nth-child(2) .chip:has-text('old_way')")
    # What is opened is that of the chip's kernel.
    assert page.page.input_value("#right") == "third"
    assert page.page.inner_text("#sandwich-name") == "old_way"
    page.close()


def test_a_table_that_is_cut_says_so(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, counted_calls(), tmp_path, 1000)
    box = ".scroll:has(> #functions)"
    page.wait_until(f"document.querySelector('{box}').classList.contains('cut')")
    cue = f"getComputedStyle(document.querySelector('{box}'), '::before').content"
    assert "scroll to the right" in page.page.evaluate(cue)
    page.page.evaluate(f"document.querySelector('{box}').scrollLeft = 9999")
    page.wait_until(f"!document.querySelector('{box}').classList.contains('cut')")
    page.close()


def test_the_search_has_keys(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, counted_calls(), tmp_path, 1440)
    page.page.keyboard.press("/")
    assert page.page.evaluate("document.activeElement.id") == "search"
    page.page.keyboard.type("h/")
    assert page.page.input_value("#search") == "h/"
    page.page.fill("#search", "h")
    page.wait_until("document.querySelectorAll('#functions tbody tr').length === 1")
    page.page.keyboard.press("ArrowDown")
    assert page.page.evaluate("document.activeElement.textContent") == "helper"
    page.page.keyboard.press("ArrowUp")
    assert page.page.evaluate("document.activeElement.id") == "search"
    page.close()


def test_numbers_of_a_frame_do_not_hide_the_graph(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, counted_calls(), tmp_path, 1440)
    page.page.hover("#graph-left", position={"x": 200, "y": 30})
    assert page.page.is_visible("#tip")
    tip, graph = (page.page.evaluate(HEIGHT, one) for one in ("tip", "graphs"))
    room = page.page.evaluate("document.querySelector('.room').getBoundingClientRect().toJSON()")
    assert tip["top"] >= room["bottom"] or tip["bottom"] <= room["top"]
    assert tip["left"] >= 0
    assert tip["right"] <= 1440
    assert graph["height"] > 0
    page.close()


@pytest.mark.parametrize("media", ["print"])
def test_nothing_is_cut_on_paper(browser: Any, tmp_path: Path, media: str) -> None:
    # A4 without its margins, in CSS pixels.
    page = Page(browser, three(), tmp_path, 718)
    page.page.emulate_media(media=media)
    page.wait_until("document.getElementById('runs-details').open")
    cut = """() => [...document.querySelectorAll('table')].filter(one => one.checkVisibility() &&
      one.getBoundingClientRect().right > innerWidth).map(one => one.id)"""
    assert page.page.evaluate(cut) == []
    ramp = "getComputedStyle(document.querySelector('i.ramp')).printColorAdjust"
    assert page.page.evaluate(ramp) == "exact"
    page.close()


def test_labels_of_a_line_stand_above_it(browser: Any, tmp_path: Path) -> None:
    counts = {f"6.{n}": {"f": 100 + 90 * (n % 2)} for n in range(9)}
    made = session(tmp_path / "w.profdiff", counts)
    atlas.write(tmp_path / "site", [made.folder], 0.05, lambda line: None)
    with opened(browser, tmp_path / "site/cells/w.html") as page:
        boxes = page.eval_on_selector_all(
            ".said", "all => all.map(one => one.getBoundingClientRect().toJSON())"
        )
        tops = page.eval_on_selector_all(
            ".line", "all => all.map(x => x.getBoundingClientRect().top)"
        )
        width = page.eval_on_selector("svg", "one => one.getBoundingClientRect().width")
        titles = page.locator("th[scope=col]").all_inner_texts()
    assert max(one["bottom"] for one in boxes) <= min(tops)
    for n, one in enumerate(boxes):
        for other in boxes[:n]:
            apart = one["left"] >= other["right"] or other["left"] >= one["right"]
            assert apart or abs(one["y"] - other["y"]) > 8
    assert width > 0.9 * 1440
    # No release has a commit: a column without content is left out.
    assert titles[2:] == ["change", "functions that make most of it", "recording"]


def test_a_program_of_a_suite_has_its_name() -> None:
    own = ["../../fresh/profdiff/suites/mprotect.c", "toggle"]
    assert shown_command(own) == ["mprotect.c", "toggle"]
    assert shown_command(["../mprotect.c"]) == ["../mprotect.c"]
    assert shown_command([]) == []
