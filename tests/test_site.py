"""The site of the documents: made by scripts/site, of recordings that other tests have too."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import made_atlas
import made_repository
import pytest
from browsed_page import axe
from made_repository import Made
from support import IMPORTED, ROOT, need_program


@pytest.fixture(scope="module")
def site(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("myst_parser", reason="what makes the site is not installed")
    need_program("mandoc")
    folder = tmp_path_factory.mktemp("site")
    recordings = folder / "recordings"
    recordings.mkdir()
    (recordings / "mprotect.profdiff").symlink_to(recorded)
    counts = {"6.12.107": {"change_pte_range": 100}, "6.18.15": {"change_pte_range": 190}}
    made_atlas.suite(recordings / "memory.profdiff", {"mprotect": counts})
    commits = {
        "old": Made({"mm/mprotect.c": "old\n"}),
        "new": Made({"mm/mprotect.c": "new\n"}, ["old"], "mm: batches"),
    }
    linux = made_repository.make(recordings / "linux", commits)
    linux.git("tag", "v6.12.107", "old")
    linux.git("tag", "v6.18.15", "new")
    command = [sys.executable, ROOT / "scripts/site", folder / "made", "--recordings", recordings]
    environment = {**os.environ, "PYTHONPATH": str(IMPORTED)}
    made = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder / "made"


class Parsed(HTMLParser):
    """Where a page leads, and which parts of it have a name."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.names = [""]
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action"):
                self.targets.append(value or "")
            if name == "id":
                self.names.append(value or "")


def broken(page: Path, target: str, names: dict[Path, set[str]]) -> bool:
    """Whether a link leads nowhere. Other sites are not asked: their addresses are whole."""
    split = urlsplit(target)
    if split.scheme:
        return split.scheme not in ("https", "http") or "." not in split.netloc
    led = (page.parent / unquote(split.path)).resolve() if split.path else page
    return led not in names or (led.suffix == ".html" and unquote(split.fragment) not in names[led])


@pytest.mark.slow
def test_all_links_lead_somewhere(site: Path) -> None:
    files = [path for path in site.rglob("*") if path.is_file()]
    # Reports draw themselves; their tests follow their links.
    pages = [path for path in files if path.suffix == ".html"]
    parsed = {one: Parsed(one) for one in pages if site / "reports" not in one.parents}
    names: dict[Path, set[str]] = {path: {""} for path in files}
    names.update({path: {*one.names} for path, one in parsed.items()})
    assert all(len(one.names) == len(names[path]) for path, one in parsed.items())
    found = [
        f"{path.relative_to(site)}: {target}"
        for path, one in parsed.items()
        for target in one.targets
        if broken(path, target, names)
    ]
    assert found == []
    # Reports, manual pages, schemas and documents are led to.
    places = ("reports", "man/profdiff-record", "profdiff/blame", "docs/how-to/watch-in-ci")
    assert {f"{place}.html" for place in places} <= {*parsed[site / "index.html"].targets}
    made = {*parsed[site / "reports.html"].targets}
    pages = ("session.html", "blame.html", "suite/index.html", "atlas/index.html")
    others = ("annotation.txt", "mail.eml", "difference.svg")
    assert {f"reports/{name}" for name in (*pages, *others)} <= made


@contextmanager
def opened(browser: Any, address: str, width: int, scheme: str) -> Iterator[Any]:
    """A page of the site, which loads nothing but files, and has no problems."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.emulate_media(color_scheme=scheme)
    problems: list[str] = []
    requests: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(address)
    yield page
    assert problems == []
    assert [one for one in requests if not one.startswith(("file:", "data:"))] == []
    page.close()


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("index.html", 400, "light"),
        ("docs/tutorial.html", 1000, "dark"),
        ("docs/experiments.html", 400, "dark"),
        ("man/profdiff-blame.html", 1000, "light"),
        ("profdiff/blame.html", 1440, "dark"),
        ("examples/mincore-present-pte/README.html", 1440, "light"),
        ("reports.html", 400, "light"),
        ("search.html?q=canary", 1440, "dark"),
    ],
)
def test_a_page_fits_and_axe_finds_nothing(
    browser: Any, site: Path, name: str, width: int, scheme: str
) -> None:
    with opened(browser, f"{site.as_uri()}/{name}", width, scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.is_visible("#site-documents a") == (width >= 1000)
        axe(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_like_the_reports(browser: Any, site: Path, scheme: str) -> None:
    script = """() => { const one = getComputedStyle(document.body);
      return [one.fontFamily, one.fontSize, one.color, one.backgroundColor]; }"""
    looks = []
    for name in ("index.html", "reports/session.html", "reports/atlas/index.html"):
        with opened(browser, f"{site.as_uri()}/{name}", 1000, scheme) as page:
            looks.append(page.evaluate(script))
    assert looks[0] == looks[1] == looks[2]


def test_the_search_needs_no_network(browser: Any, site: Path) -> None:
    with opened(browser, (site / "docs/suite.html").as_uri(), 1440, "light") as page:
        page.keyboard.press("/")
        page.keyboard.type("CNAME")
        page.keyboard.press("Enter")
        page.wait_for_selector("ul.search li a")
        titles = page.eval_on_selector_all("ul.search li a", "all => all.map(a => a.textContent)")
        assert "Atlas" in titles
        page.click("ul.search li a:text-is('Atlas')")
        page.wait_for_selector("h1:has-text('Atlas')")


def test_a_word_is_found_on_its_own_page_first(browser: Any, site: Path) -> None:
    """With excerpts where they can be fetched: from a server."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/search.html?q=false+sharing")
        page.wait_for_selector("ul.search li p.context")
        first = page.inner_text("ul.search li >> nth=0")
        assert first.startswith("False sharing: cache lines that change hands")
        context = page.inner_text("ul.search li >> nth=0 >> p.context").strip(". …")
        page.click("ul.search li a >> nth=0")
        page.wait_for_selector("h1")
        text = " ".join(page.inner_text("body").split())
        assert len(context) > 50
        assert " ".join(context.split())[5:-5] in text
        page.close()
        server.shutdown()


def test_manual_pages_and_schemas_are_found(browser: Any, site: Path) -> None:
    for words, title in (
        ("ignore-revs-file", "profdiff-blame(1)"),
        ("unmatched suspects", "profdiff.blame/1"),
    ):
        address = f"{(site / 'search.html').as_uri()}?q={words}"
        with opened(browser, address, 1000, "light") as page:
            page.wait_for_selector("ul.search li a")
            assert title in page.inner_text("ul.search")
