"""The sweep of an experiment: one metric against the parameter that was swept."""

import re
import shlex
from collections.abc import Sequence

from matplotlib.figure import Figure

from profdiff.base import units
from profdiff.evidence.results import Result, Results
from profdiff.evidence.statistics import level
from profdiff.reports.experiment_words import (
    axis_of,
    boots_of,
    label_of,
    left_out,
    notes,
    one_boot,
    title,
)
from profdiff.reports.line_chart import STYLES, Line, Mark, Panel, Sweep, draw

_MOST_PANELS = 6
_MOST_SETTINGS = 200  # of a panel
_MOST_CATEGORIES = 20
# More points than these are a heap, and a large file.
_MOST_BOOTS = 5_000
_HEADING, _PARAMETER = 60, 24
_NUMBER = re.compile(r"[+-]?\d{1,30}(\.\d{0,30})?(e[+-]?\d{1,2})?", re.ASCII | re.IGNORECASE)
# Braces need no quotes where a name stands in them.
_PLAIN = re.compile(r"[\w./=:@%+{}-]+", re.ASCII)

# A setting's place on the axis, and its result.
_Member = tuple[float, Result]


def figure(evidence: Results, results: Sequence[Result], more: str = "") -> tuple[str, Figure]:
    """Title and figure of the results of one metric, some of which have values. ``more``: another
    note."""
    name, others = _parameters(evidence, results)
    categories = _categories(results, name)
    groups: dict[tuple[str, ...], list[_Member]] = {}
    beyond = 0
    for result in results:
        value = result.setting.value(name)
        key = tuple(result.setting.value(other) for other in others)
        if not categories:
            groups.setdefault(key, []).append((float(value), result))
        elif value in categories:
            groups.setdefault(key, []).append((float(categories.index(value)), result))
        else:
            beyond += 1
    panels = dict(list(groups.items())[:_MOST_PANELS])
    for members in panels.values():
        members.sort(key=lambda member: member[0])
        beyond += len(members[_MOST_SETTINGS:])
        del members[_MOST_SETTINGS:]
    drawn = [result for members in panels.values() for _, result in members]
    with_values = [
        kernel
        for kernel in range(len(evidence.kernels))
        if any(result.cells[kernel].boots for result in drawn)
    ]
    kernels = with_values[: len(STYLES)]
    with_boots = sum(len(result.cells[k].boots) for result in drawn for k in kernels) <= _MOST_BOOTS
    sweep = Sweep(
        x=units.shorten(name, _PARAMETER),
        y=axis_of(drawn[0]),
        panels=[
            Panel(
                _heading(others, key),
                [
                    Line(label_of(evidence.labels[k]), _marks(evidence, members, k, with_boots))
                    for k in kernels
                ],
            )
            for key, members in panels.items()
        ],
        categories=categories,
    )
    lines = [
        *notes(evidence, drawn, _command(evidence)),
        _scatter(evidence, drawn, with_boots=with_boots, bands=not categories),
        *left_out(
            (len(groups) - len(panels), "combinations of the other parameters"),
            (beyond, "settings"),
            (len(with_values) - len(kernels), "kernels"),
        ),
        *([more] if more else []),
    ]
    head = title(drawn[0], f"by {units.shorten(name, _PARAMETER)}")
    return head, draw(head, sweep, lines)


def _parameters(evidence: Results, results: Sequence[Result]) -> tuple[str, list[str]]:
    """What goes along the axis, and what has a panel for each of its values: the numeric parameter
    with the most values, and those that do not follow from it (as zipped ones do)."""
    swept = evidence.swept
    columns = {name: [one.setting.value(name) for one in results] for name in swept}

    def rank(name: str) -> tuple[bool, int]:
        return all(map(_is_number, columns[name])), len(set(columns[name]))

    axis = max(swept, key=rank)
    values = set(columns[axis])
    others = [
        name
        for name in swept
        if name != axis and len(set(zip(columns[axis], columns[name], strict=True))) > len(values)
    ]
    return axis, others


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _categories(results: Sequence[Result], name: str) -> list[str]:
    """What stands along the axis where values are no numbers."""
    values = [result.setting.value(name) for result in results]
    if all(map(_is_number, values)):
        return []
    return list(dict.fromkeys(values))[:_MOST_CATEGORIES]


def _command(evidence: Results) -> str:
    """The workload as it was given, with {NAME} where a value is put."""
    words = evidence.manifest.workload.argv
    told = (word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)
    return units.printable(" ".join(told)) or "unknown"


def _heading(names: Sequence[str], values: Sequence[str]) -> str:
    told = (f"{name} {value}" for name, value in zip(names, values, strict=True))
    return units.shorten(", ".join(told), _HEADING)


def _marks(
    evidence: Results, members: Sequence[_Member], kernel: int, with_boots: bool
) -> list[Mark]:
    marks = []
    for x, result in members:
        cell = result.cells[kernel]
        found = level(cell.boots, evidence.rule)
        if found is not None:
            boots = boots_of(cell) if with_boots else []
            marks.append(Mark(x, found.median, found.low, found.high, boots))
    return marks


def _scatter(evidence: Results, results: Sequence[Result], *, with_boots: bool, bands: bool) -> str:
    """What points and bands are."""
    cells = [cell for result in results for cell in result.cells if cell.boots]
    counts = sorted({len(cell.boots) for cell in cells})
    if counts == [1]:
        return one_boot(results[0])
    if all(len(set(boots_of(cell))) == 1 for cell in cells):
        return "every boot of a cell gave the same value: there is no spread"
    told = []
    for count in dict.fromkeys((counts[0], counts[-1])):
        found = level([[float(number)] for number in range(count)], evidence.rule)
        if found is not None and count > 1:
            told.append(f"{100 * found.confidence:.1f} % with {count:,} boots")
    every = "small points: every boot" if with_boots else "too many boots to draw each"
    what = "bands" if bands else "lines"
    return f"{every}; {what}: the median's confidence interval, {', '.join(told)}"
