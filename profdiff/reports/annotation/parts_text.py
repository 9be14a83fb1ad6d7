"""A function's code under several compilers, or on several architectures, as text: source lines
with columns for each beside each other, or the instructions of one after those of the other."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from profdiff.base import units
from profdiff.base.terminal import Span, Style, Styled
from profdiff.forms.columns import MIN_WIDTH, Block, Column, draw
from profdiff.forms.numbers import Numbers
from profdiff.reports.annotation import text as annotation_text
from profdiff.reports.annotation.figures import Figures
from profdiff.reports.annotation.listing import near_executed, titled
from profdiff.reports.annotation.text import ascii_line, notes
from profdiff.reports.form import ReportOptions
from profdiff.session.held import KINDS, PartKind
from profdiff.views.parts.annotation import JointAnnotation, JointLine
from profdiff.views.record import Counts
from profdiff.views.results.result import ABSENT


class _Row(NamedTuple):
    """``counts``: by part, None where it has no such code; ``look``: of the whole line."""

    text: str
    counts: Mapping[str, Counts | None]
    look: Style | None = None


def render(joint: JointAnnotation, asked: ReportOptions) -> list[Styled]:
    """The whole text, at most ``asked.width`` columns (from ``MIN_WIDTH``)."""
    kind = next(one for one in KINDS if one.name == joint.kind)
    shown = _by_line if asked.layout.by == "line" else _one_by_one
    lines = shown(joint, kind, asked)
    return [ascii_line(line) for line in lines] if asked.ascii_only else lines


def _one_by_one(joint: JointAnnotation, kind: PartKind, asked: ReportOptions) -> list[Styled]:
    lines: list[Styled] = []
    width = max(asked.width or 0, MIN_WIDTH)
    for name, annotation in joint.parts.items():
        heading = f"{kind.at(name)}:"
        lines += [Styled(heading, [Span(0, len(heading), "bold")]), Styled("")]
        lines += [*annotation_text.render(annotation, asked), Styled("")]
    lines += [Styled(text) for why in _missing(joint) for text in units.wrap(why, width, 2)]
    return lines if lines[-1].text else lines[:-1]


def _by_line(joint: JointAnnotation, kind: PartKind, asked: ReportOptions) -> list[Styled]:
    width = max(asked.width or 0, MIN_WIDTH)
    figures = {
        name: Figures(one, Numbers(one.ops if asked.per_op is not False else None))
        for name, one in joint.parts.items()
    }
    columns, rows = _columns(figures), list(_rows(joint, asked.layout.context or 0))
    whole = _Row("all", {name: one.self for name, one in joint.parts.items()})
    body = [[*_cells(figures, row), row.text] for row in rows]
    tail = [[*_cells(figures, whole, absolute=True), whole.text]]
    first = next(iter(figures.values()))
    title = f"{joint.function}: {joint.metric}{first.numbers.title}, {kind.plural} side by side"
    lines: list[Styled] = []
    for block in draw(title, columns, body, width, tail):
        lines += [*([Styled("")] if lines else []), *_styled(figures, block, rows)]
    told = [f"note: {name}: {note}" for name, one in joint.parts.items() for note in notes(one)]
    told = [units.printable(text) for text in [*told, *_missing(joint)]]
    lines += [Styled(""), *(Styled(text) for one in told for text in units.wrap(one, width, 2))]
    lines += [Styled("")] if told else []
    legend = _legend(kind, figures, absent=any(ABSENT in row for row in body))
    return [*lines, *(Styled(text) for text in units.wrap(legend, width))]


def _missing(joint: JointAnnotation) -> list[str]:
    return [units.printable(f"{name}: {why}") for name, why in joint.missing.items()]


def _columns(figures: Mapping[str, Figures]) -> list[Column]:
    made: list[Column] = []
    for part, (name, own) in enumerate(figures.items()):
        base, *others = own.labels
        made.append(Column(base, part=part, spare=1 if others else 0, group=name))
        for label in others:
            made.append(Column(label, part=part, spare=1, group=name))
            made.append(Column("delta", part=part, group=name))
    return [*made, Column("code", name=True)]


def _rows(joint: JointAnnotation, context: int) -> Iterator[_Row]:
    """Files, those first of which most is executed, and in each its lines in order."""
    labels = list(dict.fromkeys(label for one in joint.parts.values() for label in one.labels))
    by_file: dict[str, list[JointLine]] = {}
    for line in joint.lines:
        by_file.setdefault(line.file, []).append(line)
    for file, lines in sorted(by_file.items(), key=lambda item: -max(map(_most, item[1]))):
        sums = {name: _sum(name, lines) for name in joint.parts}
        yield _Row(units.printable(file or "no line known"), sums, "bold")
        shown = near_executed([_most(line) > 0 for line in lines], context)
        gap = 0
        for line, visible in zip(lines, shown, strict=True):
            if not visible:
                gap += 1
                continue
            if gap:
                yield _left_out(gap)
                gap = 0
            look: Style | None = None if _most(line) else "dim"
            yield _Row(f"  {titled(line, labels, line.file)}", line.parts, look)
        if gap:
            yield _left_out(gap)


def _left_out(lines: int) -> _Row:
    return _Row(f"  ... {lines:,} more, never executed", {}, "dim")


def _most(line: JointLine) -> int:
    every = (abs(value) for one in line.parts.values() if one for value in one.values())
    return max(every, default=0)


def _sum(name: str, lines: Sequence[JointLine]) -> Counts | None:
    counts: Counts = {}
    for line in lines:
        for label, value in (line.parts.get(name) or {}).items():
            counts[label] = counts.get(label, 0) + value
    return counts or None


def _cells(figures: Mapping[str, Figures], row: _Row, *, absolute: bool = False) -> list[str]:
    """``absolute``: of samples, the function's own counts, of which the others are parts."""
    cells: list[str] = []
    for name, own in figures.items():
        base, *others = own.labels
        counts = row.counts.get(name)
        if counts is None:
            cells += [ABSENT if row.counts else "", *["", ""] * len(others)]
            continue
        told = {
            label: own.numbers.count(counts[label]) if absolute else own.count(label, counts)
            for label in own.labels
        }
        cells.append(told[base])
        for label in others:
            cells += [told[label], own.delta(label, counts)]
    return cells


def _styled(figures: Mapping[str, Figures], block: Block, rows: Sequence[_Row]) -> Iterator[Styled]:
    """A block's lines: more is red and less is blue where all that differ agree."""
    for text in block.head:
        yield Styled(text, [Span(0, len(text), "bold")])
    start = block.head[-1].rfind("code")
    for row, text in zip(rows, block.body, strict=True):
        look = row.look or _look(figures, row)
        if look is None:
            yield Styled(text)
        else:
            end = len(text) if row.look else min(start, len(text))
            yield Styled(text, [Span(0, end, look)])
    yield from map(Styled, block.tail)


def _look(figures: Mapping[str, Figures], row: _Row) -> Style | None:
    deltas = set()
    for name, own in figures.items():
        counts = row.counts.get(name) or {}
        base, *others = (counts.get(label, 0) for label in own.labels)
        deltas |= {other > base for other in others if other != base}
    if len(deltas) != 1:
        return None
    return "more" if deltas.pop() else "less"


def _legend(kind: PartKind, figures: Mapping[str, Figures], *, absent: bool) -> str:
    own = next(iter(figures.values()))
    base, *others = own.labels
    if own.annotation.exact:
        told = [f"counts: {own.unit}"]
    else:
        told = [f"share: part of the function's {own.unit} {kind.word} the same {kind.name}"]
    if others:
        told.append(f"delta: {own.unit}, relative to {base} {kind.word} the same {kind.name}")
    if absent:
        told.append(f"{ABSENT}: {kind.one} has no code for it")
    return f"{'; '.join(told)}."
