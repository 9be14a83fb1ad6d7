"""The tables of instruction classes as text: of the whole, and of each function."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from profdiff.forms.columns import Block, Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.profile.code.classes import InstructionClasses, instruction_classes
from profdiff.profile.comparison import Comparison
from profdiff.topics.functions import measure
from profdiff.topics.functions.measure import Rows
from profdiff.views.profile.classes import TOLD, Change, changes

SAMPLED = (
    "instruction classes: samples do not show which instructions ran; record with --collector exact"
)
_LEGEND = (
    "Classes count the executed instructions of a function itself. An instruction can be of "
    "several classes or of none: they do not add up to the instructions."
)
_LEFT_OUT = "Sentences leave out what changes by less than 1%{}."
# Per op.
_LEAST = 0.005


def render(comparison: Comparison, rows: Rows, numbers: Numbers, width: int) -> list[Block | str]:
    """What changed in words, the classes of the whole and, of each kernel but the base, those that
    change in functions. ``comparison`` is of exact counts."""
    found = instruction_classes(comparison)
    if found is None:
        return [SAMPLED]
    parts = _told(comparison, found, rows, numbers)
    parts += _whole(comparison, found, rows, numbers, width)
    base, *others = comparison.labels
    if not others:
        of = _Functions(comparison, found, found.counts[:, :, 0], numbers.count)
        parts += of.drawn(rows, f"classes of instructions by function{numbers.title}", width)
    for kernel, label in enumerate(others, 1):
        delta = found.counts[:, :, kernel] - found.counts[:, :, 0]
        of = _Functions(comparison, found, delta, numbers.delta)
        title = f"{label} minus {base}: classes of instructions by function{numbers.title}"
        parts += of.drawn(rows, title, width)
    if found.unseen.any():
        each = zip(found.unseen.tolist(), comparison.labels, strict=True)
        told = ", ".join(f"{number:,} ({label})" for number, label in each)
        parts.append(f"Instructions in no class, since their bytes were not recorded: {told}.")
    least = f" or by less than {_LEAST} per op" if numbers.ops else ""
    return [*parts, f"{_LEGEND} {_LEFT_OUT.format(least)}" if others else _LEGEND]


def _told(
    comparison: Comparison, found: InstructionClasses, rows: Rows, numbers: Numbers
) -> list[Block | str]:
    """A sentence for each kernel: how classes of few instructions changed."""
    sentences: list[Block | str] = []
    per = " per op" if numbers.ops else ""
    # What a table shows as nothing.
    least = max(_LEAST * (numbers.ops or 0), 1)
    for kernel, label in enumerate(comparison.labels[1:], 1):
        told = [
            f"{numbers.delta(one.delta)} {one.name}{per} ({_where(comparison, one, numbers)})"
            for one in changes(comparison, found, kernel, rows.side, least)
        ]
        same = f"as many {', '.join(TOLD[:-1])} and {TOLD[-1]} as {comparison.labels[0]}"
        sentences.append(f"{label}: {'; '.join(told) or same}.")
    return sentences


def _where(comparison: Comparison, change: Change, numbers: Numbers) -> str:
    rows = np.array([row for row, _ in change.functions], np.int64)
    named = zip(measure.functions(comparison, rows), change.functions, strict=True)
    told = [f"{one.title} {numbers.delta(delta)}" for one, (_, delta) in named]
    return ", ".join([*told, *([f"{change.others} more"] if change.others > 0 else [])])


def _whole(
    comparison: Comparison, found: InstructionClasses, rows: Rows, numbers: Numbers, width: int
) -> list[Block]:
    """Every class that executed on some kernel."""
    base, *others = comparison.labels
    columns = [Column(base)]
    for part, label in enumerate(others):
        several = part if len(others) > 1 else None
        columns.append(Column(label, part=several))
        columns += [] if len(others) > 1 else [Column("delta")]
        columns.append(Column(numbers.relative, part=several, spare=1))
    body: list[list[str]] = []
    totals = found.counts[found.rows(rows.side)].sum(axis=0)
    for name, values in zip(found.names, totals.tolist(), strict=True):
        if not any(values):
            continue
        cells = [numbers.count(values[0])]
        for value in values[1:]:
            cells.append(numbers.count(value))
            cells += [] if len(others) > 1 else [numbers.delta(value - values[0])]
            cells.append(numbers.change(values[0], value))
        body.append([*cells, name])
    title = f"classes of instructions{numbers.title}"
    return draw(title, [*columns, Column("class", name=True)], body, width)


class _Functions:
    """A table of functions with a column for each class of which ``values``, int64[rows, C], some
    are not 0; a class that does not fit stands in a table below."""

    def __init__(
        self,
        comparison: Comparison,
        found: InstructionClasses,
        values: NDArray[np.int64],
        show: Callable[[int], str],
    ) -> None:
        self._comparison, self._found, self._values, self._show = comparison, found, values, show

    def drawn(self, rows: Rows, title: str, width: int) -> list[Block]:
        """The shown functions that have some class; then the rest, and all."""
        values, side_rows = self._values, self._found.rows(rows.side)
        # Behind the functions are rows of what has none.
        without = side_rows[side_rows >= len(self._comparison.functions)]
        sums = {
            "not shown": values[rows.hidden].sum(axis=0),
            "without a function": values[without].sum(axis=0),
            "all": values[side_rows].sum(axis=0),
        }
        shown = rows.shown[values[rows.shown].any(axis=1)]
        wanted = np.flatnonzero(values[shown].any(axis=0))
        if not len(wanted):
            return []
        names = [self._found.names[number] for number in wanted]
        columns = [Column(name, part=part) for part, name in enumerate(names)]
        named = measure.functions(self._comparison, shown)
        body = [
            self._line(values[row, wanted], one.title)
            for row, one in zip(shown.tolist(), named, strict=True)
        ]
        tail = [
            self._line(line[wanted], name)
            for name, line in sums.items()
            if name == "all" or line.any()
        ]
        return draw(title, [*columns, Column("function", name=True)], body, width, tail)

    def _line(self, values: NDArray[np.int64], name: str) -> list[str]:
        return [*map(self._show, values.tolist()), name]
