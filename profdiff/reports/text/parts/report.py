"""The report of several architectures, or compilers, as plain text: the change on each, side by
side."""

import shlex
from collections.abc import Callable, Sequence

from profdiff.base import units
from profdiff.evidence.findings import Findings
from profdiff.evidence.parts.findings import PartsFindings
from profdiff.evidence.parts.results import PartsResults, PartsSetting
from profdiff.forms import columns as table
from profdiff.forms.columns import MIN_WIDTH, Block, Column
from profdiff.forms.text import with_legend
from profdiff.reports.text.parts import functions
from profdiff.session.held import PartKind
from profdiff.session.parts import Parts
from profdiff.topics.functions.selection import Selection
from profdiff.views.alike import alike
from profdiff.views.kernels import built_from, state
from profdiff.views.parts.claim import parts_claim
from profdiff.views.parts.function_claim import function_sentences, under
from profdiff.views.parts.functions import JointFunctions, parts_functions
from profdiff.views.parts.results import PartsGrid, grids
from profdiff.views.results import recording
from profdiff.views.results.result import ABSENT

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
    said = [one.text for one in remarks if one.kind in ("caution", "failure")]
    return [f"workload: {workload.description}", *differs, *findings.cautions, *said]


def _recording(findings: Findings) -> list[str]:
    """How kernels were built, and how the workload was counted."""
    remarks = recording.remarks(findings.comparisons, findings.lengths)
    built = [
        f"{kernel.label}: {built_from.sentence(kernel.source)}"
        for kernel in findings.kernels
        if kernel.source
    ]
    built += [f"{one.label}: {one.sentence}" for one in built_from.holes(findings)]
    return [*built, *(one.text for one in remarks if one.kind == "how")]


def _kernels(findings: Findings) -> str:
    told = []
    for number, kernel in enumerate(findings.kernels):
        facts = [
            kernel.release or "release unknown",
            f"build id {kernel.build_id[:_BUILD_ID]}" if kernel.build_id else "no build id",
            *(["the base"] if number == 0 and len(findings.kernels) > 1 else []),
        ]
        told.append(f"{kernel.label} ({', '.join(facts)})")
    compilers = {kernel.source.compiler for kernel in findings.kernels if kernel.source}
    by = [f"built by {compilers.pop()}"] if len(compilers) == 1 else []
    return ", ".join([*told, *by])


def _functions(
    findings: PartsFindings, found: JointFunctions, width: int, per_op: bool | None, ratios: bool
) -> list[str]:
    shown = functions.table(findings, found)
    if shown is None:
        return []
    blocks = with_legend(shown, width, per_op, ratios)
    return [*table.joined(blocks), "", *units.wrap(order(findings.kind, found), width, 2)]
