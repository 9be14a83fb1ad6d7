"""Source lines alone, with what all of their code costs: ``annotate --by line``."""

from collections.abc import Iterator, Mapping, Sequence

from profdiff.reports.annotation import accessed
from profdiff.reports.annotation.figures import Figures
from profdiff.reports.annotation.listing import ListingLine, RowLines, near_executed, titled
from profdiff.views.annotation.records import Annotation, Line, Row
from profdiff.views.record import Counts


def entries(figures: Figures, context: int) -> list[ListingLine]:
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
            accesses=accessed.of_rows(rows.get(id(line), ()), figures.labels),
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
