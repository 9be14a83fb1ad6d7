"""The code that the page holds: of the functions that differ most, each packed for itself."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.reports import documents
from profdiff.reports.page.accesses import RowNumbers
from profdiff.reports.page.records import (
    CodeColumns,
    CodeLines,
    CodePlace,
    CodeSplit,
    EmbeddedCode,
    FunctionCode,
    LineColumns,
    element,
)
from profdiff.topics.functions.measure import select
from profdiff.topics.functions.selection import Selection
from profdiff.views.annotation.making import Annotations
from profdiff.views.annotation.records import Access, Annotation, Line, Relation, Row, title

# Instructions that were never executed, shown before and after one that was.
CONTEXT = 2
_RELATIONS: dict[Relation, int] = {"same": 0, "changed": 1, "only": 2}
# A conditional branch has a number of jumps, 0 or more.
_NO_BRANCH = -1
_NO_ROW = -1
# The row among the fields that the page has.
RowOf = Callable[[Sequence[Access]], int | None]


class _Texts:
    """Texts by number; number 0 is not a text."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {"": 0}

    def number(self, text: str | None) -> int:
        return self.numbers.setdefault(text or "", len(self.numbers))


def packed_code(annotation: Annotation, row_of: RowOf = lambda _: None) -> FunctionCode:
    """Instructions that no kernel executed are kept only beside executed ones; ``before`` and
    ``after`` say how many are left out at each row. ``row_of``: where what is accessed stands."""
    kept, before, after = _kept(annotation.rows)
    rows = [annotation.rows[n] for n in kept]
    labels = annotation.labels
    shown = {(row.file, label, line) for row in rows for label, line in _lines(row).items()}
    lines = [line for line in annotation.lines if _is_worth(line, shown)]
    texts = _Texts()
    kernels = {label: _kernel(label, rows, texts, row_of) for label in labels}
    return FunctionCode(
        size=annotation.size,
        split={
            label: CodeSplit(same=one.same, other=one.other)
            for label, one in annotation.split.items()
        },
        places=[CodePlace(chains=place.chains, self=place.self) for place in annotation.places],
        notes=annotation.notes,
        place=[row.place for row in rows],
        relation=[_RELATIONS[row.relation] for row in rows],
        before=before,
        after=after,
        file=[texts.number(row.file) for row in rows],
        classes=[texts.number(", ".join(row.classes)) for row in rows],
        kernels=kernels,
        lines=CodeLines(
            file=[texts.number(line.file) for line in lines],
            text=[texts.number(line.text) for line in lines],
            kernels={label: _of_lines(label, lines) for label in labels},
        ),
        strings=list(texts.numbers),
    )


def _kept(rows: Sequence[Row]) -> tuple[list[int], list[int], list[int]]:
    """The rows to keep, and for each how many are left out before it, and after it to the end of
    its place."""
    worth = bytearray(len(rows))
    # The last row that was executed; context does not reach into another place.
    last = -CONTEXT - 1
    for n, row in enumerate(rows):
        if any(row.count.values()):
            for near in range(max(0, n - CONTEXT), n + 1):
                worth[near] |= rows[near].place == row.place
            last = n
        elif n - last <= CONTEXT and rows[last].place == row.place:
            worth[n] = 1
    kept = [n for n, is_kept in enumerate(worth) if is_kept]
    before = [0] * len(kept)
    after = [0] * len(kept)
    start: dict[int, int] = {}
    size: dict[int, int] = {}
    for n, row in enumerate(rows):
        start.setdefault(row.place, n)
        size[row.place] = size.get(row.place, 0) + 1
    for at, n in enumerate(kept):
        place = rows[n].place
        previous = kept[at - 1] if at and rows[kept[at - 1]].place == place else start[place] - 1
        before[at] = n - previous - 1
        if at + 1 == len(kept) or rows[kept[at + 1]].place != place:
            after[at] = start[place] + size[place] - n - 1
    return kept, before, after


def _kernel(label: str, rows: Sequence[Row], texts: _Texts, row_of: RowOf) -> CodeColumns:
    address = [int(row.address[label], 16) if label in row.address else None for row in rows]
    own = [one for one in address if one is not None]
    number_of = {one: n for n, one in enumerate(address)}
    steps = iter([0, *(b - a for a, b in pairwise(own))])
    targets = [row.target.get(label) for row in rows]
    sampled = any(row.samples is not None for row in rows)
    accesses = [row.accesses.get(label, []) for row in rows]
    known = any(accesses)
    return CodeColumns(
        start=f"{own[0]:x}" if own else "0",
        address=[0 if one is None else next(steps) for one in address],
        text=[texts.number(row.text.get(label)) for row in rows],
        count=[row.count.get(label, 0) for row in rows],
        samples=[(row.samples or {}).get(label, 0) for row in rows] if sampled else None,
        taken=[
            _NO_BRANCH if row.taken is None else row.taken.get(label, _NO_BRANCH) for row in rows
        ],
        target=[number_of.get(int(to, 16), _NO_ROW) if to else _NO_ROW for to in targets],
        line=[_lines(row).get(label, 0) for row in rows],
        accessed=[texts.number(title(own)) for own in accesses] if known else None,
        accessed_row=[_row_number(row_of(own)) for own in accesses] if known else None,
    )


def _row_number(found: int | None) -> int:
    return _NO_ROW if found is None else found


def _lines(row: Row) -> dict[str, int]:
    """The lines of those kernels on which the row is in its file."""
    return {label: line for label, line in row.lines.items() if label not in row.files}


def _is_worth(line: Line, shown: Iterable[tuple[str, str, int]]) -> bool:
    """Whether it was executed, or is the source of a row."""
    return any(line.count.values()) or (
        line.text is not None and any((line.file, *of) in shown for of in line.lines.items())
    )


def _of_lines(label: str, lines: Sequence[Line]) -> LineColumns:
    sampled = any(line.samples is not None for line in lines)
    return LineColumns(
        line=[line.lines.get(label, 0) for line in lines],
        count=[line.count.get(label, 0) for line in lines],
        samples=[(line.samples or {}).get(label, 0) for line in lines] if sampled else None,
    )


# Functions whose code a page holds, and what all of it may take, in bytes.
MOST = 200
ROOM = 600_000
# What one function may take; larger ones are left to ``profdiff annotate``.
ROOM_OF_ONE = 200_000
_NO_NUMBERS: Mapping[int, RowNumbers] = {}


class PageCode(NamedTuple):
    """``elements``: a script element for
    each function, which no browser executes, with gzip in base64."""

    held: EmbeddedCode
    elements: str


def page_code(findings: Findings, numbers: Mapping[int, RowNumbers] = _NO_NUMBERS) -> PageCode:
    """The code of the functions whose self counts differ most, then of those that execute most, as
    far as ``MOST`` and ``ROOM`` allow; metrics share these. ``numbers``: by metric, the rows of
    what the page has of accesses."""
    comparisons = documents.shown(findings)
    functions: list[list[int]] = [[] for _ in comparisons]
    elements: list[str] = []
    why = ""
    for number, comparison in enumerate(comparisons):
        room = ROOM // len(comparisons)
        code = Annotations(comparison, findings.session)
        row_of = numbers.get(number, RowNumbers()).of
        for row in _largest(comparison, MOST // len(comparisons)):
            try:
                annotation = code.annotation(row)
            except (InputError, SessionError) as error:
                why = why or str(error)
                continue
            if not annotation.rows:
                continue
            made = element(
                f"code-{number}-{row}", documents.encode(packed_code(annotation, row_of))
            )
            if len(made) <= min(room, ROOM_OF_ONE):
                room -= len(made)
                functions[number].append(row)
                elements.append(made)
    held = any(functions)
    why = "" if held else why or "this recording has no code of functions"
    return PageCode(EmbeddedCode(functions=functions, why=why), "".join(elements))


def _largest(comparison: Comparison, most: int) -> list[int]:
    """The functions whose self counts differ most, or are largest, by their numbers."""
    rows = select(comparison, Selection(top=most)).shown
    found: list[int] = rows[np.any(comparison.self_[rows] != 0, axis=1)].tolist()
    return found
