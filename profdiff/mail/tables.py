"""The tables of a mail: the largest change in its sweep or among other metrics, and the functions
behind it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from profdiff.base import units
from profdiff.base.errors import InputError
from profdiff.evidence.findings import Findings
from profdiff.evidence.largest_change import LargestChange, largest_change
from profdiff.evidence.results import Result
from profdiff.evidence.statistics import Verdict
from profdiff.forms.columns import Block, Column, draw
from profdiff.forms.text import drawn
from profdiff.mail.letter import Part, Prose, Table
from profdiff.profile.comparison import Comparison
from profdiff.reports.text import session
from profdiff.session.manifest import Kernel
from profdiff.topics.functions import shapes
from profdiff.views.results import result
from profdiff.views.results.experiment import kernel_by_kernel
from profdiff.views.results.result import Entry, Median

# Documentation/process/email-clients.rst: what a reader's window has.
WIDTH = 75
# With more points, metrics, or kernels, some stand for all.
_ROWS, _KERNELS = 12, 4
_MAX_SUBJECT = 40


def table(block: Block) -> Table:
    """A drawn table, of which title and columns' names stay, and so do sums."""
    return Table(block.head, block.body, block.tail)


def changes(findings: Findings, largest: LargestChange) -> list[Part]:
    """Points against kernels where there is a sweep; else metrics against kernels, or, of many
    kernels and of a series, the kernels against the one before."""
    results, one = findings.results, largest.result
    if results.swept:
        every = results.of(one.collector, one.metric)
        some = _chosen(every, one)
        more = len(every) - len(some)
        return _matrix(
            findings,
            largest,
            some,
            result.heading(one),
            units.counted(more, "more point"),
        )
    series = len(results.labels) > 2 and all(kernel.source for kernel in results.kernels)
    if series or len(results.labels) > _KERNELS:
        return _ladder(findings, one, largest.kernel)
    here = [
        other for other in results.at(one.setting) if result.source(other) == result.source(one)
    ]
    some = _chosen(here, one)
    more = len(results.at(one.setting)) - len(some)
    return _matrix(
        findings,
        largest,
        some,
        result.source(one),
        units.counted(more, "more metric"),
    )


def _chosen(every: Sequence[Result], largest: Result) -> list[Result]:
    """As many as a mail has room for, from the first to the last, with the largest change."""
    if len(every) <= _ROWS:
        return list(every)
    steps = np.linspace(0, len(every) - 1, _ROWS).round().astype(int).tolist()
    kept = sorted({*steps, next(at for at, one in enumerate(every) if one is largest)})
    return [every[at] for at in kept]


def _matrix(
    findings: Findings, largest: LargestChange, some: Sequence[Result], title: str, more: str
) -> list[Part]:
    results, labels = findings.results, findings.results.labels
    others = list(range(1, len(labels)))
    if len(labels) > _KERNELS:
        others = sorted({largest.kernel, len(labels) - 1})
    left_out = len(labels) - 1 - len(others)
    names = list(results.swept) or ["metric"]
    noisy = any(one.noise is not None for one in some)
    varied = result.varied(some)
    verdicts = {
        change.verdict for one in some for kernel in others if (change := one.changes[kernel])
    }
    certain = Verdict.DEPENDS not in verdicts
    exact = result.all_exact(title)
    same = verdicts == {Verdict.EXACT} and units.width(exact) <= WIDTH

    def drawn(narrow: bool) -> list[Block]:
        columns = [*(Column(name, name=True) for name in names), Column(labels[0])]
        for part, kernel in enumerate(others):
            columns += [Column(labels[kernel], part=part), Column("change", part=part)]
            if not same:
                columns.append(Column("verdict", part=part, spare=int(narrow and certain)))
            columns += [Column("states", part=part, spare=3)] if varied else []
        columns += [Column("A/A", spare=2)] if noisy else []
        rows = []
        for one in some:
            row: list[Entry] = [one.setting.value(name) for name in results.swept]
            row += [] if results.swept else [result.title(one)]
            row.append(_median(one, 0, narrow))
            for kernel in others:
                change = one.changes[kernel]
                row += [_median(one, kernel, narrow), result.delta(change)]
                row += [] if same else [result.judged(change)]
                row += [result.seen(change)] if varied else []
            rows.append([*row, result.floor(one)] if noisy else row)
        return draw(exact if same else title, columns, _texts(rows), WIDTH)

    blocks = drawn(narrow=False)
    if any(units.width(line) > WIDTH for block in blocks for line in block.lines):
        blocks = drawn(narrow=True)
    main = some.index(largest.result) if largest.result in some else 0
    parts = [replace(table(block), main=main, least=3) for block in blocks]
    told = [] if more.startswith("0 ") else [more]
    told += [units.counted(left_out, "more kernel")] if left_out else []
    if told:
        *parts, last = parts
        parts.append(replace(last, foot=[*last.foot, f"[not shown: {', '.join(told)}]"]))
    return list(parts)


def _median(one: Result, kernel: int, narrow: bool) -> Median:
    """With its spread where there is room."""
    found = Median.of(one.cells[kernel])
    return Median(value=found.value) if narrow else found


def _ladder(findings: Findings, one: Result, kernel: int) -> list[Part]:
    """Kernel by kernel; of the report's columns those that a mail has room for."""
    grid = kernel_by_kernel(findings.results, one)
    kept = [at for at, title in enumerate(grid.header) if title not in ("spread", "interval")]
    columns = [
        Column(grid.header[at], name=at == 0, spare=number // 4) for number, at in enumerate(kept)
    ]
    rows = [[row[at] for at in kept] for row in grid.rows]
    blocks = draw(result.heading(one), columns, _texts(rows), WIDTH)
    # Kernels that were not built have rows, too.
    label = findings.results.labels[kernel]
    main = next((at for at, row in enumerate(grid.rows) if row[0] == label), 0)
    return [replace(table(block), main=main, least=3) for block in blocks]


def cover_letter(findings: Findings) -> list[str]:
    """The lines of a table for a series' cover letter: a row for each patch, with what it adds to
    the kernel before it, and their sum. Raises InputError if there are no commits."""
    results, largest = findings.results, largest_change(findings.results, findings.setting)
    kernels = [kernel for kernel in findings.manifest.kernels if not kernel.twin_of]
    patches = kernels[1:]
    if largest is None or len(kernels) < 2 or not all(k.source or k.hole for k in kernels):
        raise InputError("--cover-letter: the kernels are not commits of a series: record --series")
    one = largest.result
    values = {
        label: found.value
        for label, cell in zip(results.labels, one.cells, strict=True)
        if (found := Median.of(cell)).value is not None
    }
    steps = dict(zip(results.labels, one.steps, strict=True))
    judged = any(step and step.verdict is not Verdict.EXACT for step in steps.values())
    base = kernels[0]
    per_op = any(value != int(value) for value in values.values())

    def told(value: float | None) -> str:
        return "" if value is None else units.count(value, per_op=per_op)

    def added(before: float | None, value: float | None) -> list[str]:
        if before is None or value is None:
            return ["", ""]
        return [units.delta(value - before, per_op=per_op), units.change(before, value)]

    rows = [[f"base: {_patch(base)}", told(values.get(base.label))]]
    before = last = values.get(base.label)
    for number, kernel in enumerate(patches, 1):
        row = [f"{number}/{len(patches)} {_patch(kernel)}"]
        if kernel.hole:
            row.append("not built")
        elif (value := values.get(kernel.label)) is None:
            row.append("no result")
        else:
            row += [told(value), *added(before, value)]
            row += [str(result.judged(steps.get(kernel.label)) or "")] if judged else []
            before = last = value
        rows.append(row)
    rows.append(["all", told(last), *added(values.get(base.label), last)])
    columns = [Column("patch", name=True), *map(Column, (base_unit := one.metric.name, "delta"))]
    columns += [Column("change"), *([Column("verdict")] if judged else [])]
    full = [[*row, *[""] * (len(columns) - len(row))] for row in rows]
    each = " per op" if one.ops else ""
    where = f" at {one.setting.title}" if one.setting.title else ""
    title = f"{base_unit}{each}{where}, each patch against the one before it"
    return [line for block in draw(title, columns, full, WIDTH) for line in block.lines]


def _patch(kernel: Kernel) -> str:
    """The subject of a commit, or what there is instead of it."""
    text = kernel.source.subject if kernel.source else kernel.label
    return units.shorten(units.printable(text), _MAX_SUBJECT)


def _texts(rows: Sequence[Sequence[Entry]]) -> list[list[str]]:
    return [["" if cell is None else str(cell) for cell in row] for row in rows]


def boots(findings: Findings, largest: LargestChange) -> list[str]:
    """The values of every boot behind the largest change, not rounded; none where all are equal."""
    one = largest.result
    if not any(len({*cell.medians}) > 1 for cell in one.cells):
        return []
    kernels = [0, largest.kernel]
    at = f" at {one.setting.title}" if one.setting.title else ""
    return [f"Values of every boot{at}, not rounded ({one.metric.name}):"] + [
        f"{findings.results.labels[kernel]}: "
        + " ".join(f"{value:.10g}" for boot in one.cells[kernel].boots for value in boot)
        for kernel in kernels
    ]


def recordings(comparison: Comparison) -> list[Part]:
    """The whole of every recording, where a kernel has several."""
    if len(comparison.runs) <= len(comparison.labels):
        return []
    sums = comparison.run_counts.sum(axis=0).tolist()
    rows = [[f"{total:,}", run.id] for run, total in zip(comparison.runs, sums, strict=True)]
    columns = [Column(comparison.metric.title), Column("recording", name=True)]
    return [table(block) for block in draw("", columns, rows[:_ROWS], WIDTH)]


def steps(comparison: Comparison, ops: int | None, at: str) -> list[Part]:
    """A line for each kernel of a ladder with exact counts."""
    blocks = session.in_short(comparison, ops, WIDTH, at)
    return [replace(table(block), least=0) for block in blocks]


def functions(
    comparison: Comparison, kernel: int, ops: int | None, at: str, top: int
) -> list[Part]:
    """The functions that changed most on a kernel, and what makes up the rest."""
    metric, each = comparison.metric, " per op" if ops else ""
    what = f"{metric.name}{each}"
    if not metric.exact:
        what = f"share of all {metric.name}; delta: {metric.unit or metric.name}{each}"
    title = f"Functions that changed most{at} ({what}):"
    shown = shapes.changed(comparison, kernel, top)
    blocks = drawn(shown, title, WIDTH) if shown.rows else []
    parts: list[Part] = [replace(table(block), least=top) for block in blocks]
    parts += [Prose(note.text) for note in shown.legend]
    in_kernel = any(function.in_kernel for function in comparison.functions)
    if comparison.unresolved_total("kernel").any() and not in_kernel:
        text = "Kernel functions have no names here: no symbols of these kernels were given."
        parts.append(Prose(text))
    return parts
