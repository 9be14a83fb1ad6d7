"""The lines that change hands on the page, in a real Chromium: the table, and the drawing of a line
with who reads and writes what in it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import made_sharing as made
import pytest
from browsed_page import HOSTILE, Page
from made_accesses import Site
from made_sharing import OPS, Hold, MadeLine, On
from msgspec.structs import replace
from shared_file import BOTH, COUNT, FREED, HEAP, LAYOUTS, MASK, counted, kernels
from support import ROOT
from synthetic import compare, frame
from synthetic_session import exact_session

from profdiff.evidence.findings import Findings, LazyFindings
from profdiff.reports.page import html
from profdiff.reports.page import sharing as page_sharing
from profdiff.reports.page.sharing_records import LineField
from profdiff.session.session import Session

Lines = Mapping[str, Sequence[Sequence[MadeLine]]]
FIGURES = "#sharing .contended"


def findings(folder: Path, lines: Lines | None = None, **more: int) -> Findings:
    """Those of a session that recorded these lines."""
    made.session(folder / "made.profdiff", lines or kernels(), LAYOUTS, **more)
    return LazyFindings.of(Session.open(folder / "made.profdiff")).findings


def opened_page(browser: Any, folder: Path, found: Findings, width: int = 1280) -> Page:
    """With its lines drawn."""
    page = Page(browser, found, folder, width)
    page.wait_until("document.querySelector('#sharing').dataset.ready !== undefined")
    return page


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Page]:
    """The page of two threads that read the same file."""
    page = opened_page(browser, tmp_path, findings(tmp_path))
    yield page
    page.close()


def rows(page: Page) -> list[list[str]]:
    """What stands in each row of the table, its sum too, but for what is open."""
    found: list[list[str]] = page.page.eval_on_selector_all(
        "#sharing-rows > :is(tbody, tfoot) > tr:not(.details)",
        """lines => lines.map(line => [...line.children].map(cell =>
          cell.innerText.replace(/\\s+/g, ' ').trim()))""",
    )
    return found


def boxes(page: Page, figure: int) -> list[tuple[str, str, str, str]]:
    """Of the drawing of a kernel's line: bytes, name, signs and classes of each field."""
    found: list[list[str]] = page.page.eval_on_selector_all(
        f"{FIGURES} >> nth={figure} >> .strip .field",
        """all => all.map(one => [
          one.style.gridColumn, one.querySelector('b').textContent,
          one.querySelector('small').textContent, one.className])""",
    )
    return [(one[0], one[1], one[2], one[3]) for one in found]


def choose(page: Page, name: str) -> None:
    """Open the row of some data."""
    page.page.click(f"#sharing-rows > tbody > tr > th button:has-text('{name}')")
    page.wait_until("document.querySelector('#sharing .details') !== null")


def test_rows_have_the_counts_of_both_kernels(opened: Page) -> None:
    assert rows(opened) == [
        ["file.f_count", "1.00", "0.00", "-1.00", "2.00", "0.00", "-2.00", "exact", "true",
         "__fget_files_rcu"],
        ["file.f_ref", "0.00", "1.00", "+1.00", "0.00", "1.00", "+1.00", "exact", "true",
         "__fget_files_rcu"],
        ["signalfd_ctx.sigmask", "1.00", "0.00", "-1.00", "1.00", "0.00", "-1.00", "exact",
         "false", "signalfd_poll"],
        ["user memory", "0.00", "1.00", "+1.00", "0.00", "0.00", "0", "exact", "true", ""],
        ["? in kmem_cache_free", "0.15", "0.15", "?", "0.15", "0.15", "?", "schedule", "",
         "kmem_cache_free"],
        ["all lines", "2.15", "2.15", "0", "3.15", "1.15", "-2.00", "", "", ""],
    ]  # fmt: skip
    said = opened.page.inner_text("#sharing-said")
    assert "2.15 lines change hands per operation on base, 2.15 on new;" in said
    assert "This counts transfers, not time." in said
    # What is a name in the sentence is one on the page.
    assert opened.page.inner_text("#sharing-said code") == "signalfd_ctx.sigmask"
    notes = opened.page.inner_text("#sharing-notes")
    assert "?: the difference is not certain" in notes and "schedule: more than a" in notes
    # What no run of exact counts made is not there.
    for hidden in ("#profile", "#largest", "#accesses"):
        assert opened.page.is_hidden(hidden)


def test_the_first_line_is_drawn_on_both_kernels(opened: Page) -> None:
    """The counter shares its line with what every read loads, and what the other kernel has instead
    does not."""
    assert boxes(opened, 0) == [
        ("1 / span 8", "f_count", "0+1 rw", "field who-many written"),
        ("13 / span 4", "f_mode", "0+1 r", "field who-many"),
        ("17 / span 8", "f_op", "0+1 r", "field who-many"),
    ]
    assert boxes(opened, 1) == [("1 / span 8", "f_ref", "0+1 w", "field who-many written")]
    captions = opened.page.locator(f"{FIGURES} figcaption").all_inner_texts()
    assert "the line of file.f_ref, which it has instead" in captions[1]
    labels = [one.get_attribute("aria-label") for one in opened.page.locator("[role=img]").all()]
    told = [one for one in labels if one and one.startswith("Line of 64 bytes")]
    assert told == [
        "Line of 64 bytes on base. Bytes 0-7: file.f_count, read and written by vCPUs 0+1. "
        "Bytes 12-15: file.f_mode, read by vCPUs 0+1. Bytes 16-23: file.f_op, read by vCPUs 0+1.",
        "Line of 64 bytes on new. Bytes 0-7: file.f_ref, written by vCPUs 0+1.",
    ]


def test_a_box_stands_at_its_bytes(opened: Page) -> None:
    """As wide as its bytes of the strip, from where they begin."""
    places = opened.page.evaluate(
        """() => [...document.querySelector('#sharing .strip').children].slice(0, 3).map(one => {
          const strip = one.parentElement.getBoundingClientRect();
          const box = one.getBoundingClientRect();
          return [box.left - strip.left, box.width].map(part => 64 * part / strip.width); })"""
    )
    due = [(0, 8), (12, 4), (16, 8)]
    for (left, width), (offset, size) in zip(places, due, strict=True):
        assert left == pytest.approx(offset, abs=0.15) and width == pytest.approx(size, abs=0.15)


def test_false_sharing_has_two_colours_and_two_letters(opened: Page) -> None:
    choose(opened, "signalfd_ctx.sigmask")
    assert [one[2:] for one in boxes(opened, 0)] == [
        ("0 w", "field who-0 written"),
        ("1 w", "field who-1 written"),
    ]
    colours = opened.page.eval_on_selector_all(
        f"{FIGURES} .field", "all => all.map(one => getComputedStyle(one).borderTopColor)"
    )
    assert len(set(colours)) == 2
    assert "no line of this data changes hands" in opened.page.inner_text(f"{FIGURES} >> nth=1")


def test_what_is_behind_a_row(opened: Page) -> None:
    said = re.sub(r"\s+", " ", opened.page.inner_text("#sharing .details"))
    assert "By vCPU, in each of its own operations" in said
    assert "0-7 file.f_count 0+1: 1.00 0+1: 1.00" in said
    assert "12-15 file.f_mode 0+1: 5.00" in said
    assert "atomic_long_inc_not_zero in __fget_files_rcu 2.00 0.00" in said
    assert "loads of bytes that nobody writes, per op base new file.f_mode 1.00 0.00" in said
    assert "base: 1 line; 1.00 fetches to read, 1.00 upgrades, 1.00 locked instructions" in said
    choose(opened, "? in kmem_cache_free")
    said = opened.page.inner_text("#sharing .details")
    assert "new: no exact difference: lines are recycled" in said
    assert said.count("many lines were recorded as one sum") == 2


def test_keys_open_and_close_a_row(opened: Page) -> None:
    page = opened.page
    first = page.locator("#shared-row-0 button.link").first
    first.focus()
    assert first.get_attribute("aria-expanded") == "true"
    page.keyboard.press("Enter")
    opened.wait_until("document.querySelector('#sharing .details') === null")
    opened.wait_until("document.activeElement.closest('tr')?.id === 'shared-row-0'")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    opened.wait_until("document.querySelector('#shared-row-1.open') !== null")
    # It is a view that can be linked.
    assert "line=file.f_ref" in page.url
    page.reload()
    opened.wait_until("document.querySelector('#shared-row-1.open') !== null")
    opened.requests[:] = [opened.url]


def test_parts_of_a_field_are_one_box() -> None:
    """A lock of which some code writes a byte; neighbours without a name stay apart."""

    def use(offset: int, size: int, name: str, stores: list[int]) -> LineField:
        return LineField(offset=offset, size=size, name=name, loads=[0, 0], stores=stores)

    fields = [
        use(0, 1, "lock", [1, 1]), use(0, 4, "lock", [2, 0]), use(4, 4, "lock", [1, 1]),
        use(8, 8, "", [1, 0]), use(16, 8, "", [0, 1]), use(24, 4, "a", [1, 0]),
        use(28, 4, "a", [0, 1]), use(30, 4, "b", [0, 1]),
    ]  # fmt: skip
    found = [(one.offset, one.size, one.name, one.stores) for one in page_sharing.joined(fields)]
    assert found == [
        (0, 8, "lock", [4, 2]),
        (8, 8, "", [1, 0]),
        (16, 8, "", [0, 1]),
        (24, 4, "a", [1, 0]),
        (28, 4, "a", [0, 1]),
        (30, 4, "b", [0, 1]),
    ]


def test_what_overlaps_lies_in_two_lanes_and_what_is_rare_is_broken(
    browser: Any, tmp_path: Path
) -> None:
    wide = Site("f_wide", 1, "elsewhere", type="file", offset=4)
    own = counted(COUNT, reads=True)
    on = [*own.on, On(wide, 1, 4, count=1), On(FREED, 0, 63, size=1)]
    lines = [own._replace(on=on)]
    size, fields = LAYOUTS["file"]
    layouts = {"file": (size, {**fields, "f_wide": (4, 8)})}
    made.session(tmp_path / "made.profdiff", {"base": [lines]}, layouts, ops=4 * OPS)
    found = LazyFindings.of(Session.open(tmp_path / "made.profdiff")).findings
    page = opened_page(browser, tmp_path, found)
    signs = {one[0]: one[1:] for one in boxes(page, 0)}
    assert signs["5 / span 8"] == ("file.f_wide", "1 r", "field who-1 rare")
    assert signs["64 / span 1"][1:] == ("0 r", "field who-0")
    lanes = page.page.eval_on_selector_all(
        f"{FIGURES} >> nth=0 >> .field", "all => all.map(one => one.style.gridRow)"
    )
    assert sorted(set(lanes)) == ["1", "2"]
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "beside"), [(400, 16), (800, 32), (1440, 64)])
def test_it_fits_the_screen(
    browser: Any, tmp_path: Path, width: int, beside: int, scheme: str
) -> None:
    page = opened_page(browser, tmp_path, findings(tmp_path), width)
    page.page.emulate_media(color_scheme=scheme)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.page.locator("#sharing .scroll.overfull").count() == 0
    strips = page.page.locator(f"{FIGURES} >> nth=0 >> .strip")
    assert strips.count() == 64 // beside
    assert {len(one) for one in [boxes(page, 0)]} == {3}
    # The difference is always there, and the counts where there is room.
    assert page.page.is_visible("#sharing-rows th:has-text('delta') >> nth=0")
    assert page.page.is_visible("#sharing-rows th:has-text('base') >> nth=0") is (width > 500)
    page.close()


def test_turning_a_screen_draws_the_line_anew(browser: Any, tmp_path: Path) -> None:
    page = opened_page(browser, tmp_path, findings(tmp_path), 1280)
    page.page.set_viewport_size({"width": 420, "height": 900})
    page.wait_until(f"document.querySelector('{FIGURES}').querySelectorAll('.strip').length === 4")
    page.close()


def test_lines_of_128_bytes(browser: Any, tmp_path: Path) -> None:
    page = opened_page(browser, tmp_path, findings(tmp_path, line_size=128))
    assert page.page.locator(f"{FIGURES} >> nth=0 >> .strip").count() == 2
    marks = page.page.locator(f"{FIGURES} >> nth=0 >> .mark").all_inner_texts()
    assert marks == [str(byte) for byte in range(0, 128, 8)]
    page.close()


def test_one_kernel_and_three(browser: Any, tmp_path: Path) -> None:
    page = opened_page(browser, tmp_path, findings(tmp_path, {"base": kernels()["base"]}))
    assert rows(page)[0] == ["file.f_count", "1.00", "2.00", "exact", "true", "__fget_files_rcu"]
    page.close()
    folder = tmp_path / "three"
    folder.mkdir()
    page = opened_page(browser, folder, findings(folder, {**kernels(), "third": kernels()["base"]}))
    heads = page.page.locator("#sharing-rows thead th.number span").all_inner_texts()
    assert heads == ["base", "new", "delta", "third", "delta"] * 2
    assert page.page.locator(FIGURES).count() == 3
    page.close()


def test_a_function_leads_to_its_code(browser: Any, tmp_path: Path) -> None:
    """Where the page has the function, from exact counts."""
    stacks = {
        label: [([frame("__fget_files_rcu")], "__fget_files_rcu", True, [count])]
        for label, count in (("base", 10), ("new", 20))
    }
    found = replace(findings(tmp_path), comparisons=[compare(stacks, ops=10)])
    page = opened_page(browser, tmp_path, found)
    page.page.click("#shared-row-0 .what button:text-is('__fget_files_rcu')")
    assert page.page.inner_text("#sandwich-name") == "__fget_files_rcu"
    page.close()


def test_where_nothing_is_recorded_there_is_no_section(browser: Any, tmp_path: Path) -> None:
    exact_session(tmp_path / "without.profdiff")
    found = LazyFindings.of(Session.open(tmp_path / "without.profdiff")).findings
    assert page_sharing.page_sharing(found) == (None, "")
    page = Page(browser, found, tmp_path, 1280)
    assert page.page.is_hidden("#sharing") and page.page.locator("#held-sharing").count() == 0
    page.close()


def test_where_nothing_changes_hands_a_sentence_says_it(browser: Any, tmp_path: Path) -> None:
    page = opened_page(browser, tmp_path, findings(tmp_path, {"base": [[]], "new": [[]]}))
    assert page.page.inner_text("#sharing-said").startswith("No line of the cache changes hands")
    assert page.page.is_hidden("#sharing-table")
    page.close()


def many(number: int) -> Lines:
    """So many lines of fields of their own."""
    sites = [Site(f"f{n}", 1, f"function_{n}", does=BOTH, type=f"type_{n}") for n in range(number)]
    lines = [
        MadeLine(HEAP + 64 * n, [On(site, vcpu, 0, store=True, misses=3) for vcpu in (0, 1)])
        for n, site in enumerate(sites)
    ]
    return {"base": [lines], "new": [lines]}


def test_a_page_holds_the_first_rows(browser: Any, tmp_path: Path) -> None:
    found = findings(tmp_path, many(130))
    page = opened_page(browser, tmp_path, found)
    assert len(rows(page)) == 15 + 1
    page.page.click("#sharing-more")
    page.wait_until("document.querySelectorAll('#sharing-rows > tbody > tr').length > 16")
    assert len(rows(page)) == page_sharing.MOST + 1
    assert "30 more are not on the page" in page.page.inner_text("#sharing-status")
    page.close()


def test_a_page_without_room_holds_fewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(tmp_path, many(40))
    whole = len(page_sharing.page_sharing(found).elements)
    assert whole < page_sharing.ROOM
    monkeypatch.setattr(page_sharing, "ROOM", whole - 100)
    less = page_sharing.page_sharing(found)
    assert less.held is not None and less.held.rows < 40 and len(less.elements) <= whole - 100


def test_the_bounds_are_those_of_the_document() -> None:
    told = (ROOT / "docs/sharing.md").read_text()
    most, room = page_sharing.MOST, page_sharing.ROOM // 1000
    assert f"The page holds {most} rows, each with {page_sharing.FUNCTIONS} functions" in told
    assert f"in at most {room} kB" in told


def test_names_of_strangers_are_text(browser: Any, tmp_path: Path) -> None:
    lines = [
        MadeLine(
            HEAP + 64 * n,
            [
                On(MASK._replace(path=text, function=text, type=text), vcpu, 8 * vcpu, store=True)
                for vcpu in (0, 1)
            ]
            + [On(FREED._replace(function=text), 0, 24)],
        )
        for n, text in enumerate([*HOSTILE, "`", "x" * 3000])
    ]
    found = findings(tmp_path, {"base": [lines], "new": [[]]})
    page = opened_page(browser, tmp_path, found, 1000)
    for number in range(len(lines)):
        if page.page.locator(f"#shared-row-{number}.open").count() == 0:
            page.page.click(f"#shared-row-{number} th button")
            page.wait_until(f"document.querySelector('#shared-row-{number}.open') !== null")
        assert page.page.locator("#sharing :is(img, script)").count() == 0
        assert "\u202e" not in page.page.inner_html("#sharing")
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 1000
    assert page.page.title() == "profdiff: base against new"
    assert HOSTILE[0] in page.page.inner_text("#sharing")
    assert HOSTILE[1] not in html.render(found)
    page.close()


def test_every_transfer_is_on_the_page(opened: Page) -> None:
    """What the page unpacks has the sums of the lines."""
    for label, (lines,) in kernels().items():
        total = sum(one.transfers for one in lines)
        column = 1 if label == "base" else 2
        assert float(rows(opened)[-1][column]) == total / OPS
        assert sum(float(row[column]) for row in rows(opened)[:-1]) == pytest.approx(total / OPS)
    assert not re.search(r"\bNaN\b|undefined", opened.page.inner_text("#sharing"))


def test_locks_that_are_held_stand_below_the_table(browser: Any, tmp_path: Path) -> None:
    taken, released = (
        Site(
            "count.counter", 1, name, does=BOTH, type="rw_semaphore", nested=["rw_semaphore:count"]
        )
        for name in ("down_write", "up_write")
    )
    on = [On(taken, vcpu, 0, store=True, locked=True) for vcpu in (0, 1)]
    calls = Site("", 1, "do_mmap<b>").hidden()

    def lines(instructions: int) -> list[list[MadeLine]]:
        hold = Hold(taken, released, calls, instructions=instructions)
        return [[MadeLine(HEAP, on, holds=[hold])]]

    kernels_of = {"base": lines(20 * OPS), "new": lines(50 * OPS)}
    page = opened_page(browser, tmp_path, findings(tmp_path, kernels_of, instructions=100 * OPS))
    cells = page.page.eval_on_selector_all(
        "#sharing-locks tbody > tr > *", "every => every.map(one => one.innerText)"
    )
    numbers = ["20.00", "20%", "50.00", "50%", "+30.00"]
    assert cells == ["rw_semaphore", *numbers, "alone", "do_mmap<b>"]
    assert "at most 2.0 vCPUs" in page.page.inner_text("#sharing-locks")
    page.close()


def test_without_locks_nothing_stands_there(opened: Page) -> None:
    assert not opened.page.inner_text("#sharing-locks")
