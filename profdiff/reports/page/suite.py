"""The page of a suite: the overview, and the report of each cell, which opens in place. What
reports have in common is held once, tables are columns; ``templates/suite/packed_cell.js`` undoes
it."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from profdiff.base.errors import InputError, SessionError
from profdiff.base.processes import made_in_order
from profdiff.evidence.findings import Findings, choose
from profdiff.evidence.results import Results
from profdiff.profile import session_facts
from profdiff.reports.page import html, points, records
from profdiff.reports.page.records import Shared, SharedFunctions, SuitePage, compressed, page_of
from profdiff.session.session import Session
from profdiff.session.state import compare_states
from profdiff.views.document import Document
from profdiff.views.suite import SuiteCell, SuiteDocument

# What one cell may take, and all of them, in bytes of compressed JSON. base64 makes a third more of
# it: with what the page is without cells, 15 MB.
ROOM, ROOM_OF_ALL = 72_000, 10_000_000
# A cell may take so many times what is left for it, as most take less.
_MORE = 3
# Members that each cell has of its own, or that are packed otherwise.
_OWN = {
    *("heading", "answers", "evidence", "workload", "metrics", "stacks", "report_command"),
    "schema",
}
# Each member of these is shared by itself.
_DIVIDED = ("facts", "experiment")
# Shorter ones are not worth a number.
_LEAST = 100

_Row = dict[str, Any]


class Packer:
    """Packs the reports of ``cells`` cells one after the other; ``shared`` is what they have in
    common."""

    def __init__(self, cells: int = 1) -> None:
        self._cells, self._left = max(1, cells), ROOM_OF_ALL
        self._members: list[Any] = []
        self._numbers: dict[str, int] = {}
        self._rows: list[_Row] = []
        self._known: dict[tuple[Any, ...], list[int]] = {}

    def pack(self, built: dict[str, Any]) -> bytes | None:
        """``PackedCell`` as compressed JSON: all of a cell's ``Page`` but code, without
        its stacks where they have no room; None if the rest has none either."""
        room = min(ROOM, self._left, _MORE * self._left // self._cells)
        self._cells = max(1, self._cells - 1)
        for make in (dict, points.without_stacks):
            text = json.dumps(self._packed(make(built)), separators=(",", ":")).encode()
            data = compressed(text)
            if len(data) <= room:
                self._left -= len(data)
                return data
        return None

    @property
    def shared(self) -> Shared:
        """What the page holds once, when all reports are packed."""
        labels = {label: None for row in self._rows for label in row["line"]}
        columns = ("name", "object", "file", "side", "namesakes")
        functions = SharedFunctions(
            **{key: [row[key] for row in self._rows] for key in columns},
            line={label: [row["line"].get(label, 0) for row in self._rows] for label in labels},
        )
        return Shared(members=self._members, functions=functions)

    def _packed(self, built: dict[str, Any]) -> dict[str, Any]:
        # The page shows tables of results, not the results.
        left = {**built, "experiment": {**built["experiment"], "results": []}}
        stacks, metrics = left.pop("stacks"), left.pop("metrics")
        members: dict[str, int] = {}
        for name in [name for name in left if name not in _OWN]:
            if name in _DIVIDED:
                left[name] = dict(left[name])
                for inner in list(left[name]):
                    self._share(left[name], inner, f"{name}.{inner}", members)
            else:
                self._share(left, name, name, members)
        return {
            "report": left,
            "members": members,
            "stacks": [_stacks(stack) for stack in stacks],
            "metrics": [self._metric(metric) for metric in metrics],
        }

    def _share(self, of: dict[str, Any], name: str, path: str, members: dict[str, int]) -> None:
        text = json.dumps(of[name], separators=(",", ":"))
        if len(text) < _LEAST:
            return
        if text not in self._numbers:
            self._numbers[text] = len(self._members)
            self._members.append(of[name])
        members[path] = self._numbers[text]
        del of[name]

    def _metric(self, metric: dict[str, Any]) -> dict[str, Any]:
        functions = metric["functions"]
        labels = list(metric["totals"])
        packed: dict[str, Any] = {
            "shared": _steps([self._function(row) for row in functions]),
            "symbols": _sparse([row["symbols"] for row in functions]),
            "marks": _sparse([row["marks"] for row in functions]),
        }
        for key in ("self", "total", "samples"):
            known = bool(functions) and functions[0][key] is not None
            packed[key] = (
                {label: [row[key][label] for row in functions] for label in labels}
                if known
                else None
            )
        return {**metric, "functions": packed, "code": None}

    def _function(self, row: _Row) -> int:
        """The number of a function, which its lines do not contradict."""
        key = (row["name"], row["object"], row["file"], row["side"], row["namesakes"])
        lines = {label: line for label, line in row["line"].items() if line}
        for number in self._known.setdefault(key, []):
            known = self._rows[number]["line"]
            if all(known.get(label, line) == line for label, line in lines.items()):
                known |= lines
                return number
        number = len(self._rows)
        self._known[key].append(number)
        self._rows.append({**row, "line": lines})
        return number


def _stacks(stacks: dict[str, Any]) -> dict[str, Any]:
    """Callers as distances: the same path has the same ones, wherever it lies."""
    parents = enumerate(stacks["parent"])
    return {**stacks, "parent": [number - above if above >= 0 else 0 for number, above in parents]}


def _steps(values: list[int]) -> list[int]:
    before = [0, *values]
    return [value - last for value, last in zip(values, before, strict=False)]


def _sparse(values: list[Any]) -> list[list[Any]]:
    return [[number, value] for number, value in enumerate(values) if value]


Value = TypeVar("Value")


def for_each_cell(
    folder: Path, shown: SuiteDocument, make: Callable[[SuiteCell, Findings], Value]
) -> Iterator[tuple[SuiteCell, Value | None]]:
    """What ``make`` makes of each cell of the suite in ``folder``, in order; None of one that has
    none: no kernel has a value there, or its recording is damaged. Each session is opened once,
    and let go. Raises SessionError for one that cannot be read."""
    sessions = [list(cells) for _, cells in groupby(shown.cells, key=lambda cell: cell.session)]
    parts = made_in_order(partial(_of_session, folder, make), sessions)
    for cells, part in zip(sessions, parts, strict=True):
        yield from zip(cells, part, strict=True)


def _of_session(
    folder: Path, make: Callable[[SuiteCell, Findings], Value], cells: Sequence[SuiteCell]
) -> list[Value | None]:
    session = Session.open(folder / cells[0].session)
    results = Results.gather(session.manifest)
    facts, state = session_facts.read(session), compare_states(session, results.runs)

    def of_cell(cell: SuiteCell) -> Value | None:
        try:
            setting = choose(session.manifest, cell.at or None)
            found = Findings.of(session, setting, results, facts, state)
            return make(cell, found) if found.kernels else None
        except (InputError, SessionError):
            return None

    return [
        of_cell(cell) if any(value is not None for value in cell.values.values()) else None
        for cell in cells
    ]


# The overview, and the report of the cell that is open.
BODY = ("suite/overview.html", "report/report.html")


def plain_report(report: Document) -> dict[str, Any]:
    """A cell's report as ``render`` takes it: a process hands that over in a fifth of the time."""
    plain: dict[str, Any] = msgspec.to_builtins(page_of(report))
    return plain


def render(shown: SuiteDocument, cells: Iterable[tuple[SuiteCell, dict[str, Any] | None]]) -> str:
    """The page as one file. ``cells``: each with its report as ``built``, in order. A cell without
    a report, or whose report has no room, cannot be opened."""
    packer = Packer(len(shown.cells))
    held: list[int | None] = []
    elements: list[str] = []
    for _, report in cells:
        packed = packer.pack(report) if report else None
        held.append(None if packed is None else len(elements))
        if packed is not None:
            number = len(elements)
            elements.append(records.held(f"cell-{number}", packed))
    pages = [""] * len(shown.cells)
    data = SuitePage(suite=shown, held=held, pages=pages, shared=packer.shared)
    return html.alone("suite", data, BODY, "".join(elements))
