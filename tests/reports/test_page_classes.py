"""Kinds of instructions of the opened function, and how large its code is, in a real Chromium."""

from pathlib import Path
from typing import Any

from browsed_page import Page
from classes import compare
from synthetic import Row, frame


def code(count: int, *, inlined: bool, locked: int) -> list[tuple[Row, str]]:
    """A function with some loads, and other instructions."""
    stack = [frame("entry"), frame("work", inlined=True)] if inlined else [frame("work")]
    return [
        ((stack, "work", True, [count]), "mov (%rdi),%eax"),
        ((stack, "work", True, [locked]), "lock cmpxchg %ecx,(%rsi)"),
        (([frame("quiet")], "quiet", True, [5]), "nop"),
    ]


def items(page: Page) -> list[str]:
    """What the list says."""
    found: list[str] = page.page.eval_on_selector_all(
        "#classes-list li", "all => all.map(one => one.textContent)"
    )
    return found


def test_kinds_of_both_kernels(browser: Any, tmp_path: Path) -> None:
    made = compare(
        {
            "base": code(40, inlined=False, locked=0),
            "new": code(30, inlined=True, locked=10),
        },
        ops=10,
    )
    page = Page(browser, made, tmp_path, 1280)
    page.page.click("#functions button.link:text-is('work')")
    # cmpxchg loads and stores as well.
    assert items(page) == ["locked 0.00 → 1.00: +1.00", "loads 4.00", "stores 0.00 → 1.00: +1.00"]
    assert "called → inlined in 1 place" in page.page.inner_text("#sandwich-numbers")
    page.page.select_option("#unit", "absolute")
    assert items(page)[0] == "locked 0 → 10: +10"
    # What is of no kind has no list.
    page.page.click("#functions button.link:text-is('quiet')")
    assert page.page.is_hidden("#classes")
    page.close()


def test_kinds_of_one_kernel(browser: Any, tmp_path: Path) -> None:
    page = Page(browser, compare({"base": code(40, inlined=False, locked=2)}), tmp_path, 1280)
    page.page.click("#functions button.link:text-is('work')")
    assert items(page) == ["locked 2", "loads 42", "stores 2"]
    assert "called" in page.page.inner_text("#sandwich-numbers")
    page.close()
