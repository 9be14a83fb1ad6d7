"""A report's page in a real Chromium, for the tests of the page."""

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace
from support import ROOT
from synthetic import Row, compare, frame

from profdiff.evidence.findings import Findings
from profdiff.evidence.parts import PartsFindings
from profdiff.profile.comparison import Comparison
from profdiff.reports.page import html, parts
from profdiff.views.blame import Blame

HOSTILE = [
    "<img src=x onerror=document.title='owned'>",
    "</script><script>document.title='owned'</script>",
    "a\u202ereversed\x07bell",
    "&lt;b&gt;",
]

_AXE = ROOT / "scripts/node_modules/axe-core/axe.min.js"

# Modules have no globals: for tests a page has one more line, which makes some names global.
INSPECTED = """
Object.assign(globalThis, { state, graphs, paintTree, frameName, openFunction, idOf });
Object.assign(globalThis, { codeList, codeOf, addressOf, accessesOf });
Object.assign(globalThis, { openedCodes: () => opened.size });
const nodeOf = (name) => [...tree.function].findIndex((id) => frameName(id) === name);
Object.assign(globalThis, { said: (name) => spoken(pair, [nodeOf(name)]) });
Object.defineProperties(globalThis, { tree: { get: () => tree }, names: { get: () => names } });
"""


@contextmanager
def opened(browser: Any, file: Path, width: int = 1440) -> Iterator[Any]:
    """A page of a site, which has no problems."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    problems: list[str] = []
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    assert problems == []
    page.close()


def axe(page: Any) -> None:
    """axe-core finds nothing on an open page."""
    if not _AXE.is_file():
        pytest.skip("axe-core is not installed (scripts/setup test)")
    page.evaluate(_AXE.read_text())
    # Nothing is fetched: a page that is a file may not.
    found = page.evaluate("axe.run({ preload: false })")
    problems = {
        rule["id"]: [node["html"][:200] for node in rule["nodes"]] for rule in found["violations"]
    }
    assert problems == {}, json.dumps(problems, indent=1)
    assert len(found["passes"]) > 20


class Page:
    """An open report that keeps what went wrong and what was asked for."""

    def __init__(
        self,
        browser: Any,
        shown: Comparison | Findings | PartsFindings,
        folder: Path,
        width: int,
        others: Iterable[Findings] = (),
        blame: Blame | None = None,
    ) -> None:
        file = folder / "report.html"
        if isinstance(shown, Comparison):
            shown = Findings.of_recordings([shown])
        script = html.joined_modules() + INSPECTED
        with patch.object(html, "joined_modules", return_value=script):
            if isinstance(shown, PartsFindings):
                file.write_text(parts.render(shown))
            else:
                file.write_text(html.render(shown, others, blame))
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

    def wait_until(self, expression: str) -> None:
        """Until JavaScript's ``expression``, or a function's result, is true; at most 30 s.

        playwright's wait_for_function() evaluates again in the page, which the page's content
        security policy forbids: it works only where the first look finds what it waits for.
        """
        deadline = time.monotonic() + 30
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, f"never true: {expression}"
            self.page.wait_for_timeout(20)

    def unfold(self) -> None:
        """Open all that is folded."""
        self.page.evaluate(
            "for (const one of document.querySelectorAll('details')) one.open = true"
        )

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


def call_stacks() -> dict[str, Sequence[Row]]:
    """A function that is called from two places, one that vanished, one that is new and inlined."""
    entry, work, helper = frame("entry"), frame("work"), frame("helper")
    old, new = frame("old_way"), frame("new_way", inlined=True)
    return {
        "base": [
            ([entry], "entry", True, [100]),
            ([entry, work], "work", True, [300]),
            ([entry, work, helper], "helper", True, [200]),
            ([entry, helper], "helper", True, [50]),
            ([entry, old], "old_way", True, [400]),
        ],
        "new": [
            ([entry], "entry", True, [100]),
            ([entry, work], "work", True, [300]),
            ([entry, work, helper], "helper", True, [900]),
            ([entry, helper], "helper", True, [50]),
            ([entry, work, new], "work", True, [250]),
        ],
    }


def counted_calls() -> Comparison:
    """With calls: helper is called more often, and does the same each time."""
    made = compare(call_stacks(), ops=10)
    return replace(made, calls=made.counts // 50)


def drawn(page: Page, side: str = "left") -> dict[str, list[float]]:
    """Names of the frames on a canvas, with where they begin and how wide they are."""
    page.page.evaluate("paintTree()")
    script = """side => graphs[side].frames.rows.flat().filter(box => box.node >= 0).map(
      box => [frameName(tree.function[box.node]), [box.from, box.to - box.from]])"""
    return dict(page.page.evaluate(script, side))


def click(page: Page, name: str) -> None:
    """On the widest frame of a name."""
    x, y = page.page.evaluate(
        """name => { paintTree(); const graph = graphs.left; let most = [0, 0, 0];
          graph.frames.rows.forEach((row, depth) => row.forEach(box => {
            if (box.node >= 0 && frameName(tree.function[box.node]) === name &&
                box.to - box.from > most[2])
              most = [(box.from + box.to) / 2, graph.top(depth) + 9, box.to - box.from]; }));
          return most; }""",
        name,
    )[:2]
    page.page.click("#graph-left", position={"x": x, "y": y})
