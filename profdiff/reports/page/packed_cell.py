"""The reports of a suite's cells, made small: what they have in common is held once, tables are
columns. ``templates/suite/packed_cell.js`` undoes it."""

import json
from typing import Any

from profdiff.reports.page import points
from profdiff.reports.page.element import compressed
from profdiff.reports.page.records import Shared, SharedFunctions

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
            "stacks": [_stacks(one) for one in stacks],
            "metrics": [self._metric(one) for one in metrics],
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
