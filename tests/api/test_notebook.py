"""What a notebook shows of a recording: its page in a sandbox, or its text."""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browsed_page import HOSTILE
from synthetic_joint import POINTS, example, joint, part
from synthetic_session import exact_session

import profdiff
from profdiff.api import recording
from profdiff.base import program
from profdiff.session.suite import Suite, SuiteWorkload


class _Elements(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_the_page_is_in_a_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = tmp_path / f"{HOSTILE[0].replace('/', '')}.profdiff"
    exact_session(named)
    shown = profdiff.open(named)._repr_html_()
    ((tag, attributes),) = _Elements(shown).found
    assert (tag, attributes["sandbox"]) == ("iframe", "allow-scripts")
    page = attributes["srcdoc"]
    assert page == profdiff.open(named).html()
    assert re.search("Content-Security-Policy[^>]*default-src 'none'", page)
    # Another program made it: there is no command line that would make it again.
    monkeypatch.setattr(program, "_runs", False)
    assert profdiff.open(named).document().report_command == ""


def test_a_page_that_is_too_large_is_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact_session(tmp_path / "s.profdiff")
    monkeypatch.setattr(recording, "_MAX_PAGE", 1000)
    session = profdiff.open(tmp_path / "s.profdiff")
    shown = session._repr_html_()
    assert [tag for tag, _ in _Elements(shown).found] == ["p", "pre"]
    assert unescape(shown.partition("<pre>")[2].removesuffix("</pre>")) == session.text()


def test_parts_and_suites(tmp_path: Path) -> None:
    parts = profdiff.open(joint(tmp_path / "parts.profdiff").folder)
    assert isinstance(parts, profdiff.Parts)
    assert list(parts.sessions) == list(parts.document().parts)
    assert len(parts.check("instructions > +900%")) > 1
    suite = Suite.create(tmp_path / "suite.profdiff", "s", ["profdiff"], [SuiteWorkload(name="a")])
    part(suite.part("a"), example()["x86_64"], POINTS)
    opened = profdiff.open(suite.folder)
    assert isinstance(opened, profdiff.Suite)
    assert len(opened.document().cells) == len(opened.sessions["a"].settings)
    for one in (parts, opened):
        assert one._repr_html_().startswith('<iframe sandbox="allow-scripts" title=')
        assert one.text(top=3).endswith("\n")
        assert one.folder.name in repr(one)
    with pytest.raises(profdiff.ProfdiffError, match="matches no point"):
        parts.at("folio_kib=7").document()


def test_a_browser_shows_it_in_the_sandbox(
    browser: Any,
    tmp_path: Path,
) -> None:
    exact_session(tmp_path / "s.profdiff")
    (tmp_path / "notebook.html").write_text(
        f"<title>notebook</title>{profdiff.open(tmp_path / 's.profdiff')._repr_html_()}"
    )
    page = browser.new_page()
    page.goto((tmp_path / "notebook.html").as_uri())
    inside = page.frame_locator("iframe")
    inside.locator("html[data-ready]").wait_for()
    assert "instructions" in inside.locator("body").inner_text()
    (shown,) = page.frames[1:]
    reached = "try { parent.document.title } catch (error) { error.name }"
    assert shown.evaluate(reached) == "SecurityError"
    page.close()
