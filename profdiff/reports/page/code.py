"""The code that the page holds: of the functions that differ most, each packed for itself."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from profdiff.base.errors import InputError, SessionError
from profdiff.evidence.findings import Findings
from profdiff.profile.comparison import Comparison
from profdiff.reports.documents import session
from profdiff.reports.page.accesses import RowNumbers
from profdiff.reports.page.element import element
from profdiff.reports.page.packed_code import packed
from profdiff.reports.page.records import EmbeddedCode
from profdiff.topics.functions.measure import select
from profdiff.topics.functions.selection import Selection
from profdiff.views.annotation.making import Annotations

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
    comparisons = session.shown(findings)
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
            made = element(f"code-{number}-{row}", session.encode(packed(annotation, row_of)))
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
