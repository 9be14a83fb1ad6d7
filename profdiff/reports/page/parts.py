"""The page of several architectures, or compilers: the joint tables first, then what a page has, of
the part and the point that the reader chooses."""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from profdiff.evidence.findings import Findings
from profdiff.evidence.parts import PartsFindings
from profdiff.forms import text
from profdiff.forms.numbers import Numbers
from profdiff.reports import charts, documents
from profdiff.reports.page import accesses, html, sharing
from profdiff.reports.page import points as page_points
from profdiff.reports.page.code import page_code
from profdiff.reports.page.records import Joint, PartsTable, Point, page_of
from profdiff.reports.text.parts import functions_table, order, read
from profdiff.session import points
from profdiff.topics.functions.selection import Selection
from profdiff.views.parts.claim import function_sentences, parts_claim
from profdiff.views.parts.functions import JointFunctions, parts_functions
from profdiff.views.parts.results import grids

_FUNCTIONS = 20


def render(findings: PartsFindings) -> str:
    """The page. The first part with a result is the page's own; of each of the others it
    holds the report at the same setting, and what of its points has room."""
    parts = findings.parts
    own = next(iter(parts))
    most = max(1, page_points.MOST // len(parts))
    shown = {name: documents.session_document(part) for name, part in parts.items()}
    places: list[Point] = []
    for name, part in parts.items():
        nearest = page_points.nearest(points.settings(part.manifest), part.setting, most)
        others = part.others(nearest)
        places += page_points.part_points(
            part, shown[name], others, findings.kind, name, own=name == own
        )
    data = accesses.page_accesses(parts[own])
    code = page_code(parts[own], data.numbers)
    lines = sharing.page_sharing(parts[own])
    made = page_of(
        shown[own],
        charts=html.page_charts(parts[own]),
        points=places,
        code=code.held,
        accesses=data.held,
        sharing=lines.held,
        joint=joint(findings),
        parts={name: _part(part, shown[name]) for name, part in parts.items() if name != own},
    )
    return html.page(made, code.elements + data.elements + lines.elements)


def _part(part: Findings, shown: Any) -> dict[str, Any]:
    """The whole report of a part; charts of functions are the page's own point's."""
    charts_of = html.page_charts(replace(part, comparisons=[]))
    return {**msgspec.to_builtins(shown), "charts": msgspec.to_builtins(charts_of)}


def joint(findings: PartsFindings) -> Joint:
    """The parts side by side."""
    results, setting, names = findings.results, findings.setting, findings.names
    claim = parts_claim(results, setting, names)
    tables = [
        PartsTable(**msgspec.structs.asdict(grid.table), foot=[])
        for grid in grids(results, setting, names)
    ]
    found = parts_functions(findings, Selection(top=_FUNCTIONS))
    functions = _functions(findings, found)
    said = function_sentences(found) if found else []
    where = findings.kind.at(" and ".join(findings.parts))
    nothing = f"Measured {where}; nothing to compare."
    return Joint(
        where=findings.kind.at(", ".join(names)),
        sentences=[*(claim.sentences if claim else [nothing]), *said],
        tables=[*tables, *functions],
        notes=[
            read(findings.kind),
            *([order(findings.kind, found)] if found and functions else []),
        ],
        missing=[f"{name}: {why}" for name, why in findings.missing.items()],
        charts=[html.with_scheme(chart) for chart in charts.parts_figures(findings)],
    )


def _functions(findings: PartsFindings, found: JointFunctions | None) -> list[PartsTable]:
    """The table of functions, with names first."""
    table = functions_table(findings, found) if found else None
    if table is None:
        return []
    columns, rows, sums = text.texts(table, Numbers())
    return [
        PartsTable(
            title=text.heading(table),
            names=1,
            header=_turned([column.title for column in columns]),
            groups=_turned([column.group for column in columns]),
            rows=[_turned(row) for row in rows],
            foot=[_turned(row) for row in sums],
        )
    ]


def _turned(row: Sequence[str]) -> list[str]:
    return [row[-1], *row[:-1]]
