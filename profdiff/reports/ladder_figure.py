"""The ladder of an experiment: one metric at one setting, kernel by kernel."""

from statistics import median

from matplotlib.figure import Figure

from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import Estimate, Verdict
from profdiff.reports.bar_chart import LESS, MORE
from profdiff.reports.experiment_words import (
    axis_of,
    boots_of,
    label_of,
    left_out,
    notes,
    one_boot,
    title,
)
from profdiff.reports.ladder_chart import BASE, NEITHER, Ladder, Rung, draw
from profdiff.views import recording
from profdiff.views.result import delta, number

_MOST_KERNELS = 40
# More points than these are a heap, and a large file.
_MOST_BOOTS = 5_000


def figure(evidence: Results, result: Result, more: str = "") -> tuple[str, Figure] | None:
    """Title and figure; None where no kernel that is shown has a value. ``more``: another note."""
    cells = result.cells[:_MOST_KERNELS]
    if not any(cell.boots for cell in cells):
        return None
    changes = result.changes[:_MOST_KERNELS]
    with_boots = sum(len(cell.boots) for cell in cells) <= _MOST_BOOTS
    rungs = []
    for place, (cell, change) in enumerate(zip(cells, changes, strict=True)):
        boots = boots_of(cell)
        value = median(boots) if boots else None
        told = "no result" if value is None else number(value)
        words = ["the base"] if place == 0 else _words(change)
        colour = BASE if place == 0 else _colour(change)
        shown = boots if with_boots else []
        label = label_of(evidence.labels[place])
        rungs.append(Rung(label, shown, value, [told, *words], colour))
    base = rungs[0].label
    meaning = {
        BASE: base,
        LESS: f"less than {base}",
        MORE: f"more than {base}",
        NEITHER: "unsure or unchanged",
    }
    seen = {rung.colour for rung in rungs if rung.median is not None}
    ladder = Ladder(
        y=axis_of(result),
        rungs=rungs,
        noise=_noise(result),
        noise_words=f"A/A: {base} against itself",
        legend=[(colour, words) for colour, words in meaning.items() if colour in seen],
    )
    at = result.setting.title
    head = title(result, f"at {at}" if at else "kernel by kernel")
    lines = [
        *notes(
            evidence, [result], recording.workload(evidence.manifest, result.setting).description
        ),
        _scatter(result, with_boots),
        *left_out((len(result.cells) - len(cells), "kernels")),
        *([more] if more else []),
    ]
    return head, draw(head, ladder, lines)


def _words(change: Estimate | None) -> list[str]:
    if change is None:
        return []
    exact = change.verdict is Verdict.EXACT
    quality_too = [] if exact or change.quality == "reliable" else [f"({change.quality})"]
    return [str(delta(change)), change.verdict, *quality_too]


def _colour(change: Estimate | None) -> str:
    if change is None or change.verdict not in (Verdict.CHANGED, Verdict.EXACT):
        return NEITHER
    base, other = change.medians
    return NEITHER if base == other else MORE if other > base else LESS


def _noise(result: Result) -> tuple[float, float] | None:
    """The A/A floor around the base's median; None where it is not known, or nothing."""
    boots = boots_of(result.cells[0])
    if result.noise is None or not boots or not result.noise.floor > 0:
        return None
    middle = median(boots)
    reach = abs(middle) * result.noise.floor
    return middle - reach, middle + reach


def _scatter(result: Result, with_boots: bool) -> str:
    if not any(len(cell.boots) > 1 for cell in result.cells):
        return one_boot(result)
    if all(len(set(boots_of(cell))) < 2 for cell in result.cells):
        return "every boot of a kernel gave the same value: there is no spread"
    every = "points: every boot, from left to right as recorded" if with_boots else "too many boots"
    return f"{every}; bars: medians over boots; the axis does not begin at 0"
