"""How a page is read, in a real Chromium: by keys, by eye at several widths, light and dark."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from browsed_page import Page, call_stacks, click, counted_calls, drawn
from synthetic import Row, compare, frame

WIDTHS = [1000, 1440, 2500]
# The element that has the focus, and what a screen reader is told of it: its own name, or that of
# the one that it says is active.
FOCUSED = """() => { const one = document.activeElement;
  const active = document.getElementById(one.getAttribute('aria-activedescendant') ?? '');
  return [one.id, (active ?? one).ariaLabel ?? one.textContent]; }"""
HEADING = """() => { const box = document.getElementById('sandwich-name').getBoundingClientRect();
  return box.top >= 0 && box.bottom <= innerHeight && box.height > 0; }"""


def deep_stacks(tick: int = 5) -> dict[str, Sequence[Row]]:
    """Four frames that all stacks but a few of an interrupt have; enough to open below them."""
    root = [frame(name) for name in ("start", "main", "syscall", "dispatch")]
    rows: dict[str, list[Row]] = {}
    for label, more in (("base", 1), ("new", 3)):
        rows[label] = [
            (root[:2], "main", True, [20]),
            ([*root[:2], frame("tick")], "tick", True, [tick]),
            ([frame("idle")], "idle", True, [tick]),
            *(
                ([*root, frame("work"), frame(f"f{n}")], f"f{n}", True, [1000 + 100 * n * more])
                for n in range(5)
            ),
            ([*root, frame("other")], "other", True, [2000]),
        ]
    return dict(rows)


def focused(page: Page) -> tuple[str, str]:
    """The focused element's id, and what is read out."""
    element, name = page.page.evaluate(FOCUSED)
    return element, name


@pytest.mark.parametrize("width", WIDTHS)
def test_bars_have_one_scale_and_stay_in_their_cells(
    browser: Any, tmp_path: Path, width: int
) -> None:
    page = Page(browser, counted_calls(), tmp_path, width)
    for unit in ("per-op", "absolute", "share"):
        page.page.select_option("#unit", unit)
        bars = page.page.eval_on_selector_all(
            "#functions tbody .bar i",
            """bars => bars.map(bar => { const box = bar.getBoundingClientRect();
              const cell = bar.closest('td').getBoundingClientRect();
              const row = bar.closest('tr').children;
              const delta = row[[...row].indexOf(bar.closest('td')) - 1].textContent;
              return [delta, box.left, box.right, cell.left, cell.right]; })""",
        )
        assert len(bars) == 3 if unit != "share" else 5
        scales, nothing = [], set()
        for text, left, right, start, end in bars:
            delta = float(text.split()[0].replace(",", ""))
            assert start <= left < right <= end <= width
            scales.append((right - left) / abs(delta))
            nothing.add(round(left if delta > 0 else right))
        # Rounded to two digits, shares of a few points are exact to half a percent.
        assert scales == pytest.approx([scales[0]] * len(scales), rel=0.01)
        assert max(nothing) - min(nothing) <= 1
    page.close()


def test_the_first_tab_leads_to_the_widest_frame(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(deep_stacks()), tmp_path, 1280)
    keys = page.page.keyboard
    keys.press("Tab")
    assert focused(page) == ("skip", "Go to the flamegraph")
    box = page.page.locator("#skip").bounding_box()
    assert box["x"] >= 0
    assert box["y"] >= 0
    keys.press("Enter")
    element, said = focused(page)
    assert element == "graph-left"
    assert said.startswith("3 frames at the root, folded, start › main › syscall. self 20 in base")
    ring = "getComputedStyle(document.querySelector('.room')).outlineStyle"
    assert page.page.evaluate(ring) == "solid"
    assert page.page.is_visible("#tip")
    # Of those that stand on it the widest, and then its neighbours.
    keys.press("ArrowDown")
    assert focused(page)[1].startswith("dispatch")
    keys.press("ArrowDown")
    assert focused(page)[1].startswith("work")
    keys.press("ArrowLeft")
    assert focused(page)[1].startswith("other")
    keys.press("ArrowRight")
    keys.press("ArrowUp")
    assert focused(page)[1].startswith("dispatch")
    # The pointer that happens to rest there takes nothing away.
    keys.press("ArrowDown")
    keys.press("Enter")
    assert "zoom=" in page.page.url
    assert focused(page)[1].startswith("work")
    keys.press("Enter")
    assert focused(page) == ("sandwich-name", "work")
    keys.press("Escape")
    assert page.page.is_hidden("#sandwich")
    assert focused(page)[0] == "graph-left"
    assert focused(page)[1].startswith("work")
    keys.press("Escape")
    keys.press("Escape")
    assert "zoom=" not in page.page.url
    assert focused(page)[1].startswith("work")
    keys.press("Home")
    assert focused(page)[1].startswith("3 frames")
    page.close()


def test_what_has_the_focus_is_in_the_accessibility_tree(browser: Any, tmp_path: Path) -> None:
    """Chromium's own tree, which screen readers read: a canvas has no elements of its own."""
    page = Page(browser, compare(deep_stacks()), tmp_path, 1280)
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("ArrowDown")
    session = page.page.context.new_cdp_session(page.page.own)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    (graph,) = [
        node
        for node in nodes
        if node.get("role", {}).get("value") == "tree"
        and any(p["name"] == "focused" and p["value"]["value"] for p in node["properties"])
    ]
    assert graph["name"]["value"].startswith("difference flamegraph")
    assert "arrow keys" in graph["description"]["value"]
    (item,) = [node for node in nodes if node.get("role", {}).get("value") == "treeitem"]
    assert item["name"]["value"].startswith("dispatch")
    (active,) = [p for p in graph["properties"] if p["name"] == "activedescendant"]
    assert active["value"]["relatedNodes"][0]["backendDOMNodeId"] == item["backendDOMNodeId"]
    page.close()


def test_keys_go_on_where_the_pointer_clicked(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(deep_stacks()), tmp_path, 1280)
    click(page, "work")
    page.page.keyboard.press("ArrowDown")
    assert focused(page)[1].startswith("f4")
    page.page.mouse.move(5, 5)
    page.page.keyboard.press("ArrowLeft")
    assert focused(page)[1].startswith("f3")
    page.close()


@pytest.mark.parametrize("shape", ["icicle", "flame"])
def test_zooming_moves_nothing_but_the_graph(browser: Any, tmp_path: Path, shape: str) -> None:
    page = Page(browser, compare(deep_stacks()), tmp_path, 1000)
    page.page.select_option("#shape", shape)
    page.page.evaluate("document.getElementById('legend').scrollIntoView()")
    script = """() => [scrollY, ...['legend', 'path', 'graphs', 'below', 'functions'].flatMap(
      id => { const { y, height } = document.getElementById(id).getBoundingClientRect();
        return [y, height]; })]"""
    before = page.page.evaluate(script)
    for name in ("dispatch", "work", "f4"):
        click(page, name)
        assert page.page.evaluate(script) == before
    assert page.page.inner_text("#crumbs").split() == ["all", "dispatch", "work", "f4"]
    page.page.click("#crumbs button:has-text('work')")
    assert page.page.evaluate(script) == before
    page.page.click("#crumbs button:has-text('all')")
    assert page.page.evaluate(script) == before
    page.close()


@pytest.mark.parametrize("shape", ["icicle", "flame"])
def test_more_rows_than_the_whole_has_scroll_in_their_place(
    browser: Any, tmp_path: Path, shape: str
) -> None:
    thin = [frame("entry"), *(frame(f"thin{n}") for n in range(30))]
    rows: list[Row] = [
        *((thin[: n + 1], "x", True, [3]) for n in range(1, 31)),
        ([frame("entry"), frame("wide")], "wide", True, [40_000]),
    ]
    page = Page(browser, compare({"base": rows, "new": rows[:20]}), tmp_path, 1000)
    page.page.select_option("#shape", shape)
    script = """() => [scrollY, ...['graphs', 'below', 'functions'].flatMap(id => {
      const { y, height } = document.getElementById(id).getBoundingClientRect();
      return [y, height]; })]"""
    before = page.page.evaluate(script)
    click(page, "thin0")
    page.wait_until("graphs.left.frames.rows.length > 30")
    assert page.page.evaluate(script) == before
    room = "document.querySelector('.room')"
    assert page.page.evaluate(f"{room}.scrollHeight > {room}.clientHeight + 300")
    ends = {"icicle": 0, "flame": page.page.evaluate(f"{room}.scrollHeight - {room}.clientHeight")}
    assert page.page.evaluate(f"{room}.scrollTop") == ends[shape]
    # What the keys choose is scrolled to there.
    for _ in range(25):
        page.page.keyboard.press("ArrowDown" if shape == "icicle" else "ArrowUp")
    assert focused(page)[1].startswith("thin2")
    assert page.page.evaluate(
        """() => { const { frames, room } = graphs.left;
          const item = document.querySelector('#graph-left [role=treeitem]');
          const y = graphs.left.top(Number(item.ariaLevel) - 1) - room.scrollTop;
          return y >= 0 && y + 18 <= room.clientHeight; }"""
    )
    page.close()


def test_many_crumbs_are_one_row(browser: Any, tmp_path: Path) -> None:
    chain = [frame(f"a_function_with_a_long_name_{n}") for n in range(40)]
    rows: list[Row] = [(chain[: n + 1], "x", True, [100]) for n in range(40)]
    page = Page(browser, compare({"base": rows, "new": rows[:39]}), tmp_path, 1000)
    script = "document.getElementById('graphs').getBoundingClientRect().y + scrollY"
    before = page.page.evaluate(script)
    page.page.goto(
        f"{page.url}#zoom={';'.join(f'a_function_with_a_long_name_{n}' for n in range(39))}"
    )
    page.wait_until("document.querySelectorAll('#crumbs button').length > 30")
    assert page.page.evaluate(script) == before
    last = page.page.locator("#crumbs button").last.bounding_box()
    assert last["x"] + last["width"] <= 1000
    page.close()


def test_frames_of_all_stacks_are_one_row_that_opens(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(deep_stacks()), tmp_path, 1280)
    folded = drawn(page)
    # The row is named after the last frame in it; whatever else was called is still there.
    assert {"start", "main"} & folded.keys() == set()
    assert {"syscall", "dispatch", "work", "tick", "idle"} <= folded.keys()
    rows = "graphs.left.frames.rows.length"
    assert page.page.evaluate(rows) == 4
    assert page.page.inner_text("#fold") == "Expand 3 collapsed frames"
    click(page, "syscall")
    page.wait_until(f"{rows} === 6")
    opened = drawn(page)
    assert {"start", "main", "syscall", "tick"} <= opened.keys()
    # Nothing else moved aside.
    for name in ("work", "other", "dispatch", "idle"):
        assert opened[name] == pytest.approx(folded[name], abs=0.01)
    assert "fold=open" in page.page.url
    assert page.page.inner_text("#fold") == "Collapse 3 root frames"
    page.page.click("#fold")
    page.wait_until(f"{rows} === 4")
    # Below the fold, it leads back to the whole.
    click(page, "work")
    click(page, "syscall")
    assert "zoom=" not in page.page.url
    assert "fold" not in page.page.url
    page.close()
    page = Page(browser, compare(call_stacks()), tmp_path, 1280)
    assert page.page.is_hidden("#fold")
    page.close()


@pytest.mark.parametrize("place", ["table", "chip", "flamegraph", "crumb", "search", "caller"])
def test_an_opened_function_is_in_view(browser: Any, tmp_path: Path, place: str) -> None:
    made = compare(deep_stacks(), ops=10)
    page = Page(browser, made, tmp_path, 1280)
    page.page.set_viewport_size({"width": 1280, "height": 400})
    if place == "table":
        page.page.click("#functions button.link:has-text('f4')")
    elif place == "chip":
        page.page.click(".chip:has-text('f4')")
    elif place == "flamegraph":
        click(page, "f4")
        click(page, "f4")
    elif place == "crumb":
        click(page, "f4")
        page.page.click("#open-zoomed")
    elif place == "search":
        page.page.fill("#search", "f4")
        page.page.keyboard.press("Enter")
    else:
        page.page.click("#functions button.link:has-text('f3')")
        page.page.click("#callers-list button:has-text('work')")
        page.page.click("#callees-list button:has-text('f4')")
    assert page.page.inner_text("#sandwich-name") == "f4"
    assert page.page.evaluate(HEADING)
    assert focused(page)[0] == "sandwich-name"
    page.close()


def test_a_linked_function_is_in_view(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(deep_stacks()), tmp_path, 1280)
    page.page.set_viewport_size({"width": 1280, "height": 400})
    page.page.click("#functions button.link:has-text('f4')")
    link = page.page.url
    page.page.click("#sandwich-close")
    page.page.evaluate("scrollTo(0, 0)")
    # In the page that is open, and in a fresh one.
    page.page.evaluate("link => { location.href = link; }", link)
    page.wait_until(HEADING)
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    page.wait_until(HEADING)
    page.requests.clear()
    page.requests.append(page.url)
    page.close()


def test_boxes_are_tab_stops_only_where_something_scrolls(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare(deep_stacks()), tmp_path, 1440)
    page.unfold()
    script = """() => [...document.querySelectorAll('.scroll:not(:has(button))')].filter(
      box => box.getClientRects().length).map(box => [
        box.firstElementChild.id, box.scrollWidth > box.clientWidth, box.tabIndex])"""
    found = page.page.evaluate(script)
    assert {"kernels", "runs"} <= {name for name, *_ in found}
    assert [stop for _, scrolls, stop in found if not scrolls] == [-1] * len(found)
    # The keys reach each that scrolls on a narrow screen.
    page.page.set_viewport_size({"width": 320, "height": 900})
    page.wait_until("document.querySelector('.scroll[tabindex]:not(:has(button))') !== null")
    found = page.page.evaluate(script)
    assert any(scrolls for _, scrolls, _ in found)
    assert all((stop == 0) == scrolls for _, scrolls, stop in found)
    page.page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_until("document.querySelector('.scroll[tabindex]') === null")
    page.close()
