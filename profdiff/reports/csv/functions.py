"""The function table as CSV: every function, unrounded."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from profdiff.forms import csv
from profdiff.profile.code.classes import CLASSES, InstructionClasses, instruction_classes
from profdiff.profile.comparison import Comparison, Side
from profdiff.shapes.table import Cells, Table, of_kernel
from profdiff.topics.functions import measure, shapes
from profdiff.topics.functions.measure import Line
from profdiff.topics.functions.selection import Selection


def render(
    comparisons: Sequence[Comparison], selection: Selection, *, classes: bool = False
) -> str:
    """For each metric one line for each function, one for those left out, one for each reason of
    unresolved addresses: the self columns sum to all of the side that was asked for. ``classes``:
    with a column for each class of instructions and kernel, blank where that is not known."""
    labels = comparisons[0].labels
    sampled = any(comparison.samples is not None for comparison in comparisons)
    called = any(comparison.calls is not None for comparison in comparisons)
    alike = [comparison for comparison in comparisons if comparison.labels == labels]
    return csv.tables([_table(one, selection, sampled, called, classes) for one in alike])


def _table(
    comparison: Comparison, selection: Selection, samples: bool, called: bool, classes: bool
) -> Table:
    rows = measure.select(comparison, selection)
    lines = measure.lines(comparison, rows)[:-1]
    by_class = instruction_classes(comparison) if classes else None
    if by_class is not None:
        lines += _no_difference(comparison, by_class, rows.side)
    figures: dict[str, Callable[[Line, str], int | None]] = {}
    if samples:
        figures["samples"] = _samples
    if called:
        figures["calls"] = shapes.times_called(comparison)
    details = [*_classes(comparison, by_class)] if classes else ()
    return shapes.every(comparison.metric.name, [comparison.labels], lines, figures, details)


def _samples(line: Line, kernel: str) -> int | None:
    return line.samples[kernel] if line.samples and line.what == "function" else None


def _no_difference(
    comparison: Comparison, by_class: InstructionClasses, side: Side | None
) -> Iterator[Line]:
    """Two lengths executed the same number of instructions there, of other classes."""
    first = len(comparison.functions) + len(comparison.unnamed)
    for row in by_class.rows(side).tolist():
        if row >= first and by_class.counts[row].any():
            none = dict.fromkeys(comparison.labels, 0)
            where: Side = "kernel" if by_class.in_kernel[row] else "user"
            yield Line(
                what="hidden",
                title="",
                name="[no difference]",
                side=where,
                numbers=[row],
                self=none,
                total=none,
            )


def _classes(comparison: Comparison, by_class: InstructionClasses | None) -> Iterator[Cells]:
    """A class that no recording tells (branches taken) is blank."""
    number = {label: at for at, label in enumerate(comparison.labels)}

    def count(name: str, line: Line, kernel: str) -> int | None:
        if by_class is None or name not in by_class.names:
            return None
        return int(by_class.counts[line.numbers, by_class.names.index(name), number[kernel]].sum())

    for name in CLASSES:
        for label in comparison.labels:
            yield of_kernel(label, name, "detail", partial(count, name), title=name)
