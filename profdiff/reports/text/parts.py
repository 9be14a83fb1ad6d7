"""The report of several architectures, or compilers, as text."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.parts import PartsFindings, PartsResults, PartsSetting
from profdiff.forms import columns as table
from profdiff.forms.columns import MIN_WIDTH, Block, Column
from profdiff.forms.text import with_legend
from profdiff.session.held import PartKind
from profdiff.session.parts import Parts
from profdiff.shapes.table import Table, of_row
from profdiff.topics.functions import shapes
from profdiff.topics.functions.measure import Line
from profdiff.topics.functions.selection import Selection
from profdiff.views.kernels import state
from profdiff.views.kernels.facts import given, holes, sentence
from profdiff.views.parts.claim import alike, function_sentences, parts_claim, under
from profdiff.views.parts.functions import JointFunctions, parts_functions
from profdiff.views.parts.results import PartsGrid, grids
from profdiff.views.record import Counts, Side
from profdiff.views.results import recording
from profdiff.views.results.result import ABSENT


def functions_table(findings: PartsFindings, found: JointFunctions) -> Table | None:
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


_BUILD_ID = 12


def read(kind: PartKind) -> str:
    """What joint tables mean."""
    return (
        f"a change is relative to the base {kind.word} the same {kind.name}; {ABSENT}: {kind.one} "
        "does not have it"
    )


def order(kind: PartKind, found: JointFunctions) -> str:
    """What the table of functions means."""
    told = (
        f"rows: by place in each {kind.name}'s own order; share: part of {kind.one}'s whole delta"
    )
    return "; ".join(filter(None, [told, under(found)]))


def render(
    findings: PartsFindings,
    selection: Selection,
    *,
    width: int,
    per_op: bool | None = None,
    ratios: bool = False,
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``). Options as those of an
    ordinary report."""
    width, names = max(width, MIN_WIDTH), findings.names
    lines = sentences(findings.results, findings.setting, names, width)
    lines += [""] if lines else []
    lines += _alike(findings, _first, width)
    for grid in grids(findings.results, findings.setting, names):
        shown = grid.in_ratios() if ratios else grid
        lines += ["", *table.joined(draw(shown, width))]
    lines += ["", *units.wrap(read(findings.kind), width, 2)]
    found = parts_functions(findings, selection)
    if found is not None:
        told = [one for text in function_sentences(found) for one in units.wrap(text, width)]
        lines += ["", *told] if told else []
        lines += ["", *_functions(findings, found, width, per_op, ratios)]
    kernels = [f"{name}: {_kernels(part)}" for name, part in findings.parts.items()]
    told = [one for text in kernels for one in units.wrap(units.printable(text), width, 2)]
    lines += ["", *told, *_alike(findings, _recording, width)]
    lines += ["", f"everything else, {findings.kind.name} by {findings.kind.name}:"]
    lines += [f"  {one}" for one in commands(findings).values()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def summary(several: Parts, columns: int) -> list[str]:
    """What is said of a recording over several architectures, or compilers, at its end: the
    sentences, and the tables; nothing where there is no result. Raises SessionError."""
    sessions = several.sessions()
    joint = PartsResults.gather(sessions, several.kind) if sessions else None
    if joint is None or not joint.metrics():
        return []
    setting = joint.choose(None)
    width = max(columns, MIN_WIDTH)
    lines = sentences(joint, setting, several.names, width)
    for grid in grids(joint, setting, several.names):
        lines += [*([""] if lines else []), *table.joined(draw(grid, width))]
    return [line.rstrip() for line in lines]


def sentences(
    joint: PartsResults, setting: PartsSetting, names: Sequence[str], width: int
) -> list[str]:
    """What is claimed, wrapped; none where nothing can be compared."""
    claim = parts_claim(joint, setting, names)
    said = claim.sentences if claim else []
    return [line for text in said for line in units.wrap(text, width)]


def commands(findings: PartsFindings) -> dict[str, str]:
    """The command that shows each part alone, of those that were begun."""
    parts = {name: findings.recording.part(name) for name in findings.sessions}
    return {
        name: units.printable(f"profdiff report {shlex.quote(str(part))}")
        for name, part in parts.items()
    }


def draw(grid: PartsGrid, width: int) -> list[Block]:
    """A joint table in blocks of at most ``width`` columns. Values go first, if anything must."""
    shown = grid.table
    columns = [
        Column(title, name=True)
        if number < grid.names
        else Column(title, part=_part(grid, number), spare=needed, group=group)
        for number, (title, group, needed) in enumerate(
            zip(shown.header, shown.groups, grid.needed, strict=True)
        )
    ]
    return table.draw(shown.title, columns, shown.rows, width)


def _part(grid: PartsGrid, number: int) -> int:
    return list(dict.fromkeys(grid.groups)).index(grid.groups[number])


def _alike(findings: PartsFindings, tell: Callable[[Findings], list[str]], width: int) -> list[str]:
    """What is told of each part, once where all have it alike."""
    told = {name: tell(part) for name, part in findings.parts.items()}
    same, own = alike(told, findings.missing)
    return [line for text in (*same, *own) for line in units.wrap(units.printable(text), width, 2)]


def _first(findings: Findings) -> list[str]:
    """The workload, and what a reader must know before any number."""
    workload = recording.workload(findings.manifest, findings.setting)
    differs = [one.text for one in state.lines(findings.state) if one.kind == "differs"]
    remarks = recording.remarks(findings.comparisons, findings.lengths)
    said = [remark.text for remark in remarks if remark.kind in ("caution", "failure")]
    return [f"workload: {workload.description}", *differs, *findings.cautions, *said]


def _recording(findings: Findings) -> list[str]:
    """How kernels were built, and how the workload was counted."""
    remarks = recording.remarks(findings.comparisons, findings.lengths)
    built = [
        f"{kernel.label}: {sentence(kernel.source)}" for kernel in findings.kernels if kernel.source
    ]
    built += [f"{one.label}: {one.sentence}" for one in holes(findings)]
    return [*built, *(remark.text for remark in remarks if remark.kind == "how")]


def _kernels(findings: Findings) -> str:
    told = []
    for number, kernel in enumerate(findings.kernels):
        facts = [
            kernel.release or "release unknown",
            f"build id {kernel.build_id[:_BUILD_ID]}" if kernel.build_id else "no build id",
            *filter(None, [given(kernel)]),
            *(["the base"] if number == 0 and len(findings.kernels) > 1 else []),
        ]
        told.append(f"{kernel.label} ({', '.join(facts)})")
    compilers = {kernel.source.compiler for kernel in findings.kernels if kernel.source}
    by = [f"built by {compilers.pop()}"] if len(compilers) == 1 else []
    return ", ".join([*told, *by])


def _functions(
    findings: PartsFindings, found: JointFunctions, width: int, per_op: bool | None, ratios: bool
) -> list[str]:
    shown = functions_table(findings, found)
    if shown is None:
        return []
    blocks = with_legend(shown, width, per_op, ratios)
    return [*table.joined(blocks), "", *units.wrap(order(findings.kind, found), width, 2)]
