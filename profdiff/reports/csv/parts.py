"""Several architectures, or compilers, as CSV, unrounded: functions with columns for each part, and
the experiment with a row for each."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from profdiff.base.errors import InputError
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.forms.csv import Line, text, written
from profdiff.reports.csv import experiment as csv_experiment
from profdiff.topics.functions.selection import Selection
from profdiff.views.parts.functions import JointFunctions, parts_functions
from profdiff.views.parts.verdicts import FunctionVerdict
from profdiff.views.record import Counts
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
    names = list(found.rest)
    labels = {name: list(found.rest[name].totals) for name in names}
    header = ["metric", "name", "object", "file", "side"]
    for what in ("self", "total", "delta"):
        header += [
            f"{what} {name} {label}" for name in names for label in labels[name][what == "delta" :]
        ]
    header += [
        f"{what} {one.kernel}"
        for one in found.extents
        for what in ("extent", "under", "hardly under")
    ]
    return written(header, _rows(found, names, labels, selection))


def _rows(
    found: JointFunctions,
    names: Sequence[str],
    labels: dict[str, list[str]],
    selection: Selection,
) -> Iterator[Line]:
    def line(
        title: Sequence[str],
        self_: Mapping[str, Counts | None],
        total: Mapping[str, Counts | None],
        verdicts: Mapping[str, FunctionVerdict] = MappingProxyType({}),
    ) -> Line:
        cells: list[int | str] = []
        for of in (self_, total):
            for name in names:
                counts = of.get(name)
                cells += counts.values() if counts is not None else [""] * len(labels[name])
        for name in names:
            counts = self_.get(name)
            base, *others = labels[name]
            for label in others:
                cells.append("" if counts is None else counts[label] - counts[base])
        for one in found.extents:
            told = verdicts.get(one.kernel)
            cells += _verdict(told) if told else ["", "", ""]
        return [text(found.metric), *title, *cells]

    for row in found.rows:
        title = [*map(text, (row.name, row.object, row.file)), row.side]
        yield line(
            title,
            row.self_by_part,
            {name: one.total if one else None for name, one in row.parts.items()},
            row.verdicts,
        )
    if any(rest.hidden_functions for rest in found.rest.values()):
        hidden = {name: rest.hidden for name, rest in found.rest.items()}
        # Totals overlap: their sum would count what is inlined more than once.
        yield line(["[functions not shown]", "", "", selection.side or ""], hidden, {})
    for (reason, side), by_part in found.unresolved().items():
        yield line([f"[unresolved: {reason}]", "", "", side], by_part, by_part)


def _verdict(one: FunctionVerdict) -> list[str]:
    return [one.extent, " ".join(one.under), " ".join(one.hardly)]


def experiment(findings: PartsFindings) -> str:
    """What ``csv_experiment`` writes of each part, whose name is in the first column.
    Raises InputError where nothing was measured."""
    joint = findings.results
    if not joint.metrics():
        raise InputError("--csv-experiment: there is no experiment; --csv writes the functions")
    lines: Iterator[Line] = (
        [row.part, *csv_experiment.line(row, joint.swept)] for row in result_rows(joint.parts)
    )
    return written([findings.kind.name, *csv_experiment.header(joint.swept)], lines)
