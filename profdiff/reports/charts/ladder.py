"""The ladder of an experiment: kernel by kernel every boot a point, the median a bar, and beside it
what was found."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Estimate
from profdiff.reports.charts import words
from profdiff.reports.charts.bars import LESS, MORE
from profdiff.reports.charts.layout import (
    SMALL,
    WIDTH,
    Caption,
    finish,
    plain,
    rows,
    ticks,
    wrapped,
)
from profdiff.views.results import recording
from profdiff.views.results.result import delta, judged, number

BASE, NEITHER = "#000000", "#7A7A7A"
_MARKERS = {BASE: "o", LESS: "<", MORE: ">", NEITHER: "D"}
_NOISE: dict[str, Any] = {"color": "#F0E442", "alpha": 0.45, "lw": 0}
_MOST_KERNELS = 40
# Inches of a kernel, of many less.
_ROW, _LEAST_ROW, _HEIGHT = 0.5, 0.25, 3.5
# To each side, as parts of a row.
_BAR, _BOOTS = 0.38, 0.28


@dataclass(frozen=True)
class Rung:
    """A kernel: the values of its ``boots`` in their order, their ``median`` (None without one),
    the ``words`` beside it, and its ``colour``."""

    label: str
    boots: Sequence[float]
    median: float | None
    words: Sequence[str]
    colour: str


def ladder(evidence: Results, result: Result, more: Sequence[str]) -> tuple[Caption, Figure] | None:
    """Caption and figure; None where no kernel that is shown has a value. ``more``: other notes."""
    cells = result.cells[:_MOST_KERNELS]
    if not any(cell.boots for cell in cells):
        return None
    each = sum(len(cell.boots) for cell in cells) <= words.MOST_BOOTS
    rungs: list[Rung] = []
    labels = words.labels(evidence.labels)
    for label, cell, change in zip(labels, cells, result.changes, strict=False):
        boots = cell.medians
        value = median(boots) if boots else None
        told = ["no result" if value is None else number(value)]
        if not rungs:
            told.append("the base")
        elif change is not None:
            told += [str(delta(change)), str(judged(change))]
        colour = _colour(change) if rungs else BASE
        told = [plain(words.short(word)) for word in told]
        rungs.append(Rung(label, boots if each else [], value, told, colour))
    at = words.short(result.setting.title, 48)
    command = recording.workload(evidence.manifest, result.setting).description
    notes = [
        *words.notes(evidence, [result], command),
        _scatter(result, each),
        *words.left_out((len(result.cells) - len(cells), "kernels")),
        *more,
    ]
    caption = Caption(words.title(result, f"at {at}" if at else "kernel by kernel"), notes)
    return caption, draw(caption, rungs, words.axis(result), _noise(result))


def draw(
    caption: Caption, rungs: Sequence[Rung], axis: str, noise: tuple[float, float] | None
) -> Figure:
    """One rung at least has a median. ``noise``: from where to where the base, which is the first,
    differs from itself. The same boots stand at the same places."""
    figure = Figure()
    axes = figure.subplots()
    base = rungs[0].label
    meanings = {
        BASE: base,
        LESS: f"less than {base}",
        MORE: f"more than {base}",
        NEITHER: "unsure or unchanged",
    }
    seen = {rung.colour for rung in rungs if rung.median is not None}
    legend: list[tuple[Artist, str]] = [
        (Line2D([], [], color=colour, marker=_MARKERS[colour], ms=4.4), meaning)
        for colour, meaning in meanings.items()
        if colour in seen
    ]
    if noise:
        axes.axvspan(*noise, **_NOISE)
        legend.append((Patch(**_NOISE), f"A/A: {base} against itself"))
    if rungs[0].median is not None:
        axes.axvline(rungs[0].median, color="black", lw=0.7, ls="--")
    for place, rung in enumerate(rungs):
        _rung(axes, place, rung)
    rows(axes, [plain(rung.label) for rung in rungs], [rung.words for rung in rungs], SMALL)
    ticks(axes.xaxis)
    axes.set_xlabel(wrapped(axis, WIDTH - 2))
    height = min(_ROW, max(_LEAST_ROW, _HEIGHT / len(rungs))) * len(rungs)
    return finish(figure, caption, [axes], height, legend)


def _rung(axes: Axes, place: int, rung: Rung) -> None:
    if rung.median is None:
        return
    axes.vlines(rung.median, place - _BAR, place + _BAR, color=rung.colour, lw=1.8)
    count = len(rung.boots)
    ys = place + np.linspace(-_BOOTS, _BOOTS, count) * (count > 1)
    look: dict[str, Any] = {"color": rung.colour, "mec": "white", "alpha": 0.75}
    axes.plot(rung.boots, ys, _MARKERS[rung.colour], ms=4.4, mew=0.5, zorder=3, **look)


def _colour(change: Estimate | None) -> str:
    if change is None or not change.verdict.is_sure:
        return NEITHER
    base, other = change.medians
    return NEITHER if base == other else MORE if other > base else LESS


def _noise(result: Result) -> tuple[float, float] | None:
    """The A/A floor around the base's median; None where it is not known, or nothing."""
    boots = result.cells[0].medians
    if result.noise is None or not boots:
        return None
    middle = median(boots)
    reach = abs(middle) * result.noise
    return (middle - reach, middle + reach) if 0 < reach < math.inf else None


def _scatter(result: Result, each: bool) -> str:
    """What points and bars are."""
    if not any(len(cell.boots) > 1 for cell in result.cells):
        return words.one_boot(result)
    if all(len(set(cell.medians)) < 2 for cell in result.cells):
        return "every boot of a kernel gave the same value: there is no spread"
    every = "points: every boot, from top to bottom as recorded" if each else words.MANY_BOOTS
    return f"{every}; bars: medians over boots; the axis does not start at 0"
