"""The page of the fixture kernels: what the project is for, seen as its reader sees it."""

from pathlib import Path
from typing import Any

import pytest
from browsed_page import Page

from profdiff.profile.recordings import Recordings
from profdiff.session.session import Session

pytestmark = pytest.mark.guest

PATH = ["__x64_sys_mprotect", "change_pte_range", "set_write_prot_commit_flush_ptes"]


def test_the_regressed_function_is_found(recorded: Path, browser: Any, tmp_path: Path) -> None:
    """It is inlined, below the system call, new, and on the first screen."""
    (comparison,) = Recordings(Session.open(recorded)).comparisons()
    functions = [function.name for function in comparison.functions]
    stacks = comparison.stacks
    found = 0
    for row, function in enumerate(stacks.function.tolist()):
        if function >= len(functions) or functions[function] != "commit_anon_folio_batch":
            continue
        names = []
        above = int(stacks.parent[row])
        while above >= 0:
            names.append(functions[stacks.function[above]])
            above = int(stacks.parent[above])
        assert [name for name in reversed(names) if name in PATH] == PATH
        assert comparison.inlined[row, 1]
        assert comparison.counts[row, 0] == 0
        found += int(comparison.counts[row, 1])
    assert found == 620_000

    page = Page(browser, comparison, tmp_path, 1280)
    assert "new executes 1.7" in page.page.inner_text("#answers")
    chips = page.page.inner_text("#chips")
    assert "commit_anon_folio_batch" in chips
    assert "+15.50 (new)" in chips
    assert page.page.locator("#chips").bounding_box()["y"] < 300
    assert page.page.is_hidden("#missing")
    page.page.click("#chips button:has-text('prot_commit_flush_ptes')")
    assert page.page.inner_text("#sandwich-name") == "prot_commit_flush_ptes"
    sandwich = page.page.inner_text("#sandwich")
    assert "calls per op 0 → 1" in sandwich
    assert "commit_anon_folio_batch" in sandwich
    assert "base 0.00%" in page.page.inner_text("#matched")
    assert "CONFIG_PT_RECLAIM" in (page.page.text_content("#config") or "")
    page.close()
