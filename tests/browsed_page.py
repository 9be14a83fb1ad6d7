"""A report's page in a real Chromium, for the tests of the page."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.reports import html

HOSTILE = [
    "<img src=x onerror=document.title='owned'>",
    "</script><script>document.title='owned'</script>",
    "a\u202ereversed\x07bell",
    "&lt;b&gt;",
]

# Modules have no globals: for tests a page has one more line, which makes some names global.
INSPECTED = """
Object.assign(globalThis, { state, graphs, paintTree, frameName, chooseFunction });
Object.defineProperties(globalThis, { tree: { get: () => tree }, names: { get: () => names } });
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium, driven by playwright."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


class Page:
    """An open report that keeps what went wrong and what was asked for."""

    def __init__(
        self, browser: Any, shown: Comparison | Findings, folder: Path, width: int
    ) -> None:
        file = folder / "report.html"
        findings = shown if isinstance(shown, Findings) else Findings.of_recordings([shown])
        script = html.joined_modules() + INSPECTED
        with patch.object(html, "joined_modules", return_value=script):
            file.write_text(html.render(findings))
        self.page = browser.new_page(viewport={"width": width, "height": 900})
        self.problems: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", self._asked)
        self.page.goto(file.as_uri())
        self.page.wait_for_selector("html[data-ready]")
        assert self.requests == [file.as_uri()]
        self.url = file.as_uri()

    def _asked(self, request: Any) -> None:
        # Charts are in the page itself.
        if not request.url.startswith("data:"):
            self.requests.append(request.url)

    def names(self) -> list[str]:
        """Functions in the order shown, without the remark behind them."""
        script = "cells => cells.map(cell => cell.firstChild.textContent)"
        result: list[str] = self.page.eval_on_selector_all("#functions td.name", script)
        return result

    def cells(self, row: int) -> list[str]:
        """Numbers of a row."""
        selector = f"#functions tbody tr:nth-child({row + 1}) td.number"
        result: list[str] = self.page.eval_on_selector_all(
            selector, "c => c.map(x => x.textContent)"
        )
        return result

    def close(self) -> None:
        """Nothing went wrong, nothing was loaded."""
        assert self.problems == []
        assert self.requests == [self.url]
        self.page.close()
