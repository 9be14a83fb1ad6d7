"""Several architectures, or compilers, as CSV, unrounded: functions with columns for each part, and
the experiment with a row for each."""

from collections.abc import Callable
from functools import partial

from profdiff.base.errors import InputError
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.forms.csv import tables, written
from profdiff.reports.csv import experiment as csv_experiment
from profdiff.reports.text.parts.functions import lines as parts_lines
from profdiff.shapes.table import of_kernel
from profdiff.topics.functions import shapes
from profdiff.topics.functions.measure import Line
from profdiff.topics.functions.selection import Selection
from profdiff.views.parts.functions import parts_functions
from profdiff.views.parts.verdicts import FunctionVerdict
from profdiff.views.rows.results import result_rows


def functions(findings: PartsFindings, selection: Selection) -> str:
    """One line for each function, one for those left out, one for each reason of unresolved
    addresses: of each part the self columns sum to all of the side that was asked for. What a part
    does not have is empty. Raises InputError where there is no profile."""
    found = parts_functions(findings, selection)
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

    def of(tell: Callable[[FunctionVerdict], str], line: Line, kernel: str) -> str:
        return tell(line.verdicts[kernel]) if kernel in line.verdicts else ""

    details = [
        of_kernel(one.kernel, name, "detail", partial(of, tell), title=name)
        for one in found.extents
        for name, tell in verdicts.items()
    ]
    lines = parts_lines(found, selection.side)[:-1]
    return tables([shapes.every(found.metric, groups, lines, {}, details)])


def experiment(findings: PartsFindings) -> str:
    """What ``csv_experiment`` writes of each part, whose name is in the first column.
    Raises InputError where nothing was measured."""
    joint = findings.results
    if not joint.metrics():
        raise InputError("--csv-experiment: there is no experiment; --csv writes the functions")
    lines = ([row.part, *csv_experiment.line(row, joint.swept)] for row in result_rows(joint.parts))
    return written([findings.kind.name, *csv_experiment.header(joint.swept)], lines)
