"""Recordings as CSV, unrounded: functions, experiments, suites, atlases."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec.structs import asdict

from profdiff.base.errors import InputError
from profdiff.evidence.parts import PartsFindings
from profdiff.evidence.results import Results
from profdiff.forms import csv
from profdiff.forms.csv import Line, tables, text, written
from profdiff.profile.comparison import Comparison
from profdiff.reports.text.parts import lines as parts_lines
from profdiff.session.manifest import Kernel
from profdiff.shapes.table import of_kernel
from profdiff.topics.functions import measure, shapes
from profdiff.topics.functions.selection import Selection
from profdiff.views.atlas import Atlas, AtlasPoint, AtlasRelease, AtlasSeries
from profdiff.views.parts.functions import FunctionVerdict
from profdiff.views.parts.functions import parts_functions as joint
from profdiff.views.rows.cells import CellRow, cell_rows
from profdiff.views.rows.results import ResultRow, result_rows
from profdiff.views.suite import SuiteDocument


def functions(comparisons: Sequence[Comparison], selection: Selection) -> str:
    """For each metric one line for each function, one for those left out, one for each reason of
    unresolved addresses: the self columns sum to all of the side that was asked for."""
    labels = comparisons[0].labels
    sampled = any(comparison.samples is not None for comparison in comparisons)
    called = any(comparison.calls is not None for comparison in comparisons)
    tables = []
    for one in comparisons:
        figures: dict[str, Callable[[measure.Line, str], int | None]] = {}
        figures |= {"samples": _samples} if sampled else {}
        figures |= {"calls": shapes.times_called(one)} if called else {}
        if one.labels == labels:
            lines = measure.lines(one, measure.select(one, selection))[:-1]
            tables.append(shapes.every(one.metric.name, [labels], lines, figures))
    return csv.tables(tables)


def _samples(line: measure.Line, kernel: str) -> int | None:
    return line.samples[kernel] if line.samples and line.what == "function" else None


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


def experiment(results: Results) -> str:
    """Metrics in the order of the report's tables, their points, and of each all kernels, the base
    first; parameters of the sweep are columns of their own name. What is not known is empty.
    Kernels that could not be built follow, with why in the column ``not_built``.

    Raises InputError where nothing was measured.
    """
    if not results.every:
        raise InputError("--csv-experiment: there is no experiment; --csv writes the functions")
    holes = [_hole(hole, results.swept) for hole in results.manifest.holes]
    behind = ["not_built"] if holes else []
    built = [
        [*_experiment_line(row, results.swept), *([""] * len(behind))]
        for row in result_rows({"": results})
    ]
    return written([*_experiment_header(results.swept), *behind], [*built, *holes])


def _hole(kernel: Kernel, swept: Sequence[str]) -> Line:
    """A row of a kernel that could not be built, with the reason in a column of its own."""
    blank = [""] * (len(swept) + len(_BEHIND))
    return ["", text(kernel.label), *blank, text(kernel.hole)]


def _experiment_header(swept: Sequence[str]) -> list[str]:
    """The names of the columns; ``swept``: the parameters that have one."""
    return [*_BEFORE, *map(text, swept), *_BEHIND]


def _experiment_line(row: ResultRow, swept: Sequence[str]) -> Line:
    """A row in these columns."""
    return [
        *map(text, (row.metric, row.kernel, *map(row.at, swept))),
        *(_experiment_cell(getattr(row, name)) for name in _BEHIND),
    ]


def _experiment_cell(value: float | str | None) -> object:
    """As many digits as a float holds for sure; empty for what is not known."""
    if isinstance(value, float):
        return f"{value:.15g}"
    return "" if value is None else text(value) if isinstance(value, str) else value


def parts_functions(findings: PartsFindings, selection: Selection) -> str:
    """One line for each function, one for those left out, one for each reason of unresolved
    addresses: of each part the self columns sum to all of the side that was asked for. What a part
    does not have is empty. Raises InputError where there is no profile."""
    found = joint(findings, selection)
    if found is None:
        raise InputError(
            "--csv needs a profile, which no run of these sessions has: --csv-experiment has their "
            "metrics"
        )
    groups = [[f"{name} {label}" for label in rest.totals] for name, rest in found.rest.items()]
    verdicts: dict[str, Callable[[FunctionVerdict], str]] = {
        "extent": lambda one: one.extent,
        "under": lambda one: " ".join(one.under),
        "hardly under": lambda one: " ".join(one.hardly),
    }

    def of(tell: Callable[[FunctionVerdict], str], line: measure.Line, kernel: str) -> str:
        return tell(line.verdicts[kernel]) if kernel in line.verdicts else ""

    details = [
        of_kernel(extent.kernel, name, "detail", partial(of, tell), title=name)
        for extent in found.extents
        for name, tell in verdicts.items()
    ]
    lines = parts_lines(found, selection.side)[:-1]
    return tables([shapes.every(found.metric, groups, lines, {}, details)])


def parts_experiment(findings: PartsFindings) -> str:
    """What ``csv_experiment`` writes of each part, whose name is in the first column.
    Raises InputError where nothing was measured."""
    joint = findings.results
    if not joint.metrics():
        raise InputError("--csv-experiment: there is no experiment; --csv writes the functions")
    lines = ([row.part, *_experiment_line(row, joint.swept)] for row in result_rows(joint.parts))
    return written([findings.kind.name, *_experiment_header(joint.swept)], lines)


_SUITE_HEADER = (
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
    "variant",
)
_FLAGS = {True: "yes", False: "no"}


def suite(document: SuiteDocument) -> str:
    """A line for each cell and kernel, the base's first, whose change is empty; cells in the
    suite's order."""
    return written(_SUITE_HEADER, map(_suite_line, cell_rows(document)))


def _suite_line(row: CellRow) -> Line:
    point = ",".join(f"{name}={value}" for name, value in row.parameters.items())
    known = {**asdict(row), "point": point, "relative": row.change}
    return [_suite_cell(known[name]) for name in _SUITE_HEADER]


def _suite_cell(value: float | str | None) -> object:
    """Numbers are written with all their digits, and None as an empty field."""
    if isinstance(value, str):
        return text(value)
    return _FLAGS[value] if isinstance(value, bool) else value


_ATLAS_HEADER = ("time", "branch", "release", "build_id", "compiler")
# Otava, pandas and R read it as a number that there is not; an empty field ends Otava.
_NO_VALUE = "nan"


def atlas(atlas: Atlas) -> str:
    """Releases in their order, series after series; cells in the order of the atlas. ``time`` is
    when the first recording that has the release was made. Apache Otava reads it (``docs/CSV.md``
    of apache/otava; ``branch`` is its own column)."""
    names = dict.fromkeys(cell.name for series in atlas.series for cell in series.cells)
    return written([*_ATLAS_HEADER, *map(text, names)], _rows(atlas, list(names)))


def _rows(atlas: Atlas, names: list[str]) -> Iterator[Line]:
    for series in atlas.series:
        known: list[dict[str, AtlasPoint]] = [{} for _ in series.releases]
        for cell in series.cells:
            for point in cell.points:
                known[point.release][cell.name] = point
        for release, points in zip(series.releases, known, strict=True):
            made = min(atlas.sources[point.source].created for point in points.values())
            values = [points[name].value if name in points else None for name in names]
            yield [*_head(series, release, made), *map(_number, values)]


def _head(series: AtlasSeries, release: AtlasRelease, made: str) -> Line:
    known = (made, series.title or series.metric, release.title, release.build_id or "")
    return [*map(text, known), text(release.compiler or "")]


def _number(value: float | None) -> str:
    return _NO_VALUE if value is None else repr(value)
