"""The experiment as CSV: a row for each metric, point and kernel, unrounded."""

from collections.abc import Sequence

from profdiff.base.errors import InputError
from profdiff.evidence.results import Results
from profdiff.forms.csv import Line, text, written
from profdiff.session.manifest import Kernel
from profdiff.views.rows.results import ResultRow, result_rows

_BEFORE = ("metric", "kernel")
_BEHIND = (
    "value",
    "per_op",
    "unit",
    "better",
    "spread",
    "ratio",
    "change",
    "low",
    "high",
    "verdict",
    "quality",
    "noise_floor",
    "boots",
    "failed",
    "collector",
    "beside",
    "states",
    "tick_floor",
)


def render(results: Results) -> str:
    """Metrics in the order of the report's tables, their points, and of each all kernels, the base
    first; parameters of the sweep are columns of their own name. What is not known is empty.
    Kernels that could not be built follow, with why in the column ``not_built``.

    Raises InputError where nothing was measured.
    """
    if not results.every:
        raise InputError("--csv-experiment: there is no experiment; --csv writes the functions")
    holes = [_hole(one, results.swept) for one in results.manifest.holes]
    behind = ["not_built"] if holes else []
    built = [
        [*line(row, results.swept), *([""] * len(behind))] for row in result_rows({"": results})
    ]
    return written([*header(results.swept), *behind], [*built, *holes])


def _hole(kernel: Kernel, swept: Sequence[str]) -> Line:
    """A row of a kernel that could not be built, with the reason in a column of its own."""
    blank = [""] * (len(swept) + len(_BEHIND))
    return ["", text(kernel.label), *blank, text(kernel.hole)]


def header(swept: Sequence[str]) -> list[str]:
    """The names of the columns; ``swept``: the parameters that have one."""
    return [*_BEFORE, *map(text, swept), *_BEHIND]


def line(row: ResultRow, swept: Sequence[str]) -> Line:
    """A row in these columns."""
    return [
        *map(text, (row.metric, row.kernel, *map(row.at, swept))),
        *(_cell(getattr(row, name)) for name in _BEHIND),
    ]


def _cell(value: float | str | None) -> object:
    """As many digits as a float holds for sure; empty for what is not known."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else text(value) if isinstance(value, str) else value
