"""The page on light and on dark ground, and what axe-core finds in it, in a real Chromium."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from browsed_page import Page, axe, call_stacks, click
from PIL import Image
from synthetic import compare, findings
from synthetic_experiment import boots, found, recorded

from profdiff.reports import charts
from profdiff.reports.page import html
from profdiff.session import manifest as m

GROUNDS = {"light": (255, 255, 255), "dark": (21, 23, 26)}


def luminance(colour: str) -> float:
    """WCAG 2.2's relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(w * one for w, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's contrast ratio."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def corner(page: Page, selector: str) -> tuple[int, ...]:
    """A pixel of a picture where nothing is drawn."""
    shot = page.page.locator(selector).first.screenshot()
    pixel = Image.open(io.BytesIO(shot)).convert("RGB").getpixel((3, 3))
    assert isinstance(pixel, tuple)
    return tuple(int(value) for value in pixel)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_stand_on_the_page_s_ground(browser: Any, tmp_path: Path, scheme: str) -> None:
    page = Page(browser, compare(call_stacks(), ops=10), tmp_path, 1200)
    page.page.emulate_media(color_scheme=scheme)
    page.page.wait_for_timeout(100)
    assert corner(page, "#charts img") == GROUNDS[scheme]
    # Paper is white, whatever the screen is.
    page.page.emulate_media(media="print", color_scheme=scheme)
    page.page.wait_for_timeout(100)
    assert corner(page, "#charts img") == GROUNDS["light"]
    page.close()


def test_every_colour_of_a_chart_can_be_seen_on_dark_ground() -> None:
    points = [m.Point({"size_kib": str(10**n)}, 1, 1000) for n in range(4)]
    values = {label: [boots(100.0 * n, 5, 0.01) for n in range(1, 5)] for label in "abcdefg"}
    drawn = [
        *charts.figures(found(recorded(values, points=points))),
        *charts.figures(findings([compare(call_stacks())])),
    ]
    colours = {
        one.lower() for chart in drawn for one in re.findall(r"#[0-9a-fA-F]{6}\b", chart["svg"])
    }
    assert {"#ffffff", "#000000", "#0072b2", "#d55e00"} <= colours
    ground = html.DARK["#ffffff"]
    for colour in colours - {"#ffffff", "#dddddd", "#bbbbbb"}:
        shown = html.DARK.get(colour, colour)
        # What is no text is to have 3 (WCAG 2.2, 1.4.11).
        assert contrast(shown, ground) >= (4.5 if colour == "#000000" else 3), colour
    for chart in drawn:
        styled = html._svg_with_scheme(chart["svg"])
        assert (
            styled.replace(re.findall(r"<style>@media.*?</style>", styled)[0], "") == chart["svg"]
        )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Any, tmp_path: Path, scheme: str) -> None:
    page = Page(browser, compare(call_stacks(), ops=10), tmp_path, 1200)
    page.page.emulate_media(color_scheme=scheme)
    click(page, "work")
    page.page.click("#functions button.link:has-text('helper')")
    page.page.keyboard.press("Escape")
    page.page.click("#functions button.link:has-text('helper')")
    axe(page.page)
    page.close()
