"""The head of an annotation: what a function costs on every kernel, and how much of the difference
is other code."""

from collections.abc import Sequence

from profdiff.base import units
from profdiff.base.terminal import Span, Styled
from profdiff.forms.columns import Column, draw, joined
from profdiff.reports.annotation.figures import Figures
from profdiff.views.annotation.records import Annotation
from profdiff.views.record import Counts


def head(figures: Figures, width: int) -> list[Styled]:
    """A table with the numbers, and what a reader must know."""
    annotation, numbers = figures.annotation, figures.numbers
    base, *others = annotation.labels
    several = len(others) > 1
    columns = [Column(base)]
    for part, label in enumerate(others):
        own = part if several else None
        columns += [Column(label, part=own), Column("delta", part=own)]
        columns.append(Column(numbers.relative, part=own, spare=1))
    rows = [_row(figures, annotation.self, figures.unit)]
    if annotation.samples is not None:
        rows.append(_plain(annotation, annotation.samples, "samples"))
    rows += _split(figures)
    rows += _calls(figures)
    rows.append(_plain(annotation, annotation.size, "bytes of own code"))
    title = f"{annotation.function}: {annotation.metric}{numbers.title}"
    drawn = joined(draw(title, [*columns, Column("", name=True)], rows, width))
    lines = [Styled(drawn[0], [Span(0, len(drawn[0]), "bold")]), *map(Styled, drawn[1:])]
    for note in notes(annotation):
        lines += map(Styled, units.wrap(units.printable(f"note: {note}"), width, 2))
    return lines


def notes(annotation: Annotation) -> list[str]:
    """What a reader must know, and on which kernels there is nothing to show."""
    own = [
        f"{label} executed nothing of it"
        for label in annotation.labels
        if not annotation.self[label] and not _executed(annotation, label)
    ]
    return list(dict.fromkeys([*own, *annotation.notes]))


def _executed(annotation: Annotation, label: str) -> bool:
    """Counts of two lengths can cancel out."""
    return any(row.count.get(label) for row in annotation.rows)


def _row(figures: Figures, counts: Counts, name: str) -> list[str]:
    base, *others = figures.labels
    numbers = figures.numbers
    cells = [numbers.count(counts[base])]
    for label in others:
        cells += [
            numbers.count(counts[label]),
            numbers.delta(counts[label] - counts[base]),
            numbers.change(counts[base], counts[label]),
        ]
    return [*cells, name]


def _split(figures: Figures) -> list[list[str]]:
    annotation, numbers = figures.annotation, figures.numbers
    executed = sum(bool(count) for count in annotation.self.values())
    # What one kernel alone executes is no other's.
    if not annotation.split or executed < 2:
        return []
    others = annotation.labels[1:]
    made = []
    same = [annotation.split[label].same for label in others]
    for name, deltas in (
        (f"the same code, executed {_often(same)} often", same),
        ("other code", [annotation.split[label].other for label in others]),
    ):
        cells = [""]
        for delta in deltas:
            cells += ["", numbers.delta(delta), ""]
        made.append([*cells, f"  {name}"])
    return made


def _often(deltas: Sequence[int]) -> str:
    more, less = any(delta > 0 for delta in deltas), any(delta < 0 for delta in deltas)
    if more == less:
        return "more or less" if more else "as"
    return "more" if more else "less"


def _calls(figures: Figures) -> list[list[str]]:
    """How often it was entered, and what one call executes of its own code; copies that were
    inlined are not called."""
    annotation = figures.annotation
    calls = annotation.calls
    if calls is None or not any(calls.values()):
        return []
    own = {label: _itself(annotation, label) for label in annotation.labels}
    if all(count is None for count in own.values()):
        return []
    costs = {
        label: count / calls[label]
        for label, count in own.items()
        if count is not None and calls[label]
    }
    cells = _cost(annotation.labels, costs)
    return [
        _row(figures, calls, f"calls{figures.per_op}"),
        [*cells, f"{annotation.metric} per call"],
    ]


def _itself(annotation: Annotation, label: str) -> int | None:
    """The counts of its own code on a kernel; None where only inlined copies are shown."""
    chains = ((place, place.chains.get(label, ())) for place in annotation.places)
    counts = [place.self.get(label, 0) for place, chain in chains if len(chain) == 1]
    return sum(counts) if counts else None


def _cost(labels: Sequence[str], costs: dict[str, float]) -> list[str]:
    base, *others = labels
    cells = [_each(costs.get(base))]
    for label in others:
        cells.append(_each(costs.get(label)))
        both = label in costs and base in costs
        cells += [units.delta(costs[label] - costs[base], per_op=True) if both else "", ""]
    return cells


def _each(cost: float | None) -> str:
    return "-" if cost is None else units.count(cost, per_op=True)


def _plain(annotation: Annotation, values: Counts, name: str) -> list[str]:
    """Whole numbers that are not counts of the metric."""
    base, *others = annotation.labels
    cells = [units.count(values[base])]
    for label in others:
        cells += [units.count(values[label]), units.delta(values[label] - values[base]), ""]
    return [*cells, name]
