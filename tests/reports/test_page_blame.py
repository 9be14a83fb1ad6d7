"""The commits behind the delta, in a real Chromium."""

from pathlib import Path
from typing import Any

import pytest
from browsed_page import HOSTILE, Page, counted_calls
from msgspec import structs

from profdiff.evidence.findings import Findings
from profdiff.views.blame import SCHEMA, Blame, Kind, Pair, Row, Share

ADDED, REMOVED = "a1" * 20, "b2" * 20


def row(
    kind: Kind, subject: str, added: int, removed: int = 0, *functions: Share, **more: Any
) -> Row:
    """A row; of a commit if ``more`` names it."""
    usual: dict[str, Any] = {"commit": None, "author_date": None, "suspects": [], "together": []}
    return Row(
        kind=kind,
        subject=subject,
        instructions=added + removed,
        added=added,
        removed=removed,
        effect=added + removed,
        functions=list(functions),
        **{**usual, **more},
    )


def blame(*rows: Row, notes: tuple[str, ...] = ()) -> Blame:
    """Of the comparison of ``counted_calls``, which has 10 ops."""
    return Blame(
        schema=SCHEMA,
        base="base",
        new="new",
        revisions={"base": "c3" * 20, "new": "d4" * 20},
        ops=10,
        delta=sum(one.instructions for one in rows),
        rows=list(rows),
        renamed=[Pair(vanished="old_way", new="new_way", alike=0.87)],
        notes=list(notes),
    )


def example() -> Blame:
    """A commit that adds, one that removes, and lines that are only executed more often."""
    shares = [Share(function=f"f{n}", instructions=n, effect=n) for n in range(5, 0, -1)]
    return blame(
        row(
            "commit",
            "mm: help more often",
            700,
            0,
            Share(function="helper", instructions=700, effect=700),
            *shares,
            commit=ADDED,
            author_date="2026-02-03T04:05:06+00:00",
        ),
        row(
            "commit",
            "mm: remove the old way",
            0,
            -400,
            Share(function="old_way", instructions=-400, effect=-400),
            commit=REMOVED,
            author_date="2026-01-02T03:04:05+00:00",
        ),
        row("more-often", "same line, executed more or less often", 250, suspects=[ADDED]),
        row("other-code", "same line, other code", 0, suspects=[REMOVED], together=[ADDED]),
        notes=("the tree of new is dirty",),
    )


def cells(page: Page) -> list[list[str]]:
    """The table's cells."""
    script = """rows => rows.map(row => [...row.children].map(cell => cell.innerText.trim()))"""
    found: list[list[str]] = page.page.eval_on_selector_all("#blame-rows tr", script)
    return found


def test_rows_add_up_to_the_delta(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, counted_calls(), tmp_path, 1440, blame=example())
    head, *rows, foot = cells(page)
    assert head[:4] == ["effect, per op", "share of delta", "", "its lines"]
    assert [one[:2] for one in rows] == [
        ["+70.00", "127.3%"], ["-40.00", "-72.7%"], ["+25.00", "45.5%"], ["0.00", "0.0%"]
    ]  # fmt: skip
    assert foot[:4] == ["+55.00", "100.0%", "", "+55.00"]
    assert [one[3] for one in rows] == ["+70.00", "-40.00", "+25.00", "0.00"]
    assert rows[0][4] == "a1a1a1a1a1a1 mm: help more often 2026-02-03"
    assert rows[0][5] == "helper +70.00, f5 +0.50, f4 +0.40, f3 +0.30, 2 more"
    assert "suspects: commits that changed callers: a1a1a1a1a1a1" in rows[2][4]
    assert "suspects: commits that changed the function: b2b2b2b2b2b2" in rows[3][4]
    assert "the same lines were changed by: a1a1a1a1a1a1" in rows[3][4]
    notes = page.page.inner_text("#blame-notes")
    assert "new at d4d4d4d4d4d4 against base at c3c3c3c3c3c3" in notes.replace(" (base)", "")
    assert "old_way → new_way? 87% of their code is alike." in notes
    assert "the tree of new is dirty" in notes
    page.page.select_option("#unit", "absolute")
    first = [one[0] for one in cells(page)]
    assert first == ["effect, instructions", "+700", "-400", "+250", "0", "+550"]
    page.close()


def test_what_ran_below_a_call_is_told_beside_the_lines(browser: Any, tmp_path: Path) -> None:
    """Both columns have the delta as their sum."""
    called = Share(function="called", instructions=0, effect=-160)
    vanished = Share(function="called", instructions=-160, effect=0)
    rows = (
        structs.replace(row("commit", "mm: stop", 0, -40, called, commit=REMOVED), effect=-200),
        structs.replace(row("more-often", "same line", 0, -160, vanished), effect=0),
    )
    page = Page(browser, counted_calls(), tmp_path, 1440, blame=blame(*rows))
    _, *shown, foot = cells(page)
    assert [(one[0], one[3]) for one in shown] == [("-20.00", "-4.00"), ("0.00", "-16.00")]
    assert (foot[0], foot[3]) == ("-20.00", "-20.00")
    assert shown[0][5] == "called -16.00"
    page.close()


def test_a_function_of_a_commit_opens(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, counted_calls(), tmp_path, 1440, blame=example())
    page.page.click("#blame-rows button:text-is('helper')")
    assert page.page.inner_text("#sandwich-name") == "helper"
    # What the page has no function of is no link.
    assert page.page.locator("#blame-rows button:text-is('f5')").count() == 0
    page.close()


def test_a_page_without_blame_has_no_such_table(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, counted_calls(), tmp_path, 1440)
    assert page.page.is_hidden("#blame")
    page.close()


def test_many_rows_are_folded(browser: Any, tmp_path: Path) -> None:
    made = blame(*(row("commit", f"mm: {n}", 100 - n, commit=ADDED) for n in range(30)))
    pairs = [Pair(vanished="a", new="b", alike=n / 100) for n in range(99, 0, -10)]
    made = structs.replace(made, renamed=pairs)
    page = Page(browser, counted_calls(), tmp_path, 1440, blame=made)
    _, *rows, rest, foot = cells(page)
    assert len(rows) == 6
    assert "7 more pairs" in page.page.inner_text("#blame-notes")
    assert rest[0] == f"+{sum(100 - n for n in range(6, 30)) / 10:.2f}"
    assert rest[4] == "Show 24 more rows"
    page.page.click("#blame-rows button:has-text('more rows')")
    assert len(cells(page)) == 32
    assert " 9% of their code" in page.page.inner_text("#blame-notes")
    assert cells(page)[-1] == foot
    page.close()


@pytest.mark.parametrize("width", [400, 1000, 2500])
def test_hostile_subjects_are_text(browser: Any, tmp_path: Path, width: int) -> None:
    shares = [Share(function=text, instructions=1, effect=1) for text in HOSTILE]
    made = blame(
        *(row("commit", text, 100, 0, *shares, commit=ADDED) for text in HOSTILE),
        row("no-line", "x" * 5000, 1),
        notes=tuple(HOSTILE),
    )
    page = Page(browser, Findings.of_recordings([counted_calls()]), tmp_path, width, blame=made)
    shown = page.page.inner_text("#blame")
    assert HOSTILE[0] in shown
    assert "a\\u{202e}reversed\\u{7}bell" in shown
    assert page.page.locator("#blame img, #blame script").count() == 0
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.page.evaluate(overflow) <= 0
    page.close()
