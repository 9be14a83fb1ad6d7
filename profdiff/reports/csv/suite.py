"""The cells of a suite as CSV, unrounded: a row for each cell and kernel."""

from msgspec.structs import asdict

from profdiff.forms.csv import Line, text, written
from profdiff.views.rows.cells import CellRow, cell_rows
from profdiff.views.suite.records import SuiteDocument

_HEADER = (
    "cell",
    "workload",
    "part",
    "point",
    "vcpus",
    "tags",
    "op",
    "metric",
    "unit",
    "per_op",
    "kernel",
    "release",
    "value",
    "base",
    "delta",
    "relative",
    "verdict",
    "relevant",
    "missing",
    "why",
    "function",
    "function_delta",
    "seat",
    "seat_delta",
    "noise",
    "session",
    "states",
    "low",
    "high",
    "differs",
    "iterated",
)
_FLAGS = {True: "yes", False: "no"}


def render(document: SuiteDocument) -> str:
    """A line for each cell and kernel, the base's first, whose change is empty; cells in the
    suite's order."""
    return written(_HEADER, map(_line, cell_rows(document)))


def _line(row: CellRow) -> Line:
    point = ",".join(f"{name}={value}" for name, value in row.parameters.items())
    known = {**asdict(row), "point": point, "relative": row.change}
    return [_cell(known[name]) for name in _HEADER]


def _cell(value: float | str | None) -> object:
    """Numbers are written with all their digits, and None as an empty field."""
    if isinstance(value, str):
        return text(value)
    return _FLAGS[value] if isinstance(value, bool) else value
