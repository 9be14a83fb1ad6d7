"""The page and the site of a suite, in a real Chromium."""

import contextlib
import functools
import gzip
import http.server
import json
import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest
from browsed_page import HOSTILE, call_stacks
from made_suite import suite
from synthetic import compare, example

from profdiff.evidence.findings import Findings
from profdiff.reports import documents
from profdiff.reports.page import html
from profdiff.reports.page import suite as page_suite
from profdiff.reports.page.site import CellFiles, write
from profdiff.reports.page.suite import Packer, plain_report, render
from profdiff.views.document import Document
from profdiff.views.suite import SuiteCell, SuiteDocument

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
REPORTS = (example(), call_stacks())


def report(number: int, name: str = "") -> Document:
    """One of two reports; ``name``: of all functions of the first."""
    rows = REPORTS[number % 2]
    if name:
        rows = {
            label: [
                ([(name, *one[1:]) for one in frames], symbol, side, counts)
                for frames, symbol, side, counts in kernel
                if not isinstance(frames, str)
            ]
            for label, kernel in rows.items()
        }
    return documents.session_document(Findings.of_recordings([compare(rows, ops=100)]))


Made = TypeVar("Made")


def cells(
    shown: SuiteDocument, make: Callable[[SuiteCell, Document], Made], name: str = ""
) -> Iterator[tuple[SuiteCell, Made | None]]:
    """What is made of each cell's report; the last cell has none."""
    for number, cell in enumerate(shown.cells):
        last = number == len(shown.cells) - 1
        yield cell, None if last else make(cell, report(number, name))


def rendered(shown: SuiteDocument, name: str = "") -> str:
    """The page."""
    return render(shown, cells(shown, lambda _, one: plain_report(one), name))


class Opened:
    """A page that keeps what went wrong."""

    def __init__(self, browser: Any, address: str, width: int = 1300) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.problems: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.goto(address)
        self.page.wait_for_selector("html[data-ready]")

    def texts(self, selector: str) -> list[str]:
        made: list[str] = self.page.eval_on_selector_all(
            selector, "all => all.filter(one => !one.hidden).map(one => one.textContent)"
        )
        return made

    def close(self) -> None:
        assert self.problems == []
        self.page.close()


@pytest.fixture(scope="module")
def one_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    shown = suite()
    file = tmp_path_factory.mktemp("suite") / "suite.html"
    file.write_text(rendered(shown))
    return file.as_uri()


def test_the_overview_says_all_without_colour(browser: Any, one_file: str) -> None:
    opened = Opened(browser, f"{one_file}#sort=workload")
    shown = suite()
    assert opened.page.inner_text("#suite-banner") == "Instructions, not time."
    assert opened.page.inner_text("#suite-noise") == "A/A: 0 of 158 cells differ."
    assert opened.texts("#suite-sentence span") == [one.sentence for one in shown.summaries]
    assert opened.texts("#heat tbody tr:not(.group) th a, #heat tbody th span") == [
        cell.name for cell in shown.cells
    ]
    words = {"=", "+160.0%", "-40.0%", "+8.0%", "not there"}
    assert words <= {
        *opened.texts("#heat .change span"),
        *opened.texts("#heat .missing"),
    }
    for cell, change in zip(
        shown.cells, opened.texts("#heat tbody tr:not(.group) td:nth-child(4) span"), strict=True
    ):
        delta = cell.changes["new"].delta
        assert change[0] == ("+" if delta > 0 else "-" if delta < 0 else "=")
    # Weight and line tell a relevant change from another one, and more from less.
    look = """cells => cells.map(cell => [getComputedStyle(cell.firstChild).fontWeight,
      getComputedStyle(cell).borderLeftStyle, cell.firstChild.textContent[0]])"""
    relevant = opened.page.eval_on_selector_all("#heat .relevant", look)
    assert {tuple(one) for one in relevant} == {("700", "solid", "+"), ("700", "dashed", "-")}
    opened.close()


def test_keys_lead_from_the_search_to_a_cell(browser: Any, one_file: str) -> None:
    opened = Opened(browser, one_file)
    page = opened.page
    page.keyboard.press("/")
    page.keyboard.type("mprotect/anon,64k")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.textContent") == "mprotect/anon,64k"
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.id") == "suite-find"
    # Once opens it; its own page has a search of its own.
    page.keyboard.press("Enter")
    page.wait_for_selector("#back-cell:visible")
    assert page.inner_text("#back-cell").startswith("mprotect/anon,64k")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    opened.close()


def test_search_tag_filter_and_order_are_in_the_address(browser: Any, one_file: str) -> None:
    opened = Opened(browser, one_file)
    page = opened.page
    rows = "#heat tbody tr:not(.group)"
    page.select_option("#suite-sort", "workload")
    page.keyboard.press("/")
    page.keyboard.type("mprotect/anon")
    assert opened.texts(f"{rows} th") == [
        f"mprotect/anon,{size}" for size in ("4k", "64k", "1m", "64m")
    ]
    page.fill("#suite-find", "")
    page.select_option("#suite-tag", "misc")
    assert page.locator(rows).count() == 30
    page.select_option("#suite-show", "missing")
    assert opened.texts(f"{rows} th") == ["io-uring"]
    page.select_option("#suite-tag", "")
    page.select_option("#suite-show", "relevant")
    page.select_option("#suite-sort", "more:new")
    relevant = [
        cell for cell in suite().cells if any(one.relevant for one in cell.changes.values())
    ]
    assert page.locator(rows).count() == len(relevant)
    largest = sorted((cell.changes["new"].relative or 0 for cell in relevant), reverse=True)
    shown = opened.texts(f"{rows} td:nth-child(4) span")
    assert [one == "=" for one in shown] == [not one for one in largest]
    assert shown[0] == "+160.0%"
    assert shown[-1] == "-40.0%"
    url = page.url
    opened.close()
    again = Opened(browser, url)
    assert again.texts(f"{rows} td:nth-child(4) span") == shown
    again.close()


def test_cells_come_by_the_size_of_their_change(browser: Any, one_file: str) -> None:
    """Of the last kernel, either way, as a ratio; with its seat, where there is one."""
    opened = Opened(browser, one_file)
    shown = suite()
    sizes = {cell.name: abs(math.log1p(cell.changes["new"].relative or 0)) for cell in shown.cells}
    names = opened.texts("#heat tbody th")
    assert names == sorted(sizes, key=lambda name: (-sizes[name], name))
    assert opened.texts("#heat tbody td:nth-child(4) span")[0] == "+160.0%"
    assert opened.page.locator("#heat tr.group").count() == 0
    # The label says already that it is the base.
    assert opened.texts("#heat thead th")[:4] == ["cell", "base", "mid", "new"]
    seats = {cell.name: cell.seats["new"].name for cell in shown.cells if "new" in cell.seats}
    first = [cell.name for cell in shown.cells if cell.name in seats]
    most = dict(zip(names, opened.texts("#heat td.most"), strict=True))
    assert first
    assert all(most[name].startswith(seats[name]) and "(80%)" in most[name] for name in first)
    opened.close()


def test_a_cell_opens_and_closes_by_keys(browser: Any, one_file: str) -> None:
    opened = Opened(browser, f"{one_file}#sort=workload")
    page = opened.page
    page.focus("#heat a >> nth=0")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#back:not([hidden])")
    assert "cell=mmap%2Fanon%2C64k" in page.url
    assert page.title().startswith("mmap/anon,64k: profdiff: base against new")
    assert page.is_hidden("#overview")
    assert "helper" in opened.texts("#functions td.name button")
    assert page.evaluate("document.activeElement.id") == "back-link"
    # A view of the cell can be linked.
    page.fill("#search", "help")
    # The address follows what is typed a little later.
    page.wait_for_function("location.hash.includes('cell=mmap%2Fanon%2C64k&search=help')")
    linked = Opened(browser, page.url)
    assert linked.page.input_value("#search") == "help"
    linked.close()
    page.focus("#back-link")
    page.keyboard.press("Enter")
    page.wait_for_selector("#overview:not([hidden])")
    assert page.evaluate("document.activeElement.textContent") == "mmap/anon,64k"
    assert page.is_hidden("main")
    page.click("#heat a >> nth=0")
    page.wait_for_selector("#back:not([hidden])")
    assert "change_pte_range" in opened.texts("#functions td.name button")
    page.go_back()
    page.wait_for_selector("#overview:not([hidden])")
    # What has no report cannot be opened.
    assert page.locator("#heat tbody tr >> nth=-1 >> a").count() == 0
    opened.close()


@pytest.mark.parametrize("width", [400, 900, 1300])
def test_no_screen_is_too_narrow_for_a_suite(browser: Any, one_file: str, width: int) -> None:
    for scheme in ("light", "dark"):
        opened = Opened(browser, one_file, width)
        opened.page.emulate_media(color_scheme=scheme)
        assert opened.page.evaluate(OVERFLOW) <= 0
        opened.close()


def test_functions_over_all_cells(browser: Any, one_file: str) -> None:
    opened = Opened(browser, one_file)
    names = opened.texts("#over tbody th code")
    assert names == [one.name for one in suite().functions]
    first = opened.texts("#over tbody tr >> nth=0 >> td")
    assert first == ["+90.0", "20", "0", "+90.0", "20", "0"]
    opened.close()


def hostile() -> SuiteDocument:
    shown = suite(["base", "new"])
    text = HOSTILE[1]
    cells = [
        msgspec.structs.replace(cell, about=text, op=text[:60], tags=[text], command=text)
        for cell in shown.cells[:3]
    ]
    return msgspec.structs.replace(shown, cells=cells, name=text, banner=text, remarks=HOSTILE)


def test_hostile_texts_are_texts(browser: Any, tmp_path: Path) -> None:
    shown = hostile()
    file = tmp_path / "suite.html"
    file.write_text(rendered(shown, HOSTILE[0]))
    opened = Opened(browser, file.as_uri())
    opened.page.click("#heat a >> nth=0")
    opened.page.wait_for_selector("#back:not([hidden])")
    assert "owned" not in opened.page.title().partition(":")[0]
    assert opened.page.locator("img").count() == 0
    opened.close()
    write(tmp_path / "site", shown, cells(shown, CellFiles.of, HOSTILE[0]))
    for name in ("index", "cells/mmap/anon,4k"):
        opened = Opened(browser, (tmp_path / f"site/{name}.html").as_uri())
        assert opened.page.title() != "owned"
        assert opened.page.locator("img[src=x]").count() == 0
        opened.close()


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """A web server on loopback."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("way", ["file", "server"])
def test_a_site_works_from_files_and_from_a_server(browser: Any, tmp_path: Path, way: str) -> None:
    shown = suite()
    shown = msgspec.structs.replace(shown, cells=shown.cells[:4])
    site = tmp_path / "a site#1"
    write(site, shown, cells(shown, CellFiles.of))
    with served(site) if way == "server" else contextlib.nullcontext(site.as_uri()) as top:
        opened = Opened(browser, f"{top}/index.html")
        opened.page.click("text=mmap/anon,64k")
        opened.page.wait_for_selector("html[data-ready] #functions td.name")
        assert opened.page.url == f"{top}/cells/mmap/anon,64k.html"
        assert "helper" in opened.texts("#functions td.name button")
        opened.page.click("#back-link")
        opened.page.wait_for_selector("#heat a")
        assert opened.page.url == f"{top}/index.html"
        opened.close()
    beside = json.loads((site / "cells/mmap/anon,64k.json").read_text())
    assert beside == json.loads(documents.encode(report(1)))
    assert json.loads((site / "index.json").read_text())["schema"] == shown.schema


def test_a_packed_report_is_the_same_unpacked(browser: Any, one_file: str) -> None:
    """All but code and results, which a page shows nothing of."""
    packer = Packer()
    shown = [report(0), report(1), report(0)]
    packed = [json.loads(gzip.decompress(packer.pack(plain_report(one)) or b"")) for one in shown]
    page = browser.new_page()
    script = html.joined_modules("suite").partition("\nasync function startSuite")[0]
    page.add_script_tag(content=f"{script};globalThis.unpackedCell = unpackedCell")
    for one, text in zip(shown, packed, strict=True):
        made = page.evaluate(
            "([cell, shared]) => unpackedCell(cell, shared)",
            [text, msgspec.to_builtins(packer.shared)],
        )
        wanted = json.loads(documents.encode(one))
        wanted["experiment"]["results"] = []
        for metric in wanted["metrics"]:
            metric |= {"code": None}
        assert {name: made[name] for name in wanted} == wanted
    page.close()


def test_what_has_no_room_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = len(Packer().pack(plain_report(report(1))) or b"")
    sizes = {}
    for room in (100_000, 0):
        monkeypatch.setattr(page_suite, "ROOM", room)
        sizes[room] = Packer().pack(plain_report(report(1)))
    assert sizes[0] is None
    assert len(sizes[100_000] or b"") == whole


@pytest.mark.slow
def test_all_cells_together_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_suite, "ROOM_OF_ALL", 40_000)
    packer = Packer(1000)
    made = [packer.pack(plain_report(report(1))) for _ in range(1000)]
    assert sum(len(one) for one in made if one) <= 40_000
    assert None in made


def test_a_suite_of_one_kernel(browser: Any, tmp_path: Path) -> None:
    shown = suite(["base"])
    file = tmp_path / "suite.html"
    file.write_text(render(shown, ((cell, None) for cell in shown.cells)))
    opened = Opened(browser, file.as_uri())
    assert opened.page.inner_text("#suite-sentence") == "One kernel: base."
    assert opened.page.is_hidden("#over")
    assert opened.page.locator("#heat a").count() == 0
    opened.close()
