"""A cell's line over releases as SVG inside a page: readable in print and without colour. Its
colours are the page's, by class."""

from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from profdiff.base import units

_LEFT, _TOP, _ROOM = 128, 92, 190
# Below are the names of releases.
_TILTED, _LEVEL = 104, 34
# A page's width; of very many releases, the chart is wider.
_WIDTH, _STRIDE = 1180, 92
# What a letter takes, at most.
_LETTER = 7.5
_NAME = 26


class Mark(NamedTuple):
    """A release on a line. ``value``: None where there is none, of which ``note`` tells why;
    ``way``: 1 for a step up to it, -1 for one down, 0 for none that is relevant; ``note``: what
    made the step."""

    title: str
    value: float | None
    way: int
    change: str
    note: str


def line_chart(label: str, unit: str, marks: Sequence[Mark]) -> str:
    """The chart, with every value; ``label`` is read out."""
    width = max(_WIDTH, _LEFT + _STRIDE * len(marks) + 40)
    stride = (width - _LEFT - 40) / max(1, len(marks))
    letters = int(stride / _LETTER)
    tilted = any(len(mark.title) > letters for mark in marks)
    height = _TOP + _ROOM + (_TILTED if tilted else _LEVEL)
    values = [mark.value for mark in marks if mark.value is not None]
    most = max([*values, 0.0]) or 1.0
    places = [_LEFT + stride * (number + 0.5) for number in range(len(marks))]

    def y(value: float) -> float:
        return _TOP + _ROOM * (1 - max(value, 0) / most)

    parts = [
        f'<svg class="line-chart" role="img" aria-label="{escape(label)}" width="{width}" '
        f'height="{height}" viewBox="0 0 {width} {height}">'
    ]
    for part in (0.0, 0.5, 1.0):
        level = y(part * most)
        parts.append(
            f'<path class="axis" d="M{_LEFT} {level:.1f}H{width - 10}"/>'
            f'<text class="faint" x="{_LEFT - 8}" y="{level + 4:.1f}" text-anchor="end">'
            f"{number(part * most)}</text>"
        )
    parts.append(f'<text class="faint" x="8" y="16">{escape(unit)}</text>')
    before: tuple[float, float] | None = None
    gap = False
    for x, mark in zip(places, marks, strict=True):
        if mark.value is None:
            gap = True
            continue
        here = x, y(mark.value)
        if before:
            kind = "line gap" if gap else "line"
            parts.append(
                f'<path class="{kind}" d="M{before[0]:.1f} {before[1]:.1f}'
                f'L{here[0]:.1f} {here[1]:.1f}"/>'
            )
        before, gap = here, False
    parts += [_mark(x, y, mark, letters) for x, mark in zip(places, marks, strict=True)]
    return "".join([*parts, "</svg>"])


def sparkline(values: Sequence[float | None]) -> str:
    """A line without words, for a table that has the numbers."""
    known = [(at, value) for at, value in enumerate(values) if value is not None]
    if len(known) < 2:
        return ""
    low, high = min(value for _, value in known), max(value for _, value in known)
    low = min(low, 0.9 * high) if high > 0 else low
    span = (high - low) or 1.0
    step = 84 / max(1, len(values) - 1)
    points = [(3 + at * step, 19 - 16 * (value - low) / span) for at, value in known]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    x, y = points[-1]
    return (
        '<svg class="line-chart small" aria-hidden="true" width="90" height="22" '
        f'viewBox="0 0 90 22"><path class="line" d="M{path}"/>'
        f'<circle class="point" cx="{x:.1f}" cy="{y:.1f}" r="2.2"/></svg>'
    )


def number(value: float) -> str:
    """A value as a reader compares it."""
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:,.2f}"


def _mark(x: float, y: Callable[[float], float], mark: Mark, letters: int) -> str:
    """A release: its mark on the line, its name below, and above all lines what is said of it, in
    at most so many ``letters``."""
    name = escape(units.printable(mark.title))
    bottom = _TOP + _ROOM
    if len(mark.title) <= letters:
        below = f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{name}</text>'
    else:
        below = (
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="end" '
            f'transform="rotate(-28 {x:.1f} {bottom + 16})">{_cut(mark.title, _NAME)}'
            f"<title>{name}</title></text>"
        )
    if mark.value is None:
        return below + (
            f'<text class="faint" x="{x:.1f}" y="{bottom - 6}" text-anchor="middle">'
            f"{_cut(mark.note, letters)}</text>"
        )
    at = y(mark.value)
    title = f"<title>{name}: {number(mark.value)} {escape(mark.change)}</title>"
    if mark.way:
        tip, foot = (at - 7, at + 5) if mark.way > 0 else (at + 7, at - 5)
        shape = (
            f'<path class="{"up" if mark.way > 0 else "down"}" d="M{x:.1f} {tip:.1f}'
            f'L{x + 6:.1f} {foot:.1f}H{x - 6:.1f}Z">{title}</path>'
        )
    else:
        shape = f'<circle class="point" cx="{x:.1f}" cy="{at:.1f}" r="3.5">{title}</circle>'
    said = [(number(mark.value), "faint")]
    if mark.way:
        said = [*said, (mark.change, "strong"), *([(mark.note, "")] if mark.note else [])]
    lines = [
        f'<text class="said {kind}" x="{x:.1f}" y="{_TOP - 18 - 14 * row}" text-anchor="middle">'
        f"{_cut(text, letters)}</text>"
        for row, (text, kind) in enumerate(said)
    ]
    return below + shape + "".join(lines)


def _cut(text: str, letters: int) -> str:
    """As markup, with its end cut off where it is too long."""
    short = text if len(text) <= letters else f"{text[: letters - 1]}…"
    return escape(units.printable(short))
