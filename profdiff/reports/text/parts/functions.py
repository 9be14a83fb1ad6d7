"""The table of functions with columns for each architecture, or compiler."""

from collections.abc import Mapping
from typing import Any

from profdiff.base import units
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.shapes.table import Table, of_row
from profdiff.topics.functions import shapes
from profdiff.topics.functions.measure import Line
from profdiff.views.parts.functions import JointFunctions
from profdiff.views.record import Counts, Side
from profdiff.views.results.result import ABSENT


def table(findings: PartsFindings, found: JointFunctions) -> Table | None:
    """The table of the kernel of the largest change; None where no part has a second kernel."""
    label, base = shown_kernel(findings, found), findings.results.labels[0]
    if label is None:
        return None
    details = []
    if found.extents:

        def told(line: Line) -> str:
            return line.verdicts[label].told if label in line.verdicts else ""

        details = [of_row("changed under", "word", told, spare=1)]
    first = next(iter(found.rest.values()))
    ops = [found.rest.get(name, first).ops for name in findings.names]
    at = f" at {findings.setting.title}" if findings.setting.title else ""
    return shapes.side_by_side(
        lines(found),
        {name: (f"{name} {base}", f"{name} {label}") for name in findings.names},
        ABSENT,
        details,
        title=f"{found.metric}{'' if found.exact else ', sampled'}",
        remark=f", {label} minus {base}{at}",
        ops=[one for one in ops if one] if all(ops) else None,
    )


def shown_kernel(findings: PartsFindings, found: JointFunctions) -> str | None:
    """The kernel whose deltas are shown: that of the largest change, or else the last; None where
    there is none beside the base."""
    largest = findings.results.largest(findings.setting)
    known = [label for rest in found.rest.values() for label in rest.totals]
    if largest:
        label = findings.results.parts[largest.part].labels[largest.change.kernel]
        if label in known:
            return label
    others = [label for label in known if label != findings.results.labels[0]]
    return others[-1] if others else None


def lines(found: JointFunctions, side: Side | None = None) -> list[Line]:
    """The rows, what is not shown, what could not be resolved, and the sum: of each part they add
    up. Counts are by ``PART LABEL``."""
    found_lines = [
        Line(
            what="function",
            title=row.title,
            name=row.name,
            object=row.object,
            file=row.file,
            side=row.side,
            self=_keyed(row.self_by_part),
            total=_keyed({name: one.total if one else None for name, one in row.parts.items()}),
            verdicts=row.verdicts,
        )
        for row in found.rows
    ]

    def add(what: Any, title: str, name: str, where: Any, counts: Mapping[str, Counts]) -> None:
        own = _keyed(counts)
        line = Line(what=what, title=title, name=name, side=where or "", self=own, total=own)
        found_lines.append(line)

    rest = found.rest
    if hidden := {name: one.hidden for name, one in rest.items() if one.hidden_functions}:
        add("hidden", "functions not shown", "[functions not shown]", side, hidden)
    for (reason, where), by_part in found.unresolved().items():
        title = units.printable(f"unresolved: {reason} ({where})")
        add("unresolved", title, f"[unresolved: {reason}]", where, by_part)
    add("all", "all", "", None, {name: one.totals for name, one in rest.items()})
    return found_lines


def _keyed(by_part: Mapping[str, Counts | None]) -> Counts:
    return {
        f"{name} {label}": count
        for name, counts in by_part.items()
        for label, count in (counts or {}).items()
    }
