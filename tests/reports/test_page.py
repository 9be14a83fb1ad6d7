"""The page, in a real Chromium."""

from pathlib import Path
from typing import Any

import pytest
from browsed_page import HOSTILE, Page
from synthetic import Row, compare, example, frame


def test_sorting_searching_and_units(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(example(), ops=40_000), tmp_path, 1200)
    assert "new executes 2.1" in page.page.inner_text("#answers")
    assert page.names()[0] == "prot_commit_flush_ptes"
    assert page.cells(0)[:2] == ["+27.50", "new"]
    assert page.cells(0)[3:5] == ["0", "27.50"]
    page.page.click("thead button:has-text('function')")
    assert page.names() == sorted(page.names())
    assert page.page.get_attribute("th:has-text('function')", "aria-sort") == "ascending"
    page.page.focus("thead button:has-text('new')")
    page.page.keyboard.press("Enter")
    assert page.names()[0] == "change_pte_range"
    page.page.keyboard.press("Enter")
    assert page.page.get_attribute("th:has-text('new')", "aria-sort") == "ascending"
    page.page.select_option("#unit", "absolute")
    page.page.fill("#search", "COMMIT_anon")
    assert page.names() == ["commit_anon_folio_batch"]
    assert page.cells(0)[4] == "620,000"
    page.page.select_option("#unit", "share")
    assert page.cells(0)[4].endswith("%")
    page.page.fill("#search", "")
    page.page.select_option("#side", "user")
    assert page.names() == ["main"]
    assert "unresolved: no-symbol (user)" in page.page.inner_text("tfoot")
    assert page.page.is_hidden("#right-label")
    page.close()


def test_a_renamed_function_is_no_change(browser: Any, tmp_path: Path) -> None:
    """As in the text: against the base alone, of which its other name is known."""
    callers: list[Row] = [
        ([frame(name, file="a.c")], name, True, [500]) for name in ("relax", "wait")
    ]

    def on(name: str) -> list[Row]:
        inlined = frame(name, inlined=True, file="mm/x.c")
        return [
            *callers,
            *(([*frames, inlined], caller, True, [9000]) for frames, caller, *_ in callers),
        ]

    shown = compare({"base": on("rep_nop"), "new": on("native_pause"), "again": on("rep_nop")})
    page = Page(browser, shown, tmp_path, 1200)
    page.page.select_option("#right", "new")

    def changes() -> dict[str, str]:
        return {name: page.cells(row)[1] for row, name in enumerate(page.names())}

    assert (changes()["rep_nop"], changes()["native_pause"]) == ("renamed", "renamed")
    page.page.select_option("#left", "again")
    assert (changes()["rep_nop"], changes()["native_pause"]) == ("vanished", "new")
    page.close()


def test_hostile_names_are_text(browser: Any, tmp_path: Path) -> None:
    rows = [
        ([frame(name, owner=name, file=name)], name, True, [number + 1])
        for number, name in enumerate(HOSTILE)
    ]
    page = Page(browser, compare({"base": rows, "new": rows[1:]}), tmp_path, 1200)
    shown = page.names()
    assert HOSTILE[0] in shown
    assert HOSTILE[1] in shown
    assert "a\\u{202e}reversed\\u{7}bell" in shown
    assert "&lt;b&gt;" in shown
    assert page.page.title() == "profdiff: base against new"
    assert page.page.locator("img:not(#charts img)").count() == 0
    policy = page.page.get_attribute("meta[http-equiv]", "content")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    page.page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); }"
    )
    assert page.page.evaluate("() => window.ran") is None
    assert all("Content Security Policy" in problem for problem in page.problems)
    page.problems.clear()
    page.close()


def test_many_functions_and_three_kernels(browser: Any, tmp_path: Path) -> None:
    rows = [([frame(f"f{n:04}")], "f", True, [n + 1]) for n in range(450)]
    kernels = {"base": rows, "b": rows[:300], "c": rows[100:]}
    page = Page(browser, compare(kernels), tmp_path, 1200)
    assert len(page.names()) == 20
    for _ in range(3):
        page.page.click("#more")
    assert len(page.names()) == 450
    assert page.page.is_hidden("#more")
    page.page.select_option("#right", "c")
    assert page.names()[0] == "f0099"
    assert page.cells(0)[1] == "vanished"
    page.close()


def test_rows_left_out_are_named_and_bars_fit(browser: Any, tmp_path: Path) -> None:
    names = [f"f{n:04}" for n in range(5200)]
    base = [([frame(name)], name, True, [1]) for name in names]
    new = [([frame(name)], name, True, [1 + n]) for n, name in enumerate(names)]
    page = Page(browser, compare({"base": base, "new": new}), tmp_path, 1200)
    page.page.click("thead button:has-text('function')")
    assert "5,200 of 5,200 functions (the first 20 shown)" in page.page.inner_text("#status")
    page.page.emulate_media(media="print")
    assert page.page.is_visible("#status")
    page.page.emulate_media(media="screen")
    page.page.click("#more")
    # A row's bar is as long among all as it is alone.
    widths = "bars => Math.max(...bars.map(bar => parseFloat(bar.style.width)))"
    assert 3 < page.page.eval_on_selector_all(".bar i", widths) < 5
    page.page.fill("#search", "f0199")
    assert 3 < page.page.eval_on_selector_all(".bar i", widths) < 5
    page.page.fill("#search", "f5199")
    assert page.page.eval_on_selector_all(".bar i", widths) == 100
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_narrow_screen(browser: Any, tmp_path: Path, scheme: str) -> None:
    page = Page(browser, compare(example(), ops=40_000, failed=["new"]), tmp_path, 400)
    page.page.emulate_media(color_scheme=scheme)
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.page.evaluate(overflow) <= 0
    ground = page.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(21, 23, 26)"}[scheme]
    page.page.screenshot(path=tmp_path / f"{scheme}.png", full_page=True)
    page.close()
