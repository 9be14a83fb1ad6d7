"""A function's code on every kernel as text: for a terminal, a pager, and a mail."""

import re
from collections.abc import Iterator, Mapping, Sequence

from profdiff.base import units
from profdiff.base.terminal import Span, Styled
from profdiff.forms.columns import MIN_WIDTH, Column, draw, joined
from profdiff.forms.numbers import Numbers
from profdiff.reports.annotation import listing
from profdiff.reports.annotation.columns import Drawn, Look, line_table, listing_table
from profdiff.reports.annotation.figures import Figures
from profdiff.reports.annotation.listing import (
    ListingLine,
    RowLines,
    listings,
    near_executed,
    titled,
)
from profdiff.reports.form import Layout, ReportOptions
from profdiff.views.annotation.records import UNKNOWN, Annotation, Line, Row
from profdiff.views.record import Counts


def line_entries(figures: Figures, context: int) -> list[ListingLine]:
    """Files, those first of which most is executed, and in each its lines in order; ``context``: so
    many never-executed lines are shown around each executed one."""
    by_file: dict[str, list[Line]] = {}
    for line in figures.annotation.lines:
        by_file.setdefault(line.file, []).append(line)
    rows = _by_line(figures.annotation)
    made: list[ListingLine] = []
    for file, lines in sorted(by_file.items(), key=lambda item: -_most(item[1])):
        whole = _sum(figures.labels, lines)
        title = dict.fromkeys(figures.labels, file or "no line known")
        made.append(ListingLine("place", title, counts=whole, whole=whole))
        made += _of_file(figures, lines, rows, context)
    return made


def _by_line(annotation: Annotation) -> dict[int, list[Row]]:
    """The instructions of each line, by its identity."""
    known = RowLines(annotation)
    found: dict[int, list[Row]] = {}
    for row in annotation.rows:
        if line := known.of(row):
            found.setdefault(id(line), []).append(row)
    return found


def _of_file(
    figures: Figures, lines: Sequence[Line], rows: Mapping[int, Sequence[Row]], context: int
) -> Iterator[ListingLine]:
    gap = 0
    shown = near_executed([any(line.count.values()) for line in lines], context)
    for line, visible in zip(lines, shown, strict=True):
        if not visible:
            gap += 1
            continue
        if gap:
            yield _left_out(figures, gap)
            gap = 0
        text = titled(line, figures.labels, line.file)
        yield ListingLine(
            "code",
            dict.fromkeys(figures.labels, text),
            counts=line.count,
            whole=line.count,
            samples=line.samples,
            accesses=listing.accessed_by_rows(rows.get(id(line), ()), figures.labels),
        )
    if gap:
        yield _left_out(figures, gap)


def _left_out(figures: Figures, lines: int) -> ListingLine:
    return ListingLine(
        "left out", dict.fromkeys(figures.labels, f"... {lines:,} more, never executed")
    )


def _most(lines: Sequence[Line]) -> int:
    return max((abs(value) for line in lines for value in line.count.values()), default=0)


def _sum(labels: Sequence[str], lines: Sequence[Line]) -> Counts:
    return {label: sum(line.count.get(label, 0) for line in lines) for label in labels}


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
        f"not executed on {label}"
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


# So many never-executed instructions, or lines, stand around an executed one.
_CONTEXT = {"instruction": 2, "line": 0}
# What differs in the texts of listings: a kernel's own number, a jump within the function.
_NUMBERED = re.compile(r"^\S*(line |:)[\d-]+/")
_WITHIN = re.compile(r"^\S+ +\+0x")


def render(annotation: Annotation, asked: ReportOptions) -> list[Styled]:
    """The whole text, at most ``asked.width`` columns (from ``MIN_WIDTH``)."""
    width, layout = max(asked.width or 0, MIN_WIDTH), asked.layout
    numbers = Numbers(annotation.ops if asked.per_op is not False else None)
    figures = Figures(annotation, numbers)
    look = Look(width, not numbers.ops, asked.ascii_only, layout.addresses)
    context = _CONTEXT[layout.by] if layout.context is None else layout.context
    entries: list[ListingLine]
    if layout.by == "line":
        entries = line_entries(figures, context)
        drawn = line_table(figures, entries, look)
    else:
        shown = listings(annotation, context, cold=layout.cold)
        entries = [entry for listing in shown for entry in listing.entries]
        drawn = listing_table(figures, shown, look)
    lines = [*head(figures, width), Styled(""), *drawn.lines, Styled("")]
    lines += [Styled(text) for text in units.wrap(_legend(figures, entries, drawn, layout), width)]
    return [ascii_line(line) for line in lines] if asked.ascii_only else lines


def _legend(figures: Figures, entries: Sequence[ListingLine], drawn: Drawn, layout: Layout) -> str:
    """The legend of the signs that are shown."""
    base, *others = figures.labels
    code = [entry for entry in entries if entry.kind == "code"]
    if figures.annotation.exact:
        told = [f"counts: {figures.unit}"]
    else:
        told = [f"share: part of the function's {figures.unit}"]
        told.append("samples: how many a line's figures are known from")
    sources = [one for one in entries if one.kind == "source" or layout.by == "line"]
    if others and any(
        _NUMBERED.search(text) for source in sources for text in source.texts.values()
    ):
        told.append(f"line: its number on {' / '.join(figures.labels)}, - where it has none")
    if others:
        told.append(f"delta: {figures.unit}, relative to {base}")
    if any(any(entry.accesses.values()) for entry in code):
        told.append(_accesses(code))
    if layout.by == "instruction":
        signs = {entry.sign for entry in code}
        new = others[0] if len(others) == 1 else f"not on {base}"
        told += [
            text
            for sign, text in (
                ("-", f"- only on {base}"),
                ("+", f"+ only on {new}" if len(others) == 1 else f"+ {new}"),
                ("~", "~ other operands"),
            )
            if sign in signs
        ]
        if any(_moved(entry) for entry in code):
            told.append("jumps to +0x..: within the function that a copy's line begins with")
        if drawn.arrows:
            counted = all(entry.counted for entry in code if entry.targets)
            told.append(f"arrows: jumps{' that were taken' if counted else ''}")
        if drawn.left_out:
            told.append(f"{drawn.left_out:,} arrows have no room")
        if any(entry.taken for entry in code):
            which = f" ({' / '.join(figures.labels)})" if others else ""
            told.append(f"taken: how often a conditional branch jumped{which}")
        if any(not entry.executed for entry in code):
            told.append("0: never executed")
    return f"{'; '.join(told)}."


def _accesses(code: Sequence[ListingLine]) -> str:
    """What stands behind a semicolon."""
    names = [name for entry in code for name in entry.accesses.values()]
    signs = [f"{UNKNOWN} not known which"] if UNKNOWN in names else []
    signs += ["a | b names of one place in a union"] if any(" | " in name for name in names) else []
    several = any(len(set(entry.accesses.values())) > 1 for entry in code)
    signs += ["a / b names on each kernel"] if several else []
    told = f" ({', '.join(signs)})" if signs else ""
    return f"behind a semicolon: the data that is accessed{told}"


def _moved(entry: ListingLine) -> bool:
    return any(_WITHIN.search(text) for text in entry.texts.values())


def ascii_line(line: Styled) -> Styled:
    """In ASCII; without looks where it got longer."""
    text = units.ascii_only(line.text)
    return line if text == line.text else Styled(text, line.spans if _same(line, text) else ())


def _same(line: Styled, text: str) -> bool:
    return len(text) == len(line.text)
