"""The data that kernels access, in a real Chromium: its rows, how sure they are, the way to the
functions, and from an instruction to its row."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from browsed_page import HOSTILE, Page
from made_accesses import LOAD, STORE, Layout, Site, session
from support import ROOT
from synthetic_code import START, annotation, instruction, shown
from synthetic_session import exact_session

from profdiff.evidence.findings import Findings, LazyFindings
from profdiff.reports.page import accesses, html
from profdiff.session.session import Session
from profdiff.views.annotation.records import Access, Annotation

OPS = 10
BOTH, STORES = frozenset({LOAD, STORE}), frozenset({STORE})
LAYOUTS: dict[str, Layout] = {"vma": (128, {"flags": (32, 8), "file": (96, 8), "seq": (64, 4)})}
# By label, field and whether it is a store: how often it is accessed.
COUNTS = {
    "base": {"vma.flags load": 560, "vma.file load": 90, "vma.seq load": 40, "vma.seq store": 0},
    "new": {"vma.flags load": 1937, "vma.file load": 30, "vma.seq load": 41, "vma.seq store": 70},
}
Kernels = Mapping[str, Sequence[Site]]


def kernels() -> dict[str, list[Site]]:
    """A field of which more is certain, one of which less is, one of which nothing is; the stack;
    and what is not known."""

    def site(path: str, count: int, offset: int, **more: Any) -> Site:
        return Site(path, count, type="vma", offset=offset, **more)

    slot = Site("", 300, kind="spill", type="", function="work")
    return {
        "base": [
            site("flags", 560, 32, function="work"),
            site("file", 90, 96, function="open"),
            site("seq", 40, 64, function="lock"),
            Site("", 500, "lock", does=STORES).hidden("void-pointer"),
            slot,
        ],
        "new": [
            site("flags", 1937, 32, function="test", inlined="work", file="include/mm.h"),
            site("file", 30, 24, function="open"),
            site("seq", 41, 64, function="lock"),
            site("seq", 70, 64, function="lock", does=STORES),
            Site("", 450, "lock", does=STORES).hidden("void-pointer"),
            slot._replace(count=700),
        ],
    }


def findings(folder: Path, made: Kernels | None = None) -> Findings:
    """Those of a session that keeps what its kernels access."""
    session(folder / "made.profdiff", made or kernels(), LAYOUTS, ops=OPS)
    return LazyFindings.of(Session.open(folder / "made.profdiff")).findings


def opened_page(
    browser: Any, folder: Path, found: Findings, code: Annotation | None = None, width: int = 1280
) -> Page:
    """With its data drawn. ``code``: that of ``work``."""
    with shown({"work": code}) if code else nullcontext():
        page = Page(browser, found, folder, width)
    if not page.page.evaluate("document.querySelector('#accesses').hidden"):
        page.wait_until("document.querySelector('#accesses').dataset.ready")
    return page


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Page]:
    """The page of these kernels."""
    page = opened_page(browser, tmp_path, findings(tmp_path))
    yield page
    page.close()


def rows(page: Page, table: str = "data") -> list[list[str]]:
    """What stands in each row of a table, but for what is open."""
    found: list[list[str]] = page.page.eval_on_selector_all(
        f"#accesses-{table}-rows > tbody > tr:not(.details)",
        """lines => lines.map(line => [...line.children].map(cell =>
          cell.innerText.replace(/\\s+/g, ' ').trim()))""",
    )
    return found


def numbers(page: Page, name: str) -> list[str]:
    """Those of a row."""
    (row,) = [row for row in rows(page) if row[0] == name]
    return row[1:5]


def test_rows_have_the_counts_of_both_kernels(opened: Page) -> None:
    def per_op(label: str, name: str) -> str:
        return f"{COUNTS[label][name] / OPS:,.2f}"

    found = {row[0]: row[1:3] for row in rows(opened)}
    assert found == {name: [per_op("base", name), per_op("new", name)] for name in COUNTS["base"]}
    assert numbers(opened, "vma.flags load") == ["56.00", "193.70", "+137.70", "+245.9%"]
    assert rows(opened, "stack") == [
        ["slots of the stack without a name load", "30.00", "70.00", "+40.00", "+133.3%", "work"]
    ]
    assert rows(opened, "unresolved") == [
        ["void pointer store", "50.00", "45.00", "-5.00", "-10.0%", "lock"]
    ]
    opened.page.select_option("#unit", "absolute")
    assert numbers(opened, "vma.flags load")[:3] == ["560", "1,937", "+1,377"]
    opened.page.select_option("#unit", "share")
    whole = {label: sum(s.count for s in sites) for label, sites in kernels().items()}
    assert numbers(opened, "vma.flags load")[0] == f"{5600 / 100 / whole['base'] * 10:.2%}"
    status = opened.page.inner_text("#accesses-status")
    part = {label: f"{500 - 50 * (label == 'new')}" for label in whole}
    told = [f"{int(part[label]) / whole[label]:.1%}" for label in ("base", "new")]
    assert " and ".join(told) in status and "6 of 6 rows" in status


def test_what_is_not_certain_has_no_number(opened: Page) -> None:
    """500 stores to nobody knows what can be of the field as well."""
    assert numbers(opened, "vma.seq store") == ["0.00", "7.00", "?", "?"]
    notes = opened.page.inner_text("#accesses-notes")
    assert "?: unresolved or ambiguous" in notes and "~" not in notes
    opened.page.click("#accesses-data-rows button:has-text('vma.seq') >> nth=1")
    opened.wait_until("document.querySelector('#accesses .details')")
    said = opened.page.inner_text("#accesses .details")
    # As low as 7 - 50 per op, as high as 7 + 45.
    assert "The true difference is between -43.00 and +52.00 per op." in said
    assert "unresolved accesses in the same functions" in said


def test_a_row_leads_to_its_functions(opened: Page) -> None:
    assert [row[-1] for row in rows(opened) if row[0] == "vma.flags load"] == ["work"]
    opened.page.click("#accesses-data-rows button:has-text('vma.flags')")
    opened.wait_until("document.querySelector('#accesses .details')")
    said = opened.page.inner_text("#accesses .details").replace("\t", " ")
    assert "Offset 32 bytes." in said and "aligned to one: 0." in said
    parts = opened.page.eval_on_selector_all(
        "#accesses .details table tr", "all => all.map(one => one.innerText.replace(/\\s+/g, ' '))"
    )
    assert parts[1:] == [
        "test in work 0.00 193.70 +193.70 new",
        "work 56.00 0.00 -56.00 vanished",
    ]
    assert opened.page.get_attribute("#accesses tr.open button", "aria-expanded") == "true"
    opened.page.click("#accesses .details button:text-is('test')")
    assert opened.page.inner_text("#sandwich-name") == "test"


def test_where_a_field_moved(opened: Page) -> None:
    opened.page.click("#accesses-data-rows button:has-text('vma.file')")
    opened.wait_until("document.querySelector('#accesses .details')")
    said = opened.page.inner_text("#accesses .details")
    assert "Offset 96 → 24 bytes." in said and "aligned to one: 1 → 0." in said


def test_rows_are_found_and_sorted(opened: Page) -> None:
    page = opened.page
    # What is certain comes first, then what is not.
    assert [row[0] for row in rows(opened)] == [
        "vma.flags load", "vma.file load", "vma.seq load", "vma.seq store"
    ]  # fmt: skip
    page.fill("#find", "SEQ")
    assert [row[0] for row in rows(opened)] == ["vma.seq load", "vma.seq store"]
    page.select_option("#does", "store")
    assert [row[0] for row in rows(opened)] == ["vma.seq store"]
    assert rows(opened, "stack") == []
    page.select_option("#does", "")
    # The name of a function that accesses it.
    page.fill("#find", "open")
    assert [row[0] for row in rows(opened)] == ["vma.file load"]
    assert "find=open" in page.url
    page.fill("#find", "")
    page.click("#accesses-data-rows th button:text-is('base')")
    column = [float(row[1]) for row in rows(opened)]
    assert column == sorted(column, reverse=True)
    page.click("#accesses-data-rows th button:text-is('base')")
    assert [float(row[1]) for row in rows(opened)] == column[::-1]
    heads = page.locator("#accesses-data-rows th[aria-sort=ascending]")
    assert heads.count() == 1
    page.click("#accesses-data-rows th button:text-is('field or variable')")
    assert rows(opened)[0][0] == "vma.file load"


def test_rows_are_fields_types_or_lines(opened: Page) -> None:
    opened.page.select_option("#group", "type")
    loads = [
        sum(count for name, count in COUNTS[label].items() if "load" in name) for label in COUNTS
    ]
    assert numbers(opened, "vma load")[:2] == [f"{count / OPS:.2f}" for count in loads]
    opened.page.select_option("#group", "line")
    # Of base, file is in line 1; of new, in line 0.
    assert numbers(opened, "vma, line 0 load")[:2] == ["56.00", f"{(1937 + 30) / OPS:.2f}"]
    assert rows(opened, "stack")


def accessing() -> Annotation:
    """Code of work, whose instruction loads the flags."""
    of = {"load": True, "size": 8, "symbol": "", "alternatives": [], "reason": ""}
    flags = Access(store=False, kind="field", type="vma", field="flags", **of)
    other = Access(store=False, kind="field", type="vma", field="gone", **of)
    push = Access(store=True, kind="push", type="", field="", **of)
    counts = {"base": 10, "new": 20}
    return annotation(
        [
            instruction(START, counts, "push %rbx", accesses={"base": [push], "new": [push]}),
            instruction(START + 4, counts, accesses={"base": [flags], "new": [flags]}),
            instruction(START + 8, counts, "mov (%rax),%rcx", accesses={"new": [other]}),
        ]
    )


@pytest.mark.parametrize("way", ["click", "key"])
def test_an_instruction_leads_to_its_row(browser: Any, tmp_path: Path, way: str) -> None:
    page = opened_page(browser, tmp_path, findings(tmp_path), accessing())
    page.page.click("#functions button.link:text-is('work')")
    page.wait_until("document.querySelector('#code-list .code')")
    cells = page.page.eval_on_selector_all(
        "#code-list .code .text", "all => all.map(one => one.innerText.split('\\n'))"
    )
    assert [cell[1:] for cell in cells] == [[], [], ["vma.flags"], ["vma.flags"], [], ["vma.gone"]]
    # Of a field that the page has no row of, there is nothing to go to.
    assert page.page.locator("#code-list button.accessed").count() == 2
    if way == "click":
        page.page.click("#code-list button.accessed >> nth=1")
    else:
        page.page.focus("#code-list")
        page.page.keyboard.press("Home")
        page.page.keyboard.press("d")
        assert "access=" not in page.page.url
        for _ in range(2):
            page.page.keyboard.press("ArrowDown")
        chosen = page.page.locator("#code-list [aria-selected=true]")
        assert "accesses vma.flags" in chosen.get_attribute("aria-label")
        page.page.keyboard.press("d")
    page.wait_until("document.querySelector('#accesses tr.open')")
    assert page.page.inner_text("#accesses tr.open th").split() == ["vma.flags", "load"]
    page.wait_until("document.activeElement.closest('#accesses tr.open') !== null")
    # It is a view that can be linked.
    page.page.reload()
    page.wait_until("document.querySelector('#accesses tr.open')")
    assert page.page.inner_text("#accesses tr.open th").split() == ["vma.flags", "load"]
    page.requests.clear()
    page.requests.append(page.url)
    page.close()


def test_where_nothing_is_known_there_is_no_section(browser: Any, tmp_path: Path) -> None:
    exact_session(tmp_path / "without.profdiff")
    found = LazyFindings.of(Session.open(tmp_path / "without.profdiff")).findings
    page = opened_page(browser, tmp_path, found)
    assert page.page.is_hidden("#accesses") and page.page.locator("#held-accesses").count() == 0
    page.close()
    found = findings(tmp_path)
    (tmp_path / "made.profdiff/symbols/new.accesses.npz").write_bytes(b"PK")
    page = opened_page(browser, tmp_path, found)
    assert page.page.is_hidden("#accesses")
    page.close()
    shutil.rmtree(tmp_path / "made.profdiff")


def test_any_two_kernels_of_three(browser: Any, tmp_path: Path) -> None:
    made = {**kernels(), "third": kernels()["base"]}
    page = opened_page(browser, tmp_path, findings(tmp_path, made))
    page.page.select_option("#right", "third")
    assert numbers(page, "vma.flags load") == ["56.00", "56.00", "0.00", "0%"]
    # The base on the right: the other way round.
    page.page.select_option("#left", "new")
    page.page.select_option("#right", "base")
    assert numbers(page, "vma.flags load") == ["193.70", "56.00", "-137.70", "-71.1%"]
    # Of two others it is not known how sure a difference is.
    page.page.select_option("#right", "third")
    assert numbers(page, "vma.flags load") == ["193.70", "56.00", "", ""]
    assert "only relative to base" in page.page.inner_text("#accesses-notes")
    page.close()


def test_one_kernel_alone(browser: Any, tmp_path: Path) -> None:
    page = opened_page(browser, tmp_path, findings(tmp_path, {"base": kernels()["base"]}))
    assert rows(page)[0] == ["vma.flags load", "56.00", "work"]
    page.close()


def test_a_page_holds_what_changed_most(browser: Any, tmp_path: Path) -> None:
    """Bounded by rows and by bytes."""
    many = {
        label: [
            Site(f"field_{n}", 10 + n * factor, f"f{n % 50}", type="vma", offset=8 * n)
            for n in range(1500)
        ]
        for label, factor in (("base", 1), ("new", 3))
    }
    found = findings(tmp_path, many)
    held = accesses.page_accesses(found)
    assert held.held is not None
    assert held.held.held["field"] == accesses.MOST < held.held.all["field"] == 1500
    assert len(held.elements) <= accesses.ROOM
    page = opened_page(browser, tmp_path, found)
    assert len(rows(page)) == 15
    assert rows(page)[0][0] == "vma.field_1499 load"
    page.page.click("#accesses-data-more")
    assert len(rows(page)) == 115
    assert "of 1,500 that changed most" in page.page.inner_text("#accesses-status")
    page.close()


def test_a_page_without_room_holds_fewer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(tmp_path)
    whole = len(accesses.page_accesses(found).elements)
    monkeypatch.setattr(accesses, "MOST", 8)
    monkeypatch.setattr(accesses, "ROOM", whole - 100)
    less = accesses.page_accesses(found)
    assert less.held is not None and less.held.held["field"] < less.held.all["field"]
    assert len(less.elements) <= whole - 100
    monkeypatch.setattr(accesses, "ROOM", 100)
    assert accesses.page_accesses(found) == (None, "", {})
    assert 'id="held-accesses"' not in html.render(found)


def test_the_bounds_are_those_of_the_document() -> None:
    told = (ROOT / "docs/types.md").read_text()
    most, parts = accesses.MOST, accesses.PARTS
    assert f"holds the {most} rows of data that changed most and {most // 2} of the stack" in told
    assert f"each with {parts} functions, in at most {accesses.ROOM // 1000} kB" in told


def test_names_of_strangers_are_text(browser: Any, tmp_path: Path) -> None:
    made = {
        label: [
            Site(text, 10 * factor, text, type=text, offset=8 * n) for n, text in enumerate(HOSTILE)
        ]
        for label, factor in (("base", 1), ("new", 2))
    }
    page = opened_page(browser, tmp_path, findings(tmp_path, made))
    page.page.click("#accesses-data-rows tbody th button >> nth=0")
    page.wait_until("document.querySelector('#accesses .details')")
    assert page.page.title() == "profdiff: base against new"
    assert page.page.locator("#accesses :is(img, script, b)").count() == 0
    assert "\u202e" not in page.page.inner_html("#accesses")
    assert HOSTILE[0] in page.page.inner_text("#accesses")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000, 1440])
def test_it_fits_the_screen(browser: Any, tmp_path: Path, width: int, scheme: str) -> None:
    made = kernels()
    long = Site("a_rather_long_member." * 5 + "x", 9, "a_rather_long_function_name" * 3, type="vma")
    made["new"].append(long)
    page = opened_page(browser, tmp_path, findings(tmp_path, made), accessing(), width)
    page.page.emulate_media(color_scheme=scheme)
    page.page.click("#accesses-data-rows tbody th button >> nth=0")
    page.wait_until("document.querySelector('#accesses .details')")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width
    cut = "boxes => boxes.filter(box => box.classList.contains('overfull')).length"
    assert page.page.eval_on_selector_all("#accesses .scroll", cut) == 0
    # The difference is always there, and the counts where there is room.
    assert page.page.is_visible("#accesses-data-rows th:text('delta')")
    assert page.page.is_visible("#accesses-data-rows th:text('base')") is (width > 500)
    page.page.click("#functions button.link:text-is('work')")
    page.wait_until("document.querySelector('#code-list .accessed')")
    # The name stands in its cell, behind the instruction.
    places = page.page.evaluate(
        """() => { const name = document.querySelector('#code-list .right .accessed');
          const boxes = [name, name.parentElement, name.parentElement.querySelector('code')];
          return boxes.map(one => one.getBoundingClientRect()).flatMap(
            ({ left, right }) => [left, right]); }"""
    )
    left, right, _, end, _, code = places
    assert code <= left < right <= end + 1
    colours = "one => [getComputedStyle(one).color, getComputedStyle(document.body).color]"
    assert len(set(page.page.eval_on_selector("#code-list .accessed", colours))) == 2
    page.close()


def test_every_count_is_on_the_page(opened: Page) -> None:
    """What the page unpacks has the sums of the kernels."""
    unpacked = opened.page.evaluate("accessesOf()")
    for label, sites in kernels().items():
        whole = sum(site.count * len(site.does) for site in sites)
        assert unpacked["totals"][label] == whole
        fields = unpacked["rows"]["field"]
        assert sum(fields["counts"][label]) == whole == sum(fields["part_counts"][label])
    assert not re.search(r"\bNaN\b|undefined", opened.page.inner_text("#accesses"))
