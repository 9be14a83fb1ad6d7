"""The report as plain text: for a terminal, and for a mail to a kernel list."""

from contextlib import suppress
from itertools import groupby

import numpy as np
from msgspec.structs import replace

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.evidence.largest_change import largest_change
from profdiff.evidence.results import Results
from profdiff.forms import columns as table
from profdiff.forms import text as shapes
from profdiff.forms.columns import MIN_WIDTH, Block, Column
from profdiff.forms.numbers import Numbers
from profdiff.profile.comparison import Comparison
from profdiff.profile.seat import Seats
from profdiff.profile.sharing.recorded import has_lines
from profdiff.session.points import Setting
from profdiff.shapes.selected import selected
from profdiff.topics.functions import marks, measure
from profdiff.topics.functions import shapes as functions
from profdiff.topics.functions.measure import Rows
from profdiff.topics.functions.selection import Selection
from profdiff.topics.functions.shapes import one_boot
from profdiff.topics.idle import comparison_tables
from profdiff.topics.programs.shapes import summary
from profdiff.topics.registry import TOPICS
from profdiff.views.bisection import sentences
from profdiff.views.claims import answered
from profdiff.views.claims.answered import leading
from profdiff.views.claims.claim import claim
from profdiff.views.kernels import facts as kernels_facts
from profdiff.views.kernels import state
from profdiff.views.kernels.facts import grouped_summaries, intentions
from profdiff.views.profile import Step, StepFunction, steps
from profdiff.views.record import Side
from profdiff.views.results import recording, result
from profdiff.views.results.experiment import Grid, grids
from profdiff.views.results.notes import notes
from profdiff.views.results.result import Remark


def experiment_lines(
    results: Results, setting: Setting, width: int, ratios: bool = False
) -> list[str]:
    """Lines; none where there is nothing that the function table does not say."""
    lines = experiment_tables(results, setting, width, ratios)
    for note in notes(results) if lines else []:
        lines += units.wrap(note.text, width, 2)
    return [*lines, ""] if lines else []


def experiment_tables(
    results: Results, setting: Setting, width: int, ratios: bool = False
) -> list[str]:
    """The lines of all tables, an empty one after each. ``ratios``: changes as ratios."""
    found = grids(results, setting)
    shown = [grid.in_ratios() for grid in found] if ratios else found
    return [line for grid in shown for line in [*table.joined(draw_grid(grid, width)), ""]]


def draw_grid(grid: Grid, width: int) -> list[Block]:
    """A table in blocks of at most ``width`` columns; columns that do not fit follow below, under
    the row's name again."""
    shown = (grid := grid.without_exact(width)).table
    columns = [Column(title, name=True) for title in shown.header[: grid.names]]
    behind = zip(shown.header[grid.names :], grid.parts, strict=True)
    columns += [Column(title, part=part, spare=int(title == "states")) for title, part in behind]
    return table.draw(shown.title, columns, shown.rows, width)


TOP = 5


def step_lines(
    comparison: Comparison,
    side: Side | None,
    numbers: Numbers,
    width: int,
    top: int | None = TOP,
) -> list[Block]:
    """A step's whole, then its functions; nothing for two kernels. Each delta is to the kernel
    before."""
    found = steps(comparison, TOP if top is None else min(top, TOP), side)
    if not found:
        return []
    columns = [
        Column("kernel", name=True),
        Column("before", spare=2),
        Column("after", spare=1),
        Column("delta"),
        Column(numbers.relative),
        Column("function", name=True),
    ]
    rows = [row for step in found for row in _rows(step, numbers)]
    title = f"{comparison.metric.title}{numbers.title}: each kernel against the one before"
    return table.draw(f"{title}{one_boot(comparison)}", columns, rows, width)


def in_short(comparison: Comparison, ops: int | None, width: int, at: str = "") -> list[Block]:
    """A line for each kernel of a ladder with exact counts: how much more or less than the one
    before it executes, and the function that changed most; nothing for two kernels. ``at``: the
    point, as a title has it."""
    numbers = Numbers(ops)
    rows = []
    for one in steps(comparison, 1):
        most = [(numbers.delta(own.delta), own.title) for own in one.functions] or [("", "none")]
        if one.notes:
            most = [("", "; ".join(one.notes))]
        change = numbers.change(one.before, one.after)
        rows.append([one.kernel, numbers.delta(one.delta), change, *most[0]])
    columns = [Column("kernel", name=True), Column("delta"), Column("change", spare=1)]
    columns += [Column("most"), Column("function", name=True)]
    what = f"{comparison.metric.name}{' per op' if ops else ''}"
    title = f"Each kernel against the one before{at} ({what}):"
    return table.draw(title, columns, rows, width) if rows else []


def _rows(step: Step, numbers: Numbers) -> list[list[str]]:
    rows = [[step.kernel, *_numbers(step, numbers), f"all, from {step.previous}"]]
    rows += [[*[""] * 5, note] for note in step.notes]
    rows += [["", *_numbers(function, numbers), function.title] for function in step.functions]
    if step.others:
        name = units.counted(step.others, "more function")
        rows.append(["", "", "", numbers.delta(step.rest), "", name])
    elif step.rest:
        rows.append(["", "", "", numbers.delta(step.rest), "", "unresolved"])
    return rows


def _numbers(one: Step | StepFunction, numbers: Numbers) -> list[str]:
    return [
        numbers.count(one.before),
        numbers.count(one.after),
        numbers.delta(one.delta),
        numbers.change(one.before, one.after),
    ]


# With more kernels, a sentence for each and each metric is a page that nobody reads.
_FEW = 3
# So many rows of a topic that has a report of its own.
_FIRST_ROWS = 5
# Remarks without which no number should be read; the others stand below all tables.
_FIRST = ("caution", "failure", "inlines")


def render(
    findings: Findings,
    selection: Selection,
    *,
    width: int,
    per_op: bool | None = None,
    ratios: bool = False,
) -> str:
    """The whole text, at most ``width`` columns (from ``MIN_WIDTH``).

    ``per_op``: counts per operation; None means where ops are known. ``ratios``: changes as how
    many times the base, not in percent.
    """
    width = max(width, MIN_WIDTH)
    parts = _head(findings, selection, width)
    parts += ["", *experiment_lines(findings.results, findings.setting, width, ratios)]
    while parts[-1] == "":
        parts.pop()
    shown: list[Block | str] = []
    if selection.side is None:
        shown += _in_short("fits", findings, width, per_op, ratios)
        with suppress(InputError):
            shown += TOPICS["gaps"].section(findings).sentences
    for topic in ("initcalls", "traces", "probes", "memory"):
        # Of a boot without callers, only functions are known.
        with suppress(InputError):
            shown += _topic(topic, findings, width, per_op, ratios)
    shown += _programs(findings, width, per_op, ratios)
    shown += tables(findings, selection, width=width, per_op=per_op, ratios=ratios)
    for block in shown:
        parts += ["", *(units.wrap(block, width) if isinstance(block, str) else block.lines)]
    parts += ["", *_recording(findings, width)]
    if has_lines(findings.manifest):
        told = "profdiff report --sharing shows the lines, by data and function"
        parts += ["", *units.wrap(told, width)]
    return "\n".join(line.rstrip() for line in parts) + "\n"


def tables(
    findings: Findings,
    selection: Selection,
    *,
    width: int,
    per_op: bool | None = None,
    ratios: bool = False,
) -> list[Block | str]:
    """The function tables alone, and paragraphs that say what their columns mean."""
    width = max(width, MIN_WIDTH)
    numbers = Numbers(findings.setting.ops if per_op is not False else None, ratios)
    parts: list[Block | str] = []
    for _, members in groupby(findings.comparisons, key=lambda one: one.runs[0].collector):
        group = list(members)
        first = group[0]
        if first.metric.exact:
            rows = _with_seat(first, measure.select(first, selection))
            table = functions.exact(first, rows)
            blocks = shapes.with_legend(table, width, per_op, ratios, advise=True)
            parts += [
                *blocks,
                _notes(
                    first,
                    numbers,
                    {title for block in blocks for title in block.shown},
                    selection.side,
                ),
            ]
            parts += step_lines(first, selection.side, numbers, width, selection.top)
            if called := functions.call_table(first, rows, numbers.ops):
                parts += shapes.with_legend(called, width, per_op, ratios)
            parts += shapes.blocks(comparison_tables(first), width, per_op, ratios)
            continue
        beside = marks.instructions_of(group)
        for one in group:
            if one is not beside:
                rows, work = measure.select(one, selection), beside if one is first else None
                table = functions.sampled(one, rows, work)
                parts += shapes.with_legend(table, width, per_op, ratios, advise=True)
        parts += [f"{_relative(first, numbers)}."] if len(first.labels) > 1 else []
    return parts


def _with_seat(comparison: Comparison, rows: Rows) -> Rows:
    """With the function that the sentence about two kernels names, so that its delta is shown."""
    found = Seats(comparison, rows.side).seat(1) if len(comparison.labels) == 2 else None
    if found is None or found.function not in rows.hidden:
        return rows
    hidden = rows.hidden[rows.hidden != found.function]
    return Rows(np.append(rows.shown, found.function), hidden, rows.side)


def _head(findings: Findings, selection: Selection, width: int) -> list[str]:
    """The answers, and what a reader must know before any number."""
    lines: list[str] = []
    for sentence in _answers(findings, selection.side):
        lines += units.wrap(units.printable(sentence), width)
    if lines:
        lines.append("")
    workload = recording.workload(findings.manifest, findings.setting)
    lines += units.wrap(f"workload: {workload.description}", width, 2)
    labels = [kernel.label for kernel in findings.kernels]
    said = [
        *intentions(findings.facts, labels),
        *(one.text for one in state.lines(findings.state)),
        *findings.cautions,
        *(one.text for one in _remarks(findings) if one.kind in _FIRST),
    ]
    for line in said:
        lines += units.wrap(units.printable(line), width, 2)
    return lines


def _recording(findings: Findings, width: int) -> list[str]:
    """What was compared, and how it was recorded."""
    kernels = findings.kernels
    lines = _kernels(findings, width)
    for line in grouped_summaries(findings.facts, [kernel.label for kernel in kernels]):
        lines += units.wrap(f"differences: {units.printable(line)}", width, 2)
    said = [
        *(one.text for one in _remarks(findings) if one.kind not in (*_FIRST, "beside")),
        *(one.text for one in result.remarks(findings)),
    ]
    for line in said:
        lines += units.wrap(units.printable(line), width, 2)
    return lines


def _remarks(findings: Findings) -> list[Remark]:
    return recording.remarks(findings.comparisons, findings.lengths)


def _programs(
    findings: Findings, width: int, per_op: bool | None, ratios: bool
) -> list[Block | str]:
    """Where programs execute, and the kernel for them; nothing where sides are not programs."""
    try:
        section = selected(summary(findings), None)
    except InputError:
        return []
    more = "profdiff report programs shows user space by function, and the kernel for each"
    blocks = shapes.blocks(section.tables, width, per_op, ratios)
    return [*section.sentences, *blocks, *section.notes, more]


def _in_short(
    name: str, findings: Findings, width: int, per_op: bool | None, ratios: bool
) -> list[Block | str]:
    """The sentences of a topic, and the first rows of its tables for a few kernels; nothing where
    nothing is known of it."""
    try:
        section = selected(TOPICS[name].section(findings), _FIRST_ROWS)
    except InputError:
        return []
    some = section.tables if len(findings.kernels) <= _FEW else []
    told = [replace(table, notes=[]) for table in some if table.rows]
    more = [f"profdiff report {name} shows more."] if told else []
    below = " ".join([*shapes.legend(told), *section.notes, *more])
    return [*section.sentences, *shapes.blocks(told, width, per_op, ratios), *filter(None, [below])]


def _topic(
    name: str, findings: Findings, width: int, per_op: bool | None, ratios: bool
) -> list[Block | str]:
    return shapes.blocks(TOPICS[name].section(findings).tables, width, per_op, ratios)


def _answers(findings: Findings, side: Side | None) -> list[str]:
    """What the report says first. In a long ladder, whose tables say the rest: the kernel that
    changes most, and the last one."""
    found = findings.manifest.bisection
    long = len(findings.kernels) > _FEW and found is None and side is None
    if long and largest_change(findings.results, findings.setting):
        told = claim(findings)
        more = [*told.more, *answered.same_instructions_sentences(findings)]
        return [*findings.foremost, told.sentence, *more]
    first = [*findings.foremost, *(sentences(found) if found else [])]
    first = [*first, *result.sentences(findings, depending=True)]
    return [*first, *leading(findings, side), *result.sentences(findings, depending=False)]


def _kernels(findings: Findings, width: int) -> list[str]:
    """What each kernel is, in the order of the session: those with a result, and holes."""
    kernels = {kernel.label: kernel for kernel in findings.kernels}
    told: dict[str, str] = {}
    for known in findings.manifest.kernels:
        kernel = kernels.get(known.label)
        if known.hole:
            told[known.label] = kernels_facts.hole(known).sentence
        elif kernel:
            facts = [
                kernel.release or "release unknown",
                f"build id {kernel.build_id[:12]}" if kernel.build_id else "no build id",
                kernel.compiler or "compiler unknown",
                *([kernels_facts.sentence(kernel.source)] if kernel.source else []),
                *filter(None, [kernels_facts.given(kernel)]),
                *(["the base"] if not told and len(kernels) > 1 else []),
            ]
            told[kernel.label] = units.printable(", ".join(facts))
    label_width = max(map(len, told))
    return [
        line
        for label, text in told.items()
        for line in units.wrap(f"{label:{label_width}}  {text}", width, label_width + 2)
    ]


def _relative(comparison: Comparison, numbers: Numbers) -> str:
    if len(comparison.labels) < 2:
        return "self counts"
    return f"self counts; {numbers.relative} and delta are relative to {comparison.labels[0]}"


def _notes(comparison: Comparison, numbers: Numbers, shown: set[str], side: Side | None) -> str:
    text = _relative(comparison, numbers)
    if "share" in shown:
        text += "; share: part of the whole delta"
    if functions.ran_outside(comparison, side):
        what = "in interrupts and threads of the kernel, which the sum leaves out"
        text += f"; {functions.OUTSIDE}: {what}"
    if "verdict" in shown:
        text += (
            "; verdict: from the boots of both kernels, corrected for the number of functions (-: "
            "too small to test; exact: equal in all boots)"
        )
    if "total delta" in shown:
        what = "inlined into it" if comparison.calls is None else "that it calls or inlines"
        text += f"; total delta: includes the functions {what}"
    return f"{text}."
